"""Differences, cumulative sums and interpolation along an axis."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from ..dtypes import dtype_kind
from ..operations.conversion import to_dtype
from ..operations.operand_values import typed_scalar
from ..operations.shapes import broadcast_in_dim, expand_dims, squeeze
from ..operations.slicing import slice_in_dim
from ..trace.operand_coercion import pass_through
from ..trace.values import aval_of
from . import logic, reductions, searching, sorting, ufuncs
from .axes import axis_of, whole_number
from .creation import asarray
from .jit_wrapped import jit_wrapped
from .joining import concatenate
from .promotion import as_dtype, common_dtype, keep_digits, promote_dtypes_inexact, promote_inexact
from .shaping import moveaxis, ravel, shape_of
from .taking import take


def _slice_axis(x: Any, axis: int, start: int | None, stop: int | None) -> Any:
    axis %= len(shape_of(x))
    first, last, _ = slice(start, stop).indices(shape_of(x)[axis])
    return slice_in_dim(x, first, max(first, last), axis)


@jit_wrapped("n", "axis")
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return the differences of neighbouring elements along an axis, taken ``n`` times.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.diff(jnp.array([1, 4, 9, 16])))
    [3 5 7]
    """
    if whole_number(n, "n") < 0:
        raise ValueError(f"diff takes differences n times, n is not negative; got {n}")
    axis = axis_of(axis, len(shape_of(a)))
    if n == 0:
        return pass_through(a)
    end_shape = [1 if i == axis else size for i, size in enumerate(shape_of(a))]
    ends = [None if x is None else _broadcast_scalar(x, end_shape) for x in (prepend, append)]
    parts = [x for x in (ends[0], a, ends[1]) if x is not None]
    x = concatenate(parts, axis) if len(parts) > 1 else a
    combine = logic.not_equal if aval_of(x).dtype == np.bool_ else ufuncs.subtract
    for _ in range(n):
        x = combine(_slice_axis(x, axis, 1, None), _slice_axis(x, axis, None, -1))
    return pass_through(x)


def _broadcast_scalar(x: Any, shape: list[int]) -> Any:
    return x if shape_of(x) else broadcast_in_dim(x, shape, ())


@jit_wrapped()
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Return the differences of neighbours in the flattened array, with ``to_begin`` and ``to_end`` around them."""
    x = ravel(ary)
    differences = ufuncs.subtract(_slice_axis(x, 0, 1, None), _slice_axis(x, 0, None, -1))
    if to_end is None and to_begin is None:
        return differences
    parts = [to_begin, differences, to_end]
    arrays = [to_dtype(ravel(part), aval_of(x).dtype) for part in map(_as_optional_array, parts) if part is not None]
    return concatenate(arrays, 0)


def _as_optional_array(x: Any) -> Any:
    return None if x is None else asarray(x)


@jit_wrapped("axis")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Return the integral along an axis by the trapezoidal rule, at positions ``x`` or with steps ``dx``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.trapezoid(jnp.array([0.0, 1.0, 4.0]), dx=0.5))
    1.5
    """
    y, x = (promote_inexact(y), None) if x is None else promote_dtypes_inexact((y, x))
    y_axis = axis_of(axis, len(shape_of(y)))
    step = moveaxis(dx, axis_of(axis, len(shape_of(dx))), -1) if len(shape_of(dx)) > 1 else dx
    if x is not None:
        if not shape_of(x):
            raise ValueError("trapezoid takes x along an axis, got a number; a step is dx=...")
        if len(shape_of(x)) > 1:
            x = moveaxis(x, axis_of(axis, len(shape_of(x))), -1)
        step = ufuncs.subtract(_slice_axis(x, -1, 1, None), _slice_axis(x, -1, None, -1))
    y = moveaxis(y, y_axis, -1)
    middle = ufuncs.add(_slice_axis(y, -1, 1, None), _slice_axis(y, -1, None, -1))
    return ufuncs.multiply(0.5, reductions.sum(ufuncs.multiply(step, middle), -1))


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int | None = None) -> Any:
    """Return the gradient by central differences, one-sided at the ends.

    ``axis`` is one axis, several, or None for all; for more than one the result is a list. ``varargs`` is the
    spacing, for all axes or one for each: a number, or the positions of the elements along the axis.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.gradient(jnp.array([0.0, 1.0, 9.0]), jnp.array([0.0, 1.0, 3.0])))
    [1. 2. 4.]
    """
    if edge_order not in (None, 1):
        raise NotImplementedError("gradient with edge_order=2")
    rank = len(shape_of(f))
    axes = tuple(range(rank)) if axis is None else tuple(axis_of(i, rank) for i in np.atleast_1d(axis).tolist())
    steps = varargs if len(varargs) > 1 else (varargs or (None,)) * len(axes)
    if len(steps) != len(axes):
        raise TypeError(f"gradient takes one step for all axes, or one for each of the {len(axes)}, got {len(steps)}")
    slopes = [_gradient(f, step, axis=i) for step, i in zip(steps, axes, strict=True)]
    return slopes[0] if len(slopes) == 1 else slopes


