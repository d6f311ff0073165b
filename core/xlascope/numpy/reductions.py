"""Reductions and cumulative functions over axes."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind, finfo, is_floating, to_canonical_dtype
from ..ir.requested_dtypes import resolve_requested_dtype
from ..operations import complex_numbers, cumulative, extreme_positions, operand_values
from ..operations.arithmetic import div, mul
from ..operations.complex_numbers import imag, real
from ..operations.random_keys import are_keys
from ..operations.reductions import reduce_and, reduce_max, reduce_min, reduce_or, reduce_prod
from ..operations.shapes import expand_dims, full, reduce_sum, reshape
from ..trace.values import aval_of
from . import logic, ufuncs
from .axes import axes_of, axis_of, reject_out, to_static_axis
from .creation import array
from .jit_wrapped import jit_wrapped
from .number_arguments import keep_numbers
from .promotion import as_dtype, promote_dtypes_inexact, promote_inexact, promote_pair, promote_pair_inexact
from .shaping import broadcast_to, ravel, shape_of

Axis = int | Sequence[int] | None


def all_axes(x: Any, axis: Axis) -> tuple[int, ...]:
    """Return the axes of ``x`` that ``axis`` names as nonnegative numbers: all axes for None."""
    rank = len(shape_of(x))
    return tuple(range(rank)) if axis is None else axes_of(axis, rank)


def keep_reduced_axes(y: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Return the result ``y`` of a reduction, with the reduced ``axes`` restored with size 1 if ``keepdims``."""
    return expand_dims(y, axes) if keepdims and axes else y


def _reduce(
    reduce: Callable[[Any, Sequence[int]], Any],
    x: Any,
    axis: Axis,
    keepdims: bool,
    initial: Any,
    join: Any,
    where: Any,
    neutral: Any,
) -> Any:
    """Reduce the elements at which ``where`` holds over ``axis``, and join the result with ``initial``.

    ``reduce`` takes an array and axes; elements that ``where`` excludes are replaced by ``neutral``; ``join`` is
    the binary function of the reduction. None stands for no mask and no initial value.
    """
    axes = all_axes(x, axis)
    if where is not None:
        require_mask(where)
        x = logic.where(where, x, as_dtype(neutral, aval_of(x).dtype))
    y = keep_reduced_axes(reduce(x, axes) if axes else x, axes, keepdims)
    if initial is None:
        return y
    if shape_of(initial):
        raise ValueError(f"initial is one value, got one of shape {shape_of(initial)}")
    return join(y, as_dtype(initial, aval_of(y).dtype))


def require_mask(where: Any) -> None:
    """Raise ValueError unless ``where`` has a boolean dtype."""
    if aval_of(where).dtype != np.bool_:
        raise ValueError(f"where takes truth values, got {aval_of(where).dtype.name}; compare it with something")


def broadcast_mask(where: Any, x: Any) -> Any:
    """Return ``where`` broadcast to the shape of ``x``; raise ValueError if it does not fit."""
    require_mask(where)
    sizes, shape = shape_of(where), shape_of(x)
    if len(sizes) > len(shape) or not builtins.all(n in (1, m) for n, m in zip(sizes[::-1], shape[::-1], strict=False)):
        raise ValueError(f"where of shape {sizes} cannot be broadcast to the array's shape {shape}")
    return broadcast_to(where, shape)


