"""Variances and standard deviations, also of those elements that are numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import canonical, is_floating, kind_of
from ..ir.requested_dtypes import requested_dtype
from ..operations.arithmetic import div, mul, square, sub
from ..operations.comparisons import gt
from ..operations.complex_numbers import conj, real, real_dtype
from ..operations.conversion import convert_element_type
from ..operations.exponentials import sqrt
from ..operations.selection import select
from ..operations.shapes import reduce_sum
from ..trace.values import aval_of
from . import reductions, ufuncs
from .axes import as_tuple, no_out
from .promotion import as_dtype, inexact, to_inexact
from .shaping import shape_of
from .together import together

Axis = int | Sequence[int] | None


def var(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0, keepdims: bool = False,
    *, where: Any = None, mean: Any = None, correction: float | None = None,
) -> Any:  # fmt: skip
    """The mean squared distance from the mean; ``ddof`` is taken from the count.

    ``mean`` is the mean where it is known already, with the axes that ``keepdims`` leaves.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.var(jnp.array([1.0, 3.0])), jnp.var(jnp.array([1.0, 3.0]), mean=0.0))
    1.0 5.0
    """
    if out is not None:
        raise no_out("var")
    less = _taken_off(ddof, correction)
    dtype = None if dtype is None else requested_dtype(dtype)
    return _var(a, axis=as_tuple(axis), dtype=dtype, ddof=less, keepdims=keepdims, where=where, mean=mean)


def _taken_off(ddof: float, correction: float | None) -> float:
    if correction is None:
        return ddof
    if ddof:
        raise ValueError(f"ddof and correction are two names of one number, got {ddof} and {correction}")
    return correction


@together("axis", "dtype", "ddof", "keepdims")
def _var(a_: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, where: Any, mean: Any) -> Any:
    own = _own_dtype(a_, dtype)
    axes = reductions.all_axes(a_, axis)
    total, count = _squared_distances(as_dtype(a_, own), axes, where, mean)
    kind = aval_of(total).dtype
    if kind_of(kind) in "iu":  # a whole number of the type of floats, which can say that there is none
        less: float = int(ddof)
        found = convert_element_type(div(total, _less(count, less, kind)), canonical(float), True)
    else:
        less, found = ddof, div(total, _less(count, ddof, kind))
    if where is not None:
        found = select(gt(count, as_dtype(less, kind)), found, as_dtype(math.nan, aval_of(found).dtype))
    elif count <= less:
        found = mul(found, math.nan)
    if kind_of(kind) == "f":
        found = as_dtype(found, real_dtype(own) if dtype is None else own)
    return reductions.kept(found, axes, keepdims)


def _own_dtype(x: Any, dtype: np.dtype[Any] | None) -> np.dtype[Any]:
    """The dtype to compute in: the one asked for, or that of ``x``, where integers become floats.

    Raises ValueError for a real one of complex numbers, whose imaginary parts would not count.
    """
    own: np.dtype[Any] = aval_of(inexact(x)).dtype
    if dtype is None:
        return own
    if kind_of(own) == "c" and kind_of(dtype) != "c":
        raise ValueError(f"the variance of complex numbers takes a complex dtype, got {dtype.name}; see real, imag")
    return dtype


def _less(count: Any, number: float, dtype: np.dtype[Any]) -> Any:
    if isinstance(count, int):
        return as_dtype(count - number, dtype)
    return sub(count, as_dtype(number, dtype))


def _squared_distances(x: Any, axes: tuple[int, ...], where: Any, mean: Any) -> tuple[Any, Any]:
    """The sum of squared distances from the mean, or from ``mean``, over some axes, and of how many there are."""
    own = aval_of(x).dtype
    wide = as_dtype(x, np.dtype("float32")) if is_floating(own) and own.itemsize < 4 else x
    if mean is not None:
        distance = ufuncs.subtract(wide, _known_mean(mean, shape_of(x)))
    elif axes:
        distance = sub(wide, reductions.mean(wide, axes, aval_of(wide).dtype, keepdims=True, where=where))
    else:
        distance = sub(wide, wide)
    if where is None:
        return reduce_sum(_length_squared(distance), axes), reductions.count_along(x, axes)
    chosen = reductions.mask_over(where, x)
    # Mask distances, not their squares: the derivative of a square is 0 * NaN where an element is NaN.
    squares = _length_squared(select(chosen, distance, as_dtype(0, aval_of(distance).dtype)))
    return reduce_sum(squares, axes), reduce_sum(as_dtype(chosen, aval_of(squares).dtype), axes)


def _known_mean(mean: Any, shape: tuple[int, ...]) -> Any:
    own = shape_of(mean)
    if own and (len(own) != len(shape) or any(n not in (1, size) for n, size in zip(own, shape, strict=True))):
        raise ValueError(
            f"mean has shape {own}, which does not fit an array of shape {shape}; take it with keepdims=True"
        )
    return mean


def _length_squared(x: Any) -> Any:
    """The square, a real value also when x is complex."""
    return real(mul(x, conj(x))) if kind_of(aval_of(x).dtype) == "c" else square(x)


def std(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0, keepdims: bool = False,
    *, where: Any = None, mean: Any = None, correction: float | None = None,
) -> Any:  # fmt: skip
    """The square root of the variance; see :func:`var`."""
    if out is not None:
        raise no_out("std")
    less = _taken_off(ddof, correction)
    dtype = inexact_or_none(dtype, "std")
    return _std(a, axis=as_tuple(axis), dtype=dtype, ddof=less, keepdims=keepdims, where=where, mean=mean)


def inexact_or_none(dtype: Any, user: str) -> np.dtype[Any] | None:
    """Return the dtype that a user asked for, None for none; raises ValueError for one that holds no fractions."""
    own = None if dtype is None else requested_dtype(dtype)
    if own is not None and kind_of(own) not in "fc":
        raise ValueError(f"{user} takes a floating-point or complex dtype, got {own.name}")
    return own


@together("axis", "dtype", "ddof", "keepdims")
def _std(a: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, where: Any, mean: Any) -> Any:
    return sqrt(_var(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean))


def nanvar(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0, keepdims: bool = False,
    where: Any = None, mean: Any = None,
) -> Any:  # fmt: skip
    """The variance of the elements that are numbers; see :func:`var`."""
    if out is not None:
        raise no_out("nanvar")
    dtype = None if dtype is None else requested_dtype(dtype)
    return _nanvar(a, axis=as_tuple(axis), dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean)


@together("axis", "dtype", "ddof", "keepdims")
def _nanvar(a: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, where: Any, mean: Any) -> Any:
    x, axes, known = reductions.numbers_along(a, axis, where)
    own = _own_dtype(x, dtype)
    total, count = _squared_distances(as_dtype(x, own), axes, known, mean)
    wide = as_dtype(total, to_inexact(aval_of(total).dtype))
    rest = _less(as_dtype(count, aval_of(wide).dtype), ddof, aval_of(wide).dtype)
    found = select(gt(rest, 0), div(wide, rest), as_dtype(math.nan, aval_of(wide).dtype))
    if kind_of(own) in "iu":  # which cannot say that there is none
        found = select(gt(rest, 0), found, as_dtype(0, aval_of(wide).dtype))
    return reductions.kept(as_dtype(found, real_dtype(own) if dtype is None else own), axes, keepdims)


def nanstd(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0, keepdims: bool = False,
    where: Any = None, mean: Any = None,
) -> Any:  # fmt: skip
    """The standard deviation of the elements that are numbers; see :func:`var`."""
    if out is not None:
        raise no_out("nanstd")
    dtype = inexact_or_none(dtype, "nanstd")
    return sqrt(nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean))