@jit_wrapped("axis")
def _gradient(f: Any, step: Any, axis: int) -> Any:
    """Return the gradient along one axis.

    ``step`` is the spacing: a number, a vector of the positions of the elements, or None for 1.
    """
    size = shape_of(f)[axis]
    if size < 2:
        raise ValueError(f"gradient takes at least two elements along an axis, got shape {shape_of(f)}")
    f, step = (promote_inexact(f), 1) if step is None else promote_dtypes_inexact((f, step))
    widths = None
    if shape_of(step):
        if shape_of(step) != (size,):
            raise ValueError(
                f"gradient takes a step as a number, or as the {size} places of the elements along axis {axis}; "
                f"got shape {shape_of(step)}"
            )
        widths = _vector_along_axis(
            ufuncs.subtract(_slice_axis(step, 0, 1, None), _slice_axis(step, 0, None, -1)), axis, len(shape_of(f))
        )
    rises = ufuncs.subtract(_slice_axis(f, axis, 1, None), _slice_axis(f, axis, None, -1))
    if widths is not None:
        slopes = ufuncs.true_divide(rises, widths)
        return _restore_end_slopes(slopes, _interior_slopes(slopes, widths, axis), axis)
    inner = ufuncs.multiply(ufuncs.subtract(_slice_axis(f, axis, 2, None), _slice_axis(f, axis, None, -2)), 0.5)
    return ufuncs.true_divide(_restore_end_slopes(rises, inner, axis), step)


def _vector_along_axis(x: Any, axis: int, rank: int) -> Any:
    """Reshape a vector to ``rank`` axes, all of size 1 except ``axis``."""
    return expand_dims(x, tuple(i for i in range(rank) if i != axis))


def _restore_end_slopes(x: Any, inner: Any, axis: int) -> Any:
    """Concatenate the first element of ``x``, ``inner``, and the last element of ``x`` along an axis."""
    return concatenate([_slice_axis(x, axis, 0, 1), inner, _slice_axis(x, axis, -1, None)], axis)


def _interior_slopes(slopes: Any, widths: Any, axis: int) -> Any:
    """Return the second-order slope at each inner element of an unevenly spaced grid.

    ``widths`` are the distances between neighbouring elements, ``slopes`` the slopes between them. The result is
    the slope of the parabola through an element and its neighbours: the mean of the slopes on both sides, in
    which the nearer neighbour has the larger weight.
    """
    left, right = (_slice_axis(widths, axis, *ends) for ends in ((None, -1), (1, None)))
    before, behind = (_slice_axis(slopes, axis, *ends) for ends in ((None, -1), (1, None)))
    both = ufuncs.add(ufuncs.multiply(right, before), ufuncs.multiply(left, behind))
    return ufuncs.true_divide(both, ufuncs.add(left, right))


