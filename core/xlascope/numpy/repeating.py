"""Functions that repeat, reorder, pad and drop elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind, to_canonical_dtype
from ..errors import ConcretizationTypeError
from ..operations.arithmetic import add, rem
from ..operations.conversion import convert_element_type, to_dtype
from ..operations.cumulative import cumsum
from ..operations.dynamic_slicing import dynamic_slice
from ..operations.out_shardings import with_out_sharding
from ..operations.random_keys import zero_of
from ..operations.shapes import broadcast_in_dim, broadcasted_iota, reshape
from ..operations.slicing import concatenate, rev, slice_in_dim
from ..operations.tangent_arithmetic import neg
from ..trace.source import here
from ..trace.trace_cache import cache_trace
from ..trace.tracer import TracerBase
from ..trace.values import aval_of
from .axes import axes_of, axis_of, is_several, sizes_of, to_static_axis, whole_number
from .jit_wrapped import jit_wrapped
from .searching import searchsorted
from .shaping import broadcast_to, index_row, moveaxis, ravel, shape_of, swapaxes
from .taking import take
from .ufuncs import minimum


@cache_trace
def tile(A: Any, reps: int | Sequence[int]) -> Any:
    """Return the array repeated along each axis ``reps`` times."""
    times = sizes_of(reps)
    return _tile(A, times=times)


@jit_wrapped("times")
def _tile(A: Any, times: tuple[int, ...]) -> Any:
    shape = shape_of(A)
    rank = max(len(shape), len(times))
    sizes = (1,) * (rank - len(shape)) + shape
    times = (1,) * (rank - len(times)) + times
    broadcast = broadcast_in_dim(
        A, [n for pair in zip(times, sizes, strict=True) for n in pair], range(2 * (rank - len(shape)) + 1, 2 * rank, 2)
    )
    return reshape(broadcast, [n * size for n, size in zip(times, sizes, strict=True)])


@with_out_sharding
def repeat(a: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None) -> Any:
    """Return each element repeated, along an axis (None: of the flattened array).

    A number has an axis of one element here, as in NumPy. ``repeats`` is one number or one for each element; it has to
    be concrete, unless ``total_repeat_length`` gives the size of the result.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.repeat(jnp.arange(3), 2))
    [0 0 1 1 2 2]
    """
    is_flat = axis is None
    axis = 0 if axis is None else axis_of(axis, max(1, len(shape_of(a))))
    if is_flat or not shape_of(a):
        a = ravel(a)
    if isinstance(repeats, TracerBase) and repeats.concrete() is None:
        return take(a, _traced_row_indices(repeats, shape_of(a)[axis], total_repeat_length), axis)
    counts = _repeat_counts(repeats, shape_of(a)[axis])
    if total_repeat_length is None and counts.size == 1:
        return _repeat(a, times=int(counts[0]), axis=axis)
    rows = np.repeat(np.arange(shape_of(a)[axis]), counts)
    if total_repeat_length is not None:
        rows = _fit_length(rows, whole_number(total_repeat_length, "total_repeat_length"), shape_of(a)[axis])
    if not len(rows):
        return slice_in_dim(a, 0, 0, axis)
    return take_static(a, axis, rows)


def _traced_row_indices(repeats: TracerBase, size: int, length: int | None) -> Any:
    """Return for each position of a result of ``repeat`` the index of its element, for traced repeat counts.

    ``size`` is the number of elements; ``length``, that of the result, is required (None:
    ConcretizationTypeError).
    """
    if length is None:
        raise ConcretizationTypeError(
            f"repeat: the size of the result depends on the values of repeats, {repeats!r}, which are not known while "
            f"the function is traced{here()}. Say how long the result is (total_repeat_length=...), or make repeats "
            "static (jit(f, static_argnums=...))."
        )
    if repeats.aval.dtype.kind not in "biu":
        raise TypeError(f"repeats are integers, got {repeats!r}{here()}")
    ends = cumsum(broadcast_to(convert_element_type(ravel(repeats), np.dtype("int32")), (size,)), 0)
    positions = broadcasted_iota(np.dtype("int32"), (whole_number(length, "total_repeat_length"),), 0)
    return minimum(searchsorted(ends, positions, side="right"), max(size - 1, 0))


def _repeat_counts(repeats: Any, size: int) -> np.ndarray[Any, Any]:
    """Return repeat counts as a vector of one number, or of one for each of ``size`` elements.

    Raises TypeError for anything but integers, ValueError for other shapes and negative counts.
    """
    counts = np.asarray(repeats)
    if counts.dtype.kind not in "biu" and counts.size:
        raise TypeError(f"repeats are integers, got {repeats!r}")
    if counts.ndim > 1 or (counts.size != 1 and counts.shape != (size,)):
        raise ValueError(f"repeats is one number, or one for each of the {size} elements; got shape {counts.shape}")
    if (counts < 0).any():
        raise ValueError(f"an element is repeated 0 times or more, got {repeats!r}")
    return counts.reshape(-1).astype(int)


def _fit_length(rows: np.ndarray[Any, Any], length: int, size: int) -> np.ndarray[Any, Any]:
    """Return ``length`` row indices: excess ones are dropped, missing ones are that of the last row, as in JAX.

    ``rows`` are the indices, ``size`` is the number of rows of the array. Raises ValueError for a negative
    length.
    """
    if length < 0:
        raise ValueError(f"total_repeat_length is at least 0, got {length}")
    return np.concatenate([rows[:length], np.repeat(np.arange(size)[-1:], max(0, length - len(rows)))])


@jit_wrapped("times", "axis")
def _repeat(a: Any, times: int, axis: int) -> Any:
    shape = shape_of(a)
    repeated_shape = (*shape[: axis + 1], times, *shape[axis + 1 :])
    axes = [i for i in range(len(repeated_shape)) if i != axis + 1]
    return reshape(broadcast_in_dim(a, repeated_shape, axes), (*shape[:axis], shape[axis] * times, *shape[axis + 1 :]))


def flip(m: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Return the elements in reversed order, along an axis, several, or all (None)."""
    return _flip(m, to_static_axis(axis))