def sum_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which elements of ``dtype`` are summed.

    Booleans and narrower integers are summed in the default integer type, signed or unsigned.
    """
    wide = to_canonical_dtype(int)
    if dtype_kind(dtype) in "bi":
        return wide if dtype.itemsize < wide.itemsize else dtype
    if dtype_kind(dtype) == "u":
        unsigned = np.dtype(f"uint{8 * wide.itemsize}")
        return unsigned if dtype.itemsize < unsigned.itemsize else dtype
    return dtype


def _accumulation_dtype(x: Any, dtype: Any, promoted: bool) -> Any:
    """Return the dtype in which a sum or product is accumulated; None stands for :func:`sum_dtype`.

    It is ``dtype``, the requested one, if that is not None, and else, unless integers are ``promoted``, that of
    ``x`` (int32 for booleans).
    """
    if promoted or dtype is not None:
        return dtype
    operand_dtype = aval_of(x).dtype
    return np.dtype("int32") if operand_dtype == np.bool_ else operand_dtype


def _to_sum_dtype(x: Any, dtype: Any) -> Any:
    aval = aval_of(x)
    accumulator = sum_dtype(aval.dtype) if dtype is None else dtype
    return as_dtype(x, accumulator)


def _strengthen(x: Any) -> Any:
    return as_dtype(x, aval_of(x).dtype)


@jit_wrapped("axis", "dtype", "keepdims", "promote_integers")
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
        raise reject_out("sum")
    dtype = _accumulation_dtype(a, None if dtype is None else resolve_requested_dtype(dtype), promote_integers)
    return _sum(a, axis=to_static_axis(axis), dtype=dtype, keepdims=keepdims, initial=initial, where=where)


def _sum(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    if dtype is not None and dtype == np.bool_:
        return _reduce(reduce_or, logic.to_bool(a), axis, keepdims, initial, ufuncs.add, where, False)
    return _reduce_in_float32(reduce_sum, _to_sum_dtype(a, dtype), axis, keepdims, initial, ufuncs.add, where, 0)


def _reduce_in_float32(reduce: Any, x: Any, *arguments: Any) -> Any:
    """Call :func:`_reduce` in float32 if the operand has a 16-bit floating-point type, and convert the result back.

    ``arguments`` are the remaining arguments of :func:`_reduce`.
    """
    operand_dtype = aval_of(x).dtype
    if not is_floating(operand_dtype) or operand_dtype.itemsize != 2:
        return _reduce(reduce, x, *arguments)
    return as_dtype(_reduce(reduce, as_dtype(x, np.dtype("float32")), *arguments), operand_dtype)


def sum_in_float32(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the sum of ``x`` along ``axes``; that of a 16-bit floating-point type is computed in float32.

    In bfloat16 a sum of ones ends at 256, unless XLA happens to fuse it with an operation in float32.
    """
    dtype = aval_of(x).dtype
    if not is_floating(dtype) or dtype.itemsize != 2:
        return reduce_sum(x, axes)
    return as_dtype(reduce_sum(as_dtype(x, np.dtype("float32")), axes), dtype)


@jit_wrapped("axis", "dtype", "keepdims", "promote_integers")
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
        raise reject_out("prod")
    dtype = _accumulation_dtype(a, None if dtype is None else resolve_requested_dtype(dtype), promote_integers)
    return _prod(a, axis=to_static_axis(axis), dtype=dtype, keepdims=keepdims, initial=initial, where=where)