def interp(
    x: Any,
    xp: Any,
    fp: Any,
    left: float | Literal["extrapolate"] | None = None,
    right: float | Literal["extrapolate"] | None = None,
    period: float | None = None,
) -> Any:
    """Return the piecewise linear interpolation at ``x`` of the points (xp, fp), with ``xp`` ascending.

    Beyond the ends the value is ``left`` or ``right``, by default the end values. "extrapolate", which NumPy does
    not have, continues the outermost segment. With ``period``, ``x`` and ``xp`` are taken modulo it, ``xp`` may
    be in any order, and ``left`` and ``right`` are ignored.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.interp(jnp.array([0.5, 9.0]), jnp.array([0.0, 1.0]), jnp.array([10.0, 20.0])))
    [15. 20.]
    """
    if len(shape_of(xp)) != 1 or shape_of(xp) != shape_of(fp) or not shape_of(xp)[0]:
        raise ValueError(f"interp takes xp and fp as points on one axis, got shapes {shape_of(xp)} and {shape_of(fp)}")
    for name, fill in (("left", left), ("right", right)):
        if isinstance(fill, str) and fill != "extrapolate":
            raise ValueError(f'{name} is a number, None or "extrapolate", got {fill!r}')
    if period is None:
        extrapolates = left == "extrapolate", right == "extrapolate"
        low, high = (None if isinstance(end, str) else end for end in (left, right))
        return _interp(x, xp, fp, low, high, beyond=extrapolates)
    return _interp_periodic(x, xp, fp, period)


@jit_wrapped()
def _interp_periodic(x: Any, xp: Any, fp: Any, period: Any) -> Any:
    """Return the linear interpolation at ``x`` of points (xp, fp) that repeat with ``period``.

    The points of one period are sorted, and padded by the last point before the first and the first after the
    last.
    """
    x, xp, fp = *promote_dtypes_inexact((x, xp)), promote_inexact(fp)
    period = ufuncs.abs(period)
    x, xp = ufuncs.remainder(x, period), ufuncs.remainder(xp, period)
    order = sorting.argsort(xp)
    xp, fp = take(xp, order), take(fp, order)
    before, behind = ufuncs.subtract(_slice_axis(xp, 0, -1, None), period), ufuncs.add(_slice_axis(xp, 0, 0, 1), period)
    values = concatenate([_slice_axis(fp, 0, -1, None), fp, _slice_axis(fp, 0, 0, 1)], 0)
    return _interp(x, concatenate([before, xp, behind], 0), values, None, None, beyond=(False, False))


@jit_wrapped("beyond")
def _interp(x: Any, xp: Any, fp: Any, left: Any, right: Any, beyond: tuple[bool, bool]) -> Any:
    """Return the piecewise linear interpolation at ``x`` of the points (xp, fp), with ``xp`` ascending.

    ``beyond`` says for each end whether to extrapolate there. Otherwise the value is ``left`` or ``right``, or
    for None the value of the end point.
    """
    x, xp, fp = *promote_dtypes_inexact((x, xp)), promote_inexact(fp)
    count = shape_of(xp)[0]
    behind = ufuncs.minimum(ufuncs.maximum(searching.searchsorted(xp, x, side="right"), 1), count - 1)
    x0, x1, y0, y1 = (take(v, i, 0, mode="clip") for v in (xp, fp) for i in (behind - 1, behind))
    width = ufuncs.subtract(x1, x0)
    part = ufuncs.true_divide(ufuncs.subtract(x, x0), logic.where(logic.equal(width, 0), 1, width))
    values = ufuncs.add(y0, ufuncs.multiply(part, ufuncs.subtract(y1, y0)))
    first, last = (squeeze(_slice_axis(v, 0, i, i + 1 or None), (0,)) for v in (fp,) for i in (0, -1))
    if not beyond[0]:
        values = logic.where(logic.less(x, take(xp, 0)), first if left is None else left, values)
    if not beyond[1]:
        values = logic.where(logic.greater(x, take(xp, -1)), last if right is None else right, values)
    return as_dtype(values, aval_of(values).dtype)


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Return the cumulative sum along an axis; ``include_initial`` prepends 0.

    Booleans and small integers are summed in the dtype that :func:`sum` uses, unlike in ``cumsum``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.cumulative_sum(jnp.array([100, 100], "int8"), include_initial=True))
    [  0 100 200]
    """
    axis_number = _require_axis(x, axis, "cumulative_sum")
    x_dtype = aval_of(x).dtype
    widened = reductions.sum_dtype(x_dtype)
    sum_dtype = dtype if dtype is not None or widened == x_dtype else widened
    return _prepend_initial(reductions.cumsum(x, axis_number, sum_dtype), axis_number, 0, include_initial)


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Return the cumulative product along an axis; ``include_initial`` prepends 1."""
    axis_number = _require_axis(x, axis, "cumulative_prod")
    return _prepend_initial(reductions.cumprod(x, axis_number, dtype), axis_number, 1, include_initial)