@jit_wrapped("axis")
def _flip(m: Any, axis: int | Sequence[int] | None) -> Any:
    rank = len(shape_of(m))
    return rev(m, tuple(range(rank)) if axis is None else axes_of(axis, rank))


@cache_trace
def flipud(m: Any) -> Any:
    """Return the elements with the first axis reversed."""
    return flip(m, 0)


@cache_trace
def fliplr(m: Any) -> Any:
    """Return the elements with the second axis reversed."""
    return flip(m, 1)


@jit_wrapped("k", "axes")
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Return the array rotated by ``k`` quarter turns in the plane of two axes."""
    first, second = axes_of(axes, len(shape_of(m)))
    turns = k % 4
    if turns == 2:
        return flip(m, (first, second))
    if turns == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second) if turns else m


@cache_trace
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Return the elements shifted cyclically along an axis (None: of the flattened array).

    ``shift`` and ``axis`` may be several, one shift for each axis; a shift may be traced.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.roll(jnp.arange(4), 1))
    [3 0 1 2]
    """
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), shape_of(a))
    rank = len(shape_of(a))
    axes = [axis_of(entry, rank) for entry in (axis if is_several(axis) else (axis,))]
    if shift.__class__ is int and len(axes) == 1:
        return _roll(a, steps=(shift,), axes=(axes[0],))
    if isinstance(shift, TracerBase) and shift.concrete() is None:
        return _dynamic_roll(a, shift, axes=tuple(axes))
    shifts = np.asarray(shift)
    if dtype_kind(shifts.dtype) not in "iub" and shifts.size:
        kind = type(shift).__name__
        raise TypeError(f"roll shifts by a whole number of places, got shift {shift!r} of type {kind}{here()}")
    steps, axis_numbers = np.broadcast_arrays(shifts, np.asarray(axes, int))
    return _roll(a, steps=tuple(steps.ravel().tolist()), axes=tuple(axis_numbers.ravel().tolist()))


