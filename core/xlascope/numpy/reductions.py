"""Reductions and cumulative functions over axes."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import canonical, finfo, is_floating, kind_of
from ..ir.requested_dtypes import requested_dtype
from ..operations import complex_numbers, cumulative, reductions, values
from ..operations.arithmetic import div, mul
from ..operations.complex_numbers import imag, real
from ..operations.reductions import reduce_and, reduce_max, reduce_min, reduce_or, reduce_prod
from ..operations.shapes import expand_dims, full, reduce_sum, reshape
from ..trace.values import aval_of
from . import logic, ufuncs
from .axes import as_tuple, axes_of, axis_of, no_out
from .creation import array
from .promotion import as_dtype, inexact, inexact_pair, pair, to_common_inexact
from .shaping import broadcast_to, ravel, shape_of
from .together import together

Axis = int | Sequence[int] | None


def all_axes(x: Any, axis: Axis) -> tuple[int, ...]:
    """Return the normalized axes: all axes for None."""
    rank = len(shape_of(x))
    return tuple(range(rank)) if axis is None else axes_of(axis, rank)


def kept(y: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Return a reduction's result with the reduced axes as axes of size 1 if ``keepdims``."""
    return expand_dims(y, axes) if keepdims and axes else y


def _combined(
    reduce: Callable[[Any, Sequence[int]], Any],
    x: Any,
    axis: Axis,
    keepdims: bool,
    initial: Any,
    join: Any,
    where: Any,
    neutral: Any,
) -> Any:
    """Reduce the elements at which ``where`` holds over ``axis``, and join the result with ``initial``."""
    axes = all_axes(x, axis)
    if where is not None:
        require_mask(where)
        x = logic.where(where, x, as_dtype(neutral, aval_of(x).dtype))
    y = kept(reduce(x, axes) if axes else x, axes, keepdims)
    if initial is None:
        return y
    if shape_of(initial):
        raise ValueError(f"initial is one value, got one of shape {shape_of(initial)}")
    return join(y, as_dtype(initial, aval_of(y).dtype))


def require_mask(where: Any) -> None:
    """Raise ValueError unless ``where`` holds truth values."""
    if aval_of(where).dtype != np.bool_:
        raise ValueError(f"where takes truth values, got {aval_of(where).dtype.name}; compare it with something")


def mask_over(where: Any, x: Any) -> Any:
    """Return ``where`` broadcast to the shape of ``x``; raise ValueError if it does not fit."""
    require_mask(where)
    sizes, shape = shape_of(where), shape_of(x)
    if len(sizes) > len(shape) or not builtins.all(n in (1, m) for n, m in zip(sizes[::-1], shape[::-1], strict=False)):
        raise ValueError(f"where of shape {sizes} cannot be broadcast to the array's shape {shape}")
    return broadcast_to(where, shape)


def sum_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a sum: booleans and narrow integers are summed in the default integer type."""
    wide = canonical(int)
    if kind_of(dtype) in "bi":
        return wide if dtype.itemsize < wide.itemsize else dtype
    if kind_of(dtype) == "u":
        unsigned = np.dtype(f"uint{8 * wide.itemsize}")
        return unsigned if dtype.itemsize < unsigned.itemsize else dtype
    return dtype


def _own_of_integers(x: Any, dtype: Any, promoted: bool) -> Any:
    """Return the dtype to accumulate in: the requested one, or the array's own unless it is promoted."""
    if promoted or dtype is not None:
        return dtype
    operand_dtype = aval_of(x).dtype
    return np.dtype("int32") if operand_dtype == np.bool_ else operand_dtype


def _summand(x: Any, dtype: Any) -> Any:
    aval = aval_of(x)
    accumulator = sum_dtype(aval.dtype) if dtype is None else dtype
    return as_dtype(x, accumulator)


def _strong(x: Any) -> Any:
    return as_dtype(x, aval_of(x).dtype)


def sum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """Return the sum along an axis, several, or all (None).

    Booleans and small integers are summed in int32; with ``promote_integers=False``, integers are summed in their
    own type.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.sum(jnp.ones((2, 3)), axis=0))
    [2. 2. 2.]
    """
    if out is not None:
        raise no_out("sum")
    dtype = _own_of_integers(a, None if dtype is None else requested_dtype(dtype), promote_integers)
    return _sum(a, axis=as_tuple(axis), dtype=dtype, keepdims=keepdims, initial=initial, where=where)