def _require_axis(x: Any, axis: int | None, name: str) -> int:
    """Return ``axis`` as a nonnegative number, 0 for None.

    Raises ValueError if ``x`` has no axes, or several while ``axis`` is None. ``name`` is the calling function.
    """
    rank = len(shape_of(x))
    if rank == 0 or (axis is None and rank > 1):
        raise ValueError(
            f"{name} goes along an axis, which has to be named unless there is one; got shape {shape_of(x)}"
        )
    return 0 if axis is None else axis_of(axis, rank)


def _prepend_initial(x: Any, axis: int, start: int, include_initial: bool) -> Any:
    if not include_initial:
        return pass_through(x)
    shape = [1 if i == axis % len(shape_of(x)) else size for i, size in enumerate(shape_of(x))]
    return concatenate([broadcast_in_dim(typed_scalar(start, x.dtype), shape, ()), x], axis)


def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * math.pi) -> Any:
    """Return the angles along an axis without jumps.

    Where neighbours differ by more than half a period, periods are added. ``p`` holds real numbers; the result
    has its shape. ``discont`` is the least difference that counts as a jump, half a period or more (None: half a
    period); ``period`` is a number. Integers stay integers if ``period`` is one.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.unwrap(jnp.array([0, 1, 2, -1, 0]), period=4))
    [0 1 2 3 4]
    """
    if dtype_kind(aval_of(p).dtype) == "c":
        raise ValueError(f"unwrap takes real numbers, got {aval_of(p).dtype.name}")
    return _unwrap(p, discont, keep_digits(period, p), axis=axis)


@jit_wrapped("axis")
def _unwrap(p: Any, discont: Any, period: Any, axis: int) -> Any:
    dtype, weak = common_dtype([aval_of(p), aval_of(period)])
    is_integer = dtype_kind(dtype) in "iu"
    axis = axis_of(axis, len(shape_of(p)))
    if not shape_of(p)[axis]:
        return pass_through(as_dtype(p, dtype, weak))
    p = as_dtype(p, dtype)
    half = ufuncs.floor_divide(period, 2) if is_integer else ufuncs.true_divide(period, 2)
    steps = diff(p, axis=axis)
    wrapped = ufuncs.subtract(ufuncs.remainder(ufuncs.add(steps, half), period), half)
    # a step of just half a period keeps its direction
    at_edge = logic.bitwise_and(logic.equal(wrapped, ufuncs.negative(half)), logic.greater(steps, 0))
    if is_integer:
        at_edge = logic.bitwise_and(at_edge, logic.equal(ufuncs.remainder(period, 2), 0))
    correction = ufuncs.subtract(logic.where(at_edge, half, wrapped), steps)
    threshold = half if discont is None else discont
    correction = logic.where(logic.less(ufuncs.abs(steps), threshold), 0, correction)
    trailing = ufuncs.add(_slice_axis(p, axis, 1, None), reductions.cumsum(correction, axis))
    return concatenate([_slice_axis(p, axis, 0, 1), as_dtype(trailing, dtype)], axis)