def _prod(a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    if dtype is not None and dtype == np.bool_:
        return _reduce(reduce_and, logic.to_bool(a), axis, keepdims, initial, ufuncs.multiply, where, True)
    return _reduce_in_float32(reduce_prod, _to_sum_dtype(a, dtype), axis, keepdims, initial, ufuncs.multiply, where, 1)


@jit_wrapped("axis", "keepdims")
def max(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Return the largest element along an axis, several, or all (None); NaN if there is one.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.max(jnp.array([[1, 5], [7, 2]]), axis=1))
    [5 7]
    """
    if out is not None:
        raise reject_out("max")
    _require_nonempty(a, axis, initial, where, "max")
    return _max(a, axis=to_static_axis(axis), keepdims=keepdims, initial=initial, where=where)


@jit_wrapped("axis", "keepdims")
def min(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Return the smallest element along an axis, several, or all (None); NaN if there is one."""
    if out is not None:
        raise reject_out("min")
    _require_nonempty(a, axis, initial, where, "min")
    return _min(a, axis=to_static_axis(axis), keepdims=keepdims, initial=initial, where=where)


@jit_wrapped("axis", "keepdims")
def _max(a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    lowest = None if where is None else operand_values.lowest(aval_of(a).dtype)
    return _reduce(reduce_max, _strengthen(a), axis, keepdims, initial, ufuncs.maximum, where, lowest)


@jit_wrapped("axis", "keepdims")
def _min(a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    highest = None if where is None else operand_values.highest(aval_of(a).dtype)
    return _reduce(reduce_min, _strengthen(a), axis, keepdims, initial, ufuncs.minimum, where, highest)


def _require_nonempty(x: Any, axis: Axis, initial: Any, where: Any, name: str) -> None:
    if initial is not None:
        return
    if where is not None:
        raise ValueError(f"{name} of the elements where=... may be of none, and that has no value; give initial=...")
    if 0 in shape_of(x) and count_along(x, all_axes(x, axis)) == 0:
        raise ValueError(f"{name} of no elements (shape {shape_of(x)}, axis {axis}) has no value; give initial=...")


amax, amin = max, min


@jit_wrapped("axis", "keepdims")
def all(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """Return whether all elements along an axis, several, or all (None) are nonzero."""
    if out is not None:
        raise reject_out("all")
    return _all(a, axis=to_static_axis(axis), keepdims=keepdims, where=where)


@jit_wrapped("axis", "keepdims")
def any(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """Return whether any element along an axis, several, or all (None) is nonzero."""
    if out is not None:
        raise reject_out("any")
    return _any(a, axis=to_static_axis(axis), keepdims=keepdims, where=where)


def _all(a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    return _reduce(reduce_and, logic.to_bool(a), axis, keepdims, None, None, where, True)


def _any(a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    return _reduce(reduce_or, logic.to_bool(a), axis, keepdims, None, None, where, False)


def _count_nonzero(a: Any, axis: Any, keepdims: bool) -> Any:
    axes = all_axes(a, axis)
    return keep_reduced_axes(reduce_sum(as_dtype(logic.to_bool(a), to_canonical_dtype(int)), axes), axes, keepdims)


@jit_wrapped("axis", "keepdims")
def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return the number of nonzero elements."""
    return _count_nonzero(a, axis=to_static_axis(axis), keepdims=keepdims)


@jit_wrapped("axis", "keepdims")
def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
    """Return the difference of the largest and the smallest element."""
    if out is not None:
        raise reject_out("ptp")
    return _ptp(a, axis=to_static_axis(axis), keepdims=keepdims)


def _ptp(a: Any, axis: Any, keepdims: bool) -> Any:
    return ufuncs.subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


# Averages -----------------------------------------------------------------------------------------------------------


@jit_wrapped("axis", "dtype", "keepdims")
def mean(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Return the arithmetic mean along an axis, several, or all (None); for integers a float.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.mean(jnp.arange(4)))
    1.5
    """
    if out is not None:
        raise reject_out("mean")
    dtype = None if dtype is None else resolve_requested_dtype(dtype)
    return mean_in_dtype(a, to_static_axis(axis), dtype, keepdims=keepdims, where=where)


def count_along(x: Any, axes: tuple[int, ...]) -> int:
    """Return the number of elements of ``x`` along ``axes`` together."""
    shape = shape_of(x)
    return math.prod(shape[i] for i in axes)


def mean_in_dtype(a_: Any, axis: Any, dtype: Any, *, keepdims: bool, where: Any) -> Any:
    """Return the mean in ``dtype`` (None: that of the elements as floats), whatever enable_x64 is; see :func:`mean`."""
    x = promote_inexact(a_) if dtype is None else as_dtype(a_, dtype)
    result_dtype = aval_of(x).dtype
    axes = all_axes(x, axis)
    wide = as_dtype(x, np.dtype("float32")) if is_floating(result_dtype) and result_dtype.itemsize < 4 else x
    if where is None:
        average = div(reduce_sum(wide, axes), as_dtype(count_along(x, axes), aval_of(wide).dtype))
    else:
        mask = broadcast_mask(where, x)
        total = reduce_sum(logic.where(mask, wide, 0), axes)
        average = div(total, reduce_sum(as_dtype(mask, aval_of(wide).dtype), axes))
    return keep_reduced_axes(as_dtype(average, result_dtype), axes, keepdims)


def average(a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, keepdims: bool = False) -> Any:
    """Return the weighted mean; with ``returned``, also the sum of the weights."""
    result, total = _average(a, weights, axis=to_static_axis(axis), keepdims=keepdims)
    return (result, total) if returned else result


@jit_wrapped("axis", "keepdims")
def _average(a_: Any, weights: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    axes = all_axes(a_, axis)
    if weights is None:
        result = mean(a_, axes, keepdims=keepdims)
        return result, full(shape_of(result), as_dtype(float(count_along(a_, axes)), aval_of(result).dtype))
    x, w = promote_dtypes_inexact((a_, weights))
    if shape_of(w) != shape_of(x):
        if len(shape_of(w)) != 1 or len(axes) != 1:
            raise ValueError(f"average: weights of shape {shape_of(w)} do not fit shape {shape_of(x)} and axis {axis}")
        w = broadcast_to(reshape(w, [n if i == axes[0] else 1 for i, n in enumerate(shape_of(x))]), shape_of(x))
    dtype = aval_of(x).dtype
    if is_floating(dtype) and dtype.itemsize == 2:  # float16 ends at 65504
        x, w = (as_dtype(v, np.dtype("float32")) for v in (x, w))
    total, weighted = (keep_reduced_axes(reduce_sum(v, axes), axes, keepdims) for v in (w, mul(x, w)))
    return as_dtype(div(weighted, total), dtype), as_dtype(total, dtype)


# Positions and running sums -----------------------------------------------------------------------------------------


@jit_wrapped("axis", "keepdims")
def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Return the index of the first largest element along an axis, or in the flattened array (None).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.argmax(jnp.array([[1, 5], [7, 2]]), axis=1))
    [1 0]
    """
    if out is not None:
        raise reject_out("argmax")
    return _arg_reduce(
        a, find=extreme_positions.argmax, axis=to_static_axis(axis), keepdims=bool(keepdims), name="argmax"
    )


@jit_wrapped("axis", "keepdims")
def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Return the index of the first smallest element along an axis, or in the flattened array (None)."""
    if out is not None:
        raise reject_out("argmin")
    return _arg_reduce(
        a, find=extreme_positions.argmin, axis=to_static_axis(axis), keepdims=bool(keepdims), name="argmin"
    )


def _arg_reduce(x: Any, find: Any, axis: Any, keepdims: bool, name: str) -> Any:
    """Return the index that ``find`` gives along an axis, or in the flattened array (None).

    Raises ValueError if there are no elements; ``name`` is the calling function.
    """
    rank = len(shape_of(x))
    if axis is not None:
        axis = axis_of(axis, rank or 1)
    if count_along(x, all_axes(x, axis if rank else None)) == 0:
        raise ValueError(f"{name} of no elements (shape {shape_of(x)}, axis {axis}) has no value")
    if axis is None or rank == 0:
        index = find(ravel(x), 0, to_canonical_dtype(int))
        return reshape(index, (1,) * rank) if keepdims else index
    return keep_reduced_axes(find(x, axis, to_canonical_dtype(int)), (axis,), keepdims)


@jit_wrapped("axis", "dtype")
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Return the cumulative sum along an axis, or of the flattened array (None).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.cumsum(jnp.arange(4)))
    [0 1 3 6]
    """
    if out is not None:
        raise reject_out("cumsum")
    requested = None if dtype is None else resolve_requested_dtype(dtype)
    return _cumulative(a, run=cumulative.cumsum, axis=to_static_axis(axis), dtype=requested)


@jit_wrapped("axis", "dtype")
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Return the cumulative product along an axis, or of the flattened array (None)."""
    if out is not None:
        raise reject_out("cumprod")
    requested = None if dtype is None else resolve_requested_dtype(dtype)
    return _cumulative(a, run=cumulative.cumprod, axis=to_static_axis(axis), dtype=requested)


def _cumulative(x: Any, run: Any, axis: Any, dtype: Any) -> Any:
    """Apply the cumulative function ``run`` along an axis (None: of the flattened array).

    ``dtype`` is the requested dtype, or None for that of ``x``, in which booleans become integers.
    """
    if axis is None or not shape_of(x):
        x, axis = ravel(x), 0 if axis is None else axis
    axis = axis_of(axis, len(shape_of(x)))
    x_dtype = aval_of(x).dtype
    target = dtype if dtype is not None else to_canonical_dtype(int) if dtype_kind(x_dtype) == "b" else x_dtype
    if dtype_kind(target) == "b":  # a boolean sum is any, a boolean product all
        return logic.to_bool(run(as_dtype(logic.to_bool(x), np.dtype("int32")), axis))
    return run(as_dtype(x, target), axis)


@jit_wrapped("axis")
def _replace_nan(x: Any, value: Any, axis: Any = None) -> Any:
    return logic.where(logic.isnan(x), value, x)


def number_mask(x: Any, where: Any = None) -> Any:
    """Return the mask of the elements that are not NaN and at which ``where`` (None: everywhere) holds."""
    is_number = logic.logical_not(logic.isnan(x))
    if where is None:
        return is_number
    require_mask(where)
    return logic.logical_and(is_number, where)


def broadcast_with_number_mask(a: Any, axis: Axis, where: Any) -> tuple[Any, tuple[int, ...], Any]:
    """Return ``a`` broadcast with ``where``, the axes to reduce, and the mask of the elements to reduce.

    The axes are nonnegative numbers; the mask holds where ``where`` does, if it is not None, and elements are not
    NaN.
    """
    axes = all_axes(a, axis)
    is_number = number_mask(a, where)
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
        raise reject_out("nansum")
    return sum(a, axis, dtype, keepdims=keepdims, initial=initial, where=number_mask(a, where))


def nanmean(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, where: Any = None
) -> Any:
    """Return the mean of the elements that are not NaN."""
    if out is not None:
        raise reject_out("nanmean")
    x, axes, is_number = broadcast_with_number_mask(a, to_static_axis(axis), where)
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
        raise reject_out("nanmax")
    _require_nonempty(a, axis, initial, where, "nanmax")
    result = _max(a, axis=to_static_axis(axis), keepdims=keepdims, initial=initial, where=number_mask(a, where))
    return result if initial is not None else _set_nan_where_all_nan(result, a, axis, keepdims)


def nanmin(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Return the smallest element that is not NaN; NaN if there is none."""
    if out is not None:
        raise reject_out("nanmin")
    _require_nonempty(a, axis, initial, where, "nanmin")
    result = _min(a, axis=to_static_axis(axis), keepdims=keepdims, initial=initial, where=number_mask(a, where))
    return result if initial is not None else _set_nan_where_all_nan(result, a, axis, keepdims)


def _set_nan_where_all_nan(result: Any, a: Any, axis: Axis, keepdims: bool) -> Any:
    if dtype_kind(aval_of(a).dtype) not in "fc":
        return result
    return logic.where(all(logic.isnan(a), axis, keepdims=keepdims), math.nan, result)


# Functions near reductions ------------------------------------------------------------------------------------------


@keep_numbers(1, 2)
@jit_wrapped()
def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """Return the elements limited to the range from ``min`` to ``max``, either of which may be None.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.clip(jnp.arange(5), 1, 3))
    [1 1 2 3 3]
    """
    if arr is None:
        raise ValueError("clip takes an array as its first argument, got None")
    return _clip(arr, min, max)


def _clip(x: Any, low: Any, high: Any) -> Any:
    if low is not None:
        x = ufuncs.maximum(low, x)
    return x if high is None else ufuncs.minimum(high, x)


@jit_wrapped()
def nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Return ``x`` with NaN replaced by ``nan``, infinities by ``posinf`` and ``neginf``.

    For None, infinities are replaced by the largest and smallest finite values.
    """
    aval = aval_of(x)
    if dtype_kind(aval.dtype) == "c":
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


@jit_wrapped("equal_nan")
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether elements differ by no more than atol + rtol |b|."""
    if are_keys(a, b):
        return logic.equal(a, b)
    x, y = promote_pair(a, b)
    if not is_floating(aval_of(x).dtype):
        x, y = promote_pair_inexact(x, y)
    is_near = logic.less_equal(ufuncs.abs(ufuncs.subtract(x, y)), atol + ufuncs.multiply(rtol, ufuncs.abs(y)))
    finite = logic.bitwise_and(logic.isfinite(x), logic.isfinite(y))
    close = logic.bitwise_or(logic.bitwise_and(is_near, finite), logic.equal(x, y))
    return logic.bitwise_or(close, logic.bitwise_and(logic.isnan(x), logic.isnan(y))) if equal_nan else close


@jit_wrapped("equal_nan")
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether all elements are close; see :func:`isclose`."""
    return all(isclose(a, b, rtol, atol, equal_nan=equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Return whether two arrays have the same shape and elements."""
    a1, a2 = list_to_array(a1), list_to_array(a2)
    if shape_of(a1) != shape_of(a2):
        return array(False)
    return _array_equal(a1, a2, equal_nan=equal_nan)


def list_to_array(x: Any) -> Any:
    """Return a list or tuple as an array, any other operand unchanged."""
    return array(x) if isinstance(x, (list, tuple)) else x


@jit_wrapped("equal_nan")
def _array_equal(a1: Any, a2: Any, equal_nan: bool) -> Any:
    same = logic.equal(a1, a2)
    return all(logic.bitwise_or(same, logic.bitwise_and(logic.isnan(a1), logic.isnan(a2))) if equal_nan else same)