@together("axis", "dtype", "keepdims")
def _sum(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    if dtype is not None and dtype == np.bool_:
        return _combined(reduce_or, logic.truth(a), axis, keepdims, initial, ufuncs.add, where, False)
    return _in_float32(reduce_sum, _summand(a, dtype), axis, keepdims, initial, ufuncs.add, where, 0)


def _in_float32(reduce: Any, x: Any, *arguments: Any) -> Any:
    """Reduce in float32 if the operand has a 16-bit floating-point type."""
    operand_dtype = aval_of(x).dtype
    if not is_floating(operand_dtype) or operand_dtype.itemsize != 2:
        return _combined(reduce, x, *arguments)
    return as_dtype(_combined(reduce, as_dtype(x, np.dtype("float32")), *arguments), operand_dtype)


def prod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """Return the product along an axis, several, or all (None); integers are promoted as by :func:`sum`."""
    if out is not None:
        raise no_out("prod")
    dtype = _own_of_integers(a, None if dtype is None else requested_dtype(dtype), promote_integers)
    return _prod(a, axis=as_tuple(axis), dtype=dtype, keepdims=keepdims, initial=initial, where=where)


@together("axis", "dtype", "keepdims")
def _prod(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    if dtype is not None and dtype == np.bool_:
        return _combined(reduce_and, logic.truth(a), axis, keepdims, initial, ufuncs.multiply, where, True)
    return _in_float32(reduce_prod, _summand(a, dtype), axis, keepdims, initial, ufuncs.multiply, where, 1)


def max(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Return the largest element along an axis, several, or all (None); NaN if there is one.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.max(jnp.array([[1, 5], [7, 2]]), axis=1))
    [5 7]
    """
    if out is not None:
        raise no_out("max")
    _some(a, axis, initial, where, "max")
    return _max(a, axis=as_tuple(axis), keepdims=keepdims, initial=initial, where=where)


def min(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Return the smallest element along an axis, several, or all (None); NaN if there is one."""
    if out is not None:
        raise no_out("min")
    _some(a, axis, initial, where, "min")
    return _min(a, axis=as_tuple(axis), keepdims=keepdims, initial=initial, where=where)


@together("axis", "keepdims")
def _max(a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    lowest = None if where is None else values.lowest(aval_of(a).dtype)
    return _combined(reduce_max, _strong(a), axis, keepdims, initial, ufuncs.maximum, where, lowest)


@together("axis", "keepdims")
def _min(a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    highest = None if where is None else values.highest(aval_of(a).dtype)
    return _combined(reduce_min, _strong(a), axis, keepdims, initial, ufuncs.minimum, where, highest)


def _some(x: Any, axis: Axis, initial: Any, where: Any, name: str) -> None:
    if initial is None and where is not None:
        raise ValueError(f"{name} of the elements where=... may be of none, and that has no value; give initial=...")
    if initial is None and count_along(x, all_axes(x, axis)) == 0:
        raise ValueError(f"{name} of no elements (shape {shape_of(x)}, axis {axis}) has no value; give initial=...")


amax, amin = max, min


def all(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """Return whether all elements along an axis, several, or all (None) are nonzero."""
    if out is not None:
        raise no_out("all")
    return _all(a, axis=as_tuple(axis), keepdims=keepdims, where=where)


def any(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """Return whether any element along an axis, several, or all (None) is nonzero."""
    if out is not None:
        raise no_out("any")
    return _any(a, axis=as_tuple(axis), keepdims=keepdims, where=where)


@together("axis", "keepdims")
def _all(a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    return _combined(reduce_and, logic.truth(a), axis, keepdims, None, None, where, True)


@together("axis", "keepdims")
def _any(a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    return _combined(reduce_or, logic.truth(a), axis, keepdims, None, None, where, False)


@together("axis", "keepdims")
def _count_nonzero(a: Any, axis: Any, keepdims: bool) -> Any:
    axes = all_axes(a, axis)
    return kept(reduce_sum(as_dtype(logic.truth(a), canonical(int)), axes), axes, keepdims)


def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return the number of nonzero elements."""
    return _count_nonzero(a, axis=as_tuple(axis), keepdims=keepdims)


def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
    """Return the difference of the largest and the smallest element."""
    if out is not None:
        raise no_out("ptp")
    return _ptp(a, axis=as_tuple(axis), keepdims=keepdims)


@together("axis", "keepdims")
def _ptp(a: Any, axis: Any, keepdims: bool) -> Any:
    return ufuncs.subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


# Averages -----------------------------------------------------------------------------------------------------------


def mean(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Return the arithmetic mean along an axis, several, or all (None); for integers a float.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.mean(jnp.arange(4)))
    1.5
    """
    if out is not None:
        raise no_out("mean")
    dtype = None if dtype is None else requested_dtype(dtype)
    return _mean(a, axis=as_tuple(axis), dtype=dtype, keepdims=keepdims, where=where)


def count_along(x: Any, axes: tuple[int, ...]) -> int:
    """Return the number of elements that are reduced."""
    shape = shape_of(x)
    return math.prod(shape[i] for i in axes)


@together("axis", "dtype", "keepdims")
def _mean(a_: Any, axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
    x = inexact(a_) if dtype is None else as_dtype(a_, dtype)
    result_dtype = aval_of(x).dtype
    axes = all_axes(x, axis)
    wide = as_dtype(x, np.dtype("float32")) if is_floating(result_dtype) and result_dtype.itemsize < 4 else x
    if where is None:
        average = div(reduce_sum(wide, axes), as_dtype(count_along(x, axes), aval_of(wide).dtype))
    else:
        mask = mask_over(where, x)
        total = reduce_sum(logic.where(mask, wide, 0), axes)
        average = div(total, reduce_sum(as_dtype(mask, aval_of(wide).dtype), axes))
    return kept(as_dtype(average, result_dtype), axes, keepdims)


def average(a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    """Return the weighted mean; with ``returned``, also the sum of the weights."""
    result, total = _average(a, weights, axis=as_tuple(axis), keepdims=keepdims)
    return (result, total) if returned else result


@together("axis", "keepdims")
def _average(a_: Any, weights: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    axes = all_axes(a_, axis)
    if weights is None:
        result = mean(a_, axes, keepdims=keepdims)
        return result, full(shape_of(result), as_dtype(float(count_along(a_, axes)), aval_of(result).dtype))
    x, w = to_common_inexact((a_, weights))
    if shape_of(w) != shape_of(x):
        if len(shape_of(w)) != 1 or len(axes) != 1:
            raise ValueError(f"average: weights of shape {shape_of(w)} do not fit shape {shape_of(x)} and axis {axis}")
        w = broadcast_to(reshape(w, [n if i == axes[0] else 1 for i, n in enumerate(shape_of(x))]), shape_of(x))
    total = kept(reduce_sum(w, axes), axes, keepdims)
    return div(kept(reduce_sum(mul(x, w), axes), axes, keepdims), total), total


# Positions and running sums -----------------------------------------------------------------------------------------


def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Return the index of the first largest element along an axis, or in the flattened array (None).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.argmax(jnp.array([[1, 5], [7, 2]]), axis=1))
    [1 0]
    """
    if out is not None:
        raise no_out("argmax")
    return _argument(reductions.argmax, a, axis, bool(keepdims), "argmax")


def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Return the index of the first smallest element along an axis, or in the flattened array (None)."""
    if out is not None:
        raise no_out("argmin")
    return _argument(reductions.argmin, a, axis, bool(keepdims), "argmin")


def _argument(find: Any, x: Any, axis: int | None, keepdims: bool, name: str) -> Any:
    rank = len(shape_of(x))
    if axis is not None:
        axis = axis_of(axis, rank or 1)
    if count_along(x, all_axes(x, axis if rank else None)) == 0:
        raise ValueError(f"{name} of no elements (shape {shape_of(x)}, axis {axis}) has no value")
    if axis is None or rank == 0:
        index = find(ravel(x), 0, canonical(int))
        return reshape(index, (1,) * rank) if keepdims else index
    return kept(find(x, axis, canonical(int)), (axis,), keepdims)


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Return the cumulative sum along an axis, or of the flattened array (None).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.cumsum(jnp.arange(4)))
    [0 1 3 6]
    """
    if out is not None:
        raise no_out("cumsum")
    return _cumulative(cumulative.cumsum, a, axis, dtype)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Return the cumulative product along an axis, or of the flattened array (None)."""
    if out is not None:
        raise no_out("cumprod")
    return _cumulative(cumulative.cumprod, a, axis, dtype)


def _cumulative(run: Any, x: Any, axis: int | None, dtype: Any) -> Any:
    if axis is None or not shape_of(x):
        x, axis = ravel(x), 0 if axis is None else axis
    axis = axis_of(axis, len(shape_of(x)))
    x_dtype = aval_of(x).dtype
    target = requested_dtype(dtype) if dtype is not None else canonical(int) if kind_of(x_dtype) == "b" else x_dtype
    if kind_of(target) == "b":  # a boolean sum is any, a boolean product all
        return logic.truth(run(as_dtype(logic.truth(x), np.dtype("int32")), axis))
    return run(as_dtype(x, target), axis)


@together("axis")
def _nan_replaced(x: Any, value: Any, axis: Any = None) -> Any:
    return logic.where(logic.isnan(x), value, x)


def numbers(x: Any, where: Any = None) -> Any:
    """Return where elements are not NaN and ``where`` holds."""
    is_number = logic.logical_not(logic.isnan(x))
    if where is None:
        return is_number
    require_mask(where)
    return logic.logical_and(is_number, where)


def numbers_along(a: Any, axis: Axis, where: Any) -> tuple[Any, tuple[int, ...], Any]:
    """Return an array broadcast with ``where``, the normalized axes, and the mask of elements to reduce."""
    axes = all_axes(a, axis)
    is_number = numbers(a, where)
    return broadcast_to(a, shape_of(is_number)), axes, is_number


def nansum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Return the sum of the elements that are not NaN."""
    if out is not None:
        raise no_out("nansum")
    return sum(a, axis, dtype, keepdims=keepdims, initial=initial, where=numbers(a, where))


def nanmean(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, where: Any = None
) -> Any:
    """Return the mean of the elements that are not NaN."""
    if out is not None:
        raise no_out("nanmean")
    x, axes, is_number = numbers_along(a, as_tuple(axis), where)
    return mean(x, axes, dtype, keepdims=keepdims, where=is_number)


def nanmax(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Return the largest element that is not NaN; NaN if there is none.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.nanmax(jnp.array([[jnp.nan, 1.0], [jnp.nan, jnp.nan]]), axis=1))
    [ 1. nan]
    """
    if out is not None:
        raise no_out("nanmax")
    _some(a, axis, initial, where, "nanmax")
    result = _max(a, axis=as_tuple(axis), keepdims=keepdims, initial=initial, where=numbers(a, where))
    return result if initial is not None else _nan_without_numbers(result, a, axis, keepdims)


def nanmin(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Return the smallest element that is not NaN; NaN if there is none."""
    if out is not None:
        raise no_out("nanmin")
    _some(a, axis, initial, where, "nanmin")
    result = _min(a, axis=as_tuple(axis), keepdims=keepdims, initial=initial, where=numbers(a, where))
    return result if initial is not None else _nan_without_numbers(result, a, axis, keepdims)


def _nan_without_numbers(result: Any, a: Any, axis: Axis, keepdims: bool) -> Any:
    if kind_of(aval_of(a).dtype) not in "fc":
        return result
    return logic.where(all(logic.isnan(a), axis, keepdims=keepdims), math.nan, result)


# Functions near reductions ------------------------------------------------------------------------------------------


def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """Return the elements limited to the range from ``min`` to ``max``, either of which may be None.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.clip(jnp.arange(5), 1, 3))
    [1 1 2 3 3]
    """
    if arr is None:
        raise ValueError("clip takes an array as its first argument, got None")
    return _clip(arr, min, max)


@together()
def _clip(x: Any, low: Any, high: Any) -> Any:
    if low is not None:
        x = ufuncs.maximum(low, x)
    return x if high is None else ufuncs.minimum(high, x)


@together()
def nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Return ``x`` with NaN replaced by ``nan``, infinities by ``posinf`` and ``neginf``.

    For None, infinities are replaced by the largest and smallest finite values.
    """
    aval = aval_of(x)
    if kind_of(aval.dtype) == "c":
        parts = (nan_to_num(part, copy, nan, posinf, neginf) for part in (real(x), imag(x)))
        return complex_numbers.complex(*parts)
    if not is_floating(aval.dtype):
        return x
    limits = finfo(aval.dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    x = logic.where(logic.isnan(x), as_dtype(nan, aval.dtype), x)
    x = logic.where(logic.equal(x, math.inf), as_dtype(high, aval.dtype), x)
    return logic.where(logic.equal(x, -math.inf), as_dtype(low, aval.dtype), x)


@together("equal_nan")
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether elements differ by no more than atol + rtol |b|."""
    x, y = pair(a, b)
    if not is_floating(aval_of(x).dtype):
        x, y = inexact_pair(x, y)
    is_near = logic.less_equal(ufuncs.abs(ufuncs.subtract(x, y)), atol + ufuncs.multiply(rtol, ufuncs.abs(y)))
    finite = logic.bitwise_and(logic.isfinite(x), logic.isfinite(y))
    close = logic.bitwise_or(logic.bitwise_and(is_near, finite), logic.equal(x, y))
    return logic.bitwise_or(close, logic.bitwise_and(logic.isnan(x), logic.isnan(y))) if equal_nan else close


@together("equal_nan")
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether all elements are close; see :func:`isclose`."""
    return all(isclose(a, b, rtol, atol, equal_nan=equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have the same shape and elements."""
    a1, a2 = listed(a1), listed(a2)
    if shape_of(a1) != shape_of(a2):
        return array(False)
    return _array_equal(a1, a2, equal_nan=equal_nan)


def listed(x: Any) -> Any:
    """Return a list or tuple as an array, any other operand unchanged."""
    return array(x) if isinstance(x, (list, tuple)) else x


@together("equal_nan")
def _array_equal(a1: Any, a2: Any, equal_nan: bool) -> Any:
    same = logic.equal(a1, a2)
    return all(logic.bitwise_or(same, logic.bitwise_and(logic.isnan(a1), logic.isnan(a2))) if equal_nan else same)