@jit_wrapped("axes")
def _dynamic_roll(a: Any, shift: Any, axes: tuple[int, ...]) -> Any:
    """Roll by traced shifts: take a dynamic slice of the array concatenated with itself.

    ``shift`` is one shift, or one for each of ``axes``.
    """
    shape = shape_of(a)
    if len(shape_of(shift)) > 1:
        raise ValueError(f"roll takes one shift, or one for each axis, got shape {shape_of(shift)}")
    steps = broadcast_to(shift, np.broadcast_shapes(shape_of(shift), (len(axes),)))
    for i in range(shape_of(steps)[0]):
        axis = axes[i % len(axes)]
        if size := shape[axis]:
            back = rem(neg(convert_element_type(index_row(steps, i), to_canonical_dtype(int))), size)
            first = rem(add(back, size), size)
            a = dynamic_slice(concatenate([a, a], axis), [first if d == axis else 0 for d in range(len(shape))], shape)
    return a


@jit_wrapped("steps", "axes")
def _roll(a: Any, steps: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    for step, axis in zip(steps, axes, strict=True):
        size = shape_of(a)[axis]
        split_index = size - step % size if size else 0
        if split_index != size:
            ends = slice_in_dim(a, split_index, size, axis), slice_in_dim(a, 0, split_index, axis)
            a = concatenate(ends, axis)
    return a


@cache_trace
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the elements whose two indices differ by ``offset``; their axis comes last."""
    return _diagonal(a, offset=whole_number(offset, "offset"), axis1=axis1, axis2=axis2)


@jit_wrapped("offset", "axis1", "axis2")
def _diagonal(a: Any, offset: int, axis1: int, axis2: int) -> Any:
    # In row-major order, diagonal elements of the flattened matrices are columns + 1 apart: a strided slice has them.
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    *lead, rows, columns = shape_of(a)
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    start = max(-offset, 0) * columns + max(offset, 0)
    flat = reshape(a, (*lead, rows * columns))
    if not count:
        return slice_in_dim(flat, 0, 0, len(lead))
    stop = start + (count - 1) * (columns + 1) + 1
    return slice_in_dim(flat, start, stop, len(lead), columns + 1)


def take_static(array: Any, axis: int, indices: np.ndarray[Any, Any]) -> Any:
    """Return the elements at static indices along an axis, concatenated from slices of consecutive indices."""
    parts = [_take_run(array, axis, run) for run in _index_runs(indices)]
    return concatenate(parts, axis) if parts else slice_in_dim(array, 0, 0, axis)


def _index_runs(indices: np.ndarray[Any, Any]) -> list[tuple[int, int, int]]:
    """Return indices as runs of consecutive ones: (first, count, step) with a step of 1 or -1."""
    runs: list[tuple[int, int, int]] = []
    for index in indices.tolist():
        if runs:
            first, count, step = runs[-1]
            if count == 1 and abs(index - first) == 1:
                runs[-1] = (first, 2, index - first)
                continue
            if count > 1 and index == first + count * step:
                runs[-1] = (first, count + 1, step)
                continue
        runs.append((index, 1, 1))
    return runs


def _take_run(array: Any, axis: int, run: tuple[int, int, int]) -> Any:
    first, count, step = run
    if step == 1:
        return slice_in_dim(array, first, first + count, axis)
    return rev(slice_in_dim(array, first - count + 1, first + 1, axis), (axis,))


@jit_wrapped("new_shape")
def resize(a: Any, new_shape: Any) -> Any:
    """Return the elements, repeated as often as needed, in another shape."""
    sizes = sizes_of(new_shape)
    target_size, size = math.prod(sizes), aval_of(a).size
    if not target_size or not size:
        empty = broadcast_in_dim(zero_of(aval_of(a).dtype), sizes, ())
        return to_dtype(empty, aval_of(a).dtype, True) if aval_of(a).weak_type else empty
    flat = concatenate([ravel(a)] * -(-target_size // size), 0)
    return reshape(slice_in_dim(flat, 0, target_size, 0), sizes)
