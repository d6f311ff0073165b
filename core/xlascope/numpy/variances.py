"""Variances and standard deviations, also NaN-ignoring ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind, is_floating, to_canonical_dtype
from ..ir.requested_dtypes import resolve_requested_dtype
from ..operations.arithmetic import div, mul, square, sub
from ..operations.comparisons import gt
from ..operations.complex_numbers import conj, real, real_dtype
from ..operations.conversion import convert_element_type
from ..operations.exponentials import sqrt
from ..operations.selection import select
from ..operations.shapes import reduce_sum
from ..trace.values import aval_of
from . import reductions, ufuncs
from .axes import PLAIN_NUMBERS, as_plain_number, reject_out, to_static_axis
from .jit_wrapped import Conversion, jit_wrapped
from .promotion import as_dtype, promote_inexact, to_inexact
from .shaping import shape_of

Axis = int | Sequence[int] | None


@jit_wrapped("axis", "dtype", "keepdims", ddof=Conversion(as_plain_number), correction=Conversion(as_plain_number))
def var(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0, keepdims: bool = False,
    *, where: Any = None, mean: Any = None, correction: float | None = None,
) -> Any:  # fmt: skip
    """Return the variance; ``ddof`` is subtracted from the count.

    ``mean`` is the precomputed mean, with the shape of a result with ``keepdims``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.var(jnp.array([1.0, 3.0])), jnp.var(jnp.array([1.0, 3.0]), mean=0.0))
    1.0 5.0
    """
    if out is not None:
        raise reject_out("var")
    delta = _resolve_ddof(ddof, correction)
    dtype = None if dtype is None else resolve_requested_dtype(dtype)
    return _var(a, axis=to_static_axis(axis), dtype=dtype, ddof=delta, keepdims=keepdims, where=where, mean=mean)


def _resolve_ddof(ddof: float, correction: float | None) -> float:
    if correction is None:
        return ddof
    if ddof:
        raise ValueError(f"ddof and correction are two names of one number, got {ddof} and {correction}")
    return correction


def _var(a_: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, where: Any, mean: Any) -> Any:
    work_dtype = _computation_dtype(a_, dtype)
    axes = reductions.all_axes(a_, axis)
    total, count = _sum_squared_deviations(as_dtype(a_, work_dtype), axes, where, mean)
    kind = aval_of(total).dtype
    if dtype_kind(kind) in "iu":  # integer dtype: the result is a float, which can be NaN
        delta: Any = int(ddof) if isinstance(ddof, PLAIN_NUMBERS) else as_dtype(ddof, kind)
        variance = convert_element_type(div(total, _subtract_ddof(count, delta, kind)), to_canonical_dtype(float), True)
    else:
        delta, variance = ddof, div(total, _subtract_ddof(count, ddof, kind))
    if where is not None:
        variance = select(gt(count, as_dtype(delta, kind)), variance, as_dtype(math.nan, aval_of(variance).dtype))
    elif not isinstance(delta, PLAIN_NUMBERS):  # traced
        variance = mul(variance, select(gt(as_dtype(count, kind), as_dtype(delta, kind)), 1.0, math.nan))
    elif count <= delta:
        variance = mul(variance, math.nan)
    if dtype_kind(kind) == "f":
        variance = as_dtype(variance, real_dtype(work_dtype) if dtype is None else work_dtype)
    return reductions.keep_reduced_axes(variance, axes, keepdims)


def _computation_dtype(x: Any, dtype: np.dtype[Any] | None) -> np.dtype[Any]:
    """Return the dtype to compute in: the requested one, or that of ``x`` with integers as floats.

    Raises ValueError for a real dtype of complex numbers, which would drop the imaginary parts.
    """
    operand_dtype: np.dtype[Any] = aval_of(promote_inexact(x)).dtype
    if dtype is None:
        return operand_dtype
    if dtype_kind(operand_dtype) == "c" and dtype_kind(dtype) != "c":
        raise ValueError(f"the variance of complex numbers takes a complex dtype, got {dtype.name}; see real, imag")
    return dtype


def _subtract_ddof(count: Any, number: float, dtype: np.dtype[Any]) -> Any:
    if isinstance(count, int):
        return as_dtype(count - number, dtype)
    return sub(count, as_dtype(number, dtype))


def _sum_squared_deviations(x: Any, axes: tuple[int, ...], where: Any, mean: Any) -> tuple[Any, Any]:
    """Return the sum of squared deviations from the mean over ``axes``, and the number of elements.

    ``where`` is the mask of the elements to use (None: all), ``mean`` the mean if it is known, else None.
    """
    operand_dtype = aval_of(x).dtype
    wide = as_dtype(x, np.dtype("float32")) if is_floating(operand_dtype) and operand_dtype.itemsize < 4 else x
    if mean is not None:
        distance = ufuncs.subtract(wide, _require_mean_shape(mean, shape_of(x)))
    elif axes:
        distance = sub(wide, reductions.mean_in_dtype(wide, axes, aval_of(wide).dtype, keepdims=True, where=where))
    else:
        distance = sub(wide, wide)
    if where is None:
        return reduce_sum(_absolute_square(distance), axes), reductions.count_along(x, axes)
    mask = reductions.broadcast_mask(where, x)
    # Mask distances, not their squares: the derivative of a square is 0 * NaN where an element is NaN.
    squares = _absolute_square(select(mask, distance, as_dtype(0, aval_of(distance).dtype)))
    return reduce_sum(squares, axes), reduce_sum(as_dtype(mask, aval_of(squares).dtype), axes)


def _require_mean_shape(mean: Any, shape: tuple[int, ...]) -> Any:
    sizes = shape_of(mean)
    if sizes and (len(sizes) != len(shape) or any(n not in (1, size) for n, size in zip(sizes, shape, strict=True))):
        raise ValueError(
            f"mean has shape {sizes}, which does not fit an array of shape {shape}; take it with keepdims=True"
        )
    return mean


def _absolute_square(x: Any) -> Any:
    """Return the squared absolute value, which is real also for complex x."""
    return real(mul(x, conj(x))) if dtype_kind(aval_of(x).dtype) == "c" else square(x)


@jit_wrapped("axis", "dtype", "keepdims", ddof=Conversion(as_plain_number), correction=Conversion(as_plain_number))
def std(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0, keepdims: bool = False,
    *, where: Any = None, mean: Any = None, correction: float | None = None,
) -> Any:  # fmt: skip
    """Return the standard deviation, the square root of the variance; see :func:`var`."""
    if out is not None:
        raise reject_out("std")
    delta = _resolve_ddof(ddof, correction)
    dtype = requested_inexact_dtype(dtype, "std")
    return _std(a, axis=to_static_axis(axis), dtype=dtype, ddof=delta, keepdims=keepdims, where=where, mean=mean)


def requested_inexact_dtype(dtype: Any, caller: str) -> np.dtype[Any] | None:
    """Return the dtype that the user of ``caller`` requests, or None.

    Raises ValueError for a dtype that is neither floating-point nor complex.
    """
    requested = None if dtype is None else resolve_requested_dtype(dtype)
    if requested is not None and dtype_kind(requested) not in "fc":
        raise ValueError(f"{caller} takes a floating-point or complex dtype, got {requested.name}")
    return requested


def _std(a: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, where: Any, mean: Any) -> Any:
    return sqrt(_var(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean))


def nanvar(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0, keepdims: bool = False,
    where: Any = None, mean: Any = None,
) -> Any:  # fmt: skip
    """Return the variance of the elements that are not NaN; see :func:`var`."""
    if out is not None:
        raise reject_out("nanvar")
    dtype = None if dtype is None else resolve_requested_dtype(dtype)
    return _nanvar(a, axis=to_static_axis(axis), dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean)


@jit_wrapped("axis", "dtype", "keepdims", ddof=Conversion(as_plain_number))
def _nanvar(a: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, where: Any, mean: Any) -> Any:
    x, axes, is_number = reductions.broadcast_with_number_mask(a, axis, where)
    work_dtype = _computation_dtype(x, dtype)
    total, count = _sum_squared_deviations(as_dtype(x, work_dtype), axes, is_number, mean)
    wide = as_dtype(total, to_inexact(aval_of(total).dtype))
    degrees_of_freedom = _subtract_ddof(as_dtype(count, aval_of(wide).dtype), ddof, aval_of(wide).dtype)
    variance = select(gt(degrees_of_freedom, 0), div(wide, degrees_of_freedom), as_dtype(math.nan, aval_of(wide).dtype))
    if dtype_kind(work_dtype) in "iu":  # which cannot hold NaN
        variance = select(gt(degrees_of_freedom, 0), variance, as_dtype(0, aval_of(wide).dtype))
    return reductions.keep_reduced_axes(
        as_dtype(variance, real_dtype(work_dtype) if dtype is None else work_dtype), axes, keepdims
    )


def nanstd(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0, keepdims: bool = False,
    where: Any = None, mean: Any = None,
) -> Any:  # fmt: skip
    """Return the standard deviation of the elements that are not NaN; see :func:`var`."""
    if out is not None:
        raise reject_out("nanstd")
    dtype = requested_inexact_dtype(dtype, "nanstd")
    return sqrt(nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean))
