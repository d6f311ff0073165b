"""Functions that repeat, reorder, pad and drop elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..operations import slicing
from ..operations.shapes import broadcast_in_dim, reshape, zeros_of
from ..operations.slicing import concatenate, rev, slice_in_dim
from ..trace.values import aval_of
from .promotion import as_dtype
from .shaping import axes_of, axis_of, broadcast_to, moveaxis, ravel, shape_of, swapaxes
from .together import together


def tile(A: Any, reps: int | Sequence[int]) -> Any:
    """The array repeated as a whole, so many times along each axis."""
    times = (reps,) if isinstance(reps, (int, np.integer)) else tuple(reps)
    return _tile(A, times=tuple(int(n) for n in times))


@together("times")
def _tile(A: Any, times: tuple[int, ...]) -> Any:
    shape = shape_of(A)
    rank = max(len(shape), len(times))
    sizes = (1,) * (rank - len(shape)) + shape
    times = (1,) * (rank - len(times)) + times
    spread = broadcast_in_dim(
        A, [n for pair in zip(times, sizes, strict=True) for n in pair], range(2 * (rank - len(shape)) + 1, 2 * rank, 2)
    )
    return reshape(spread, [n * size for n, size in zip(times, sizes, strict=True)])


def repeat(a: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None) -> Any:
    """Each element repeated, along an axis (None: of the flattened array).

    ``repeats`` is one number or one for each element; it has to be known while tracing.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.repeat(jnp.arange(3), 2))
    [0 0 1 1 2 2]
    """
    if axis is None:
        a, axis = ravel(a), 0
    axis = axis_of(axis, len(shape_of(a)))
    counts = np.asarray(repeats)
    if counts.size == 1:
        return _repeat(a, times=int(counts.reshape(())), axis=axis)
    rows = np.repeat(np.arange(shape_of(a)[axis]), counts)
    if total_repeat_length is not None:
        rows = (
            np.resize(rows, total_repeat_length)
            if len(rows) >= total_repeat_length
            else np.pad(rows, (0, total_repeat_length - len(rows)), mode="edge")
        )
    pieces = [slice_in_dim(a, int(i), int(i) + 1, axis) for i in rows]
    return concatenate(pieces, axis)


@together("times", "axis")
def _repeat(a: Any, times: int, axis: int) -> Any:
    shape = shape_of(a)
    spread = (*shape[: axis + 1], times, *shape[axis + 1 :])
    kept = [i for i in range(len(spread)) if i != axis + 1]
    return reshape(broadcast_in_dim(a, spread, kept), (*shape[:axis], shape[axis] * times, *shape[axis + 1 :]))


def flip(m: Any, axis: int | Sequence[int] | None = None) -> Any:
    """The order of elements reversed, along an axis or all."""
    rank = len(shape_of(m))
    return rev(m, tuple(range(rank)) if axis is None else axes_of(axis, rank))


def flipud(m: Any) -> Any:
    """The first axis reversed."""
    return flip(m, 0)


def fliplr(m: Any) -> Any:
    """The second axis reversed."""
    return flip(m, 1)


@together("k", "axes")
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Turned by k quarter turns in the plane of two axes."""
    first, second = axes_of(axes, len(shape_of(m)))
    turns = k % 4
    if turns == 2:
        return flip(m, (first, second))
    if turns == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second) if turns else m


def roll(a: Any, shift: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Elements moved along an axis (None: of the flattened array); what leaves at the end comes in at the front.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.roll(jnp.arange(4), 1))
    [3 0 1 2]
    """
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), shape_of(a))
    axes = axes_of(axis, len(shape_of(a)))
    steps = [int(s) for s in np.broadcast_to(np.asarray(shift), (len(axes),))]
    return _roll(a, steps=tuple(steps), axes=axes)


@together("steps", "axes")
def _roll(a: Any, steps: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    for step, axis in zip(steps, axes, strict=True):
        size = shape_of(a)[axis]
        cut = size - step % size if size else 0
        if cut != size:
            ends = slice_in_dim(a, cut, size, axis), slice_in_dim(a, 0, cut, axis)
            a = concatenate(ends, axis)
    return a


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The elements whose two indices differ by ``offset``; their axis comes last."""
    return _diagonal(a, offset=offset, axis1=axis1, axis2=axis2)


@together("offset", "axis1", "axis2")
def _diagonal(a: Any, offset: int, axis1: int, axis2: int) -> Any:
    # In row-major order diagonal elements are columns + 1 apart: cut the flattened matrices so that each begins a row.
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    *lead, rows, columns = shape_of(a)
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    start = max(-offset, 0) * columns + max(offset, 0)
    flat = reshape(a, (*lead, rows * columns))
    if not count:
        return slice_in_dim(flat, 0, 0, len(lead))
    stop = start + (count - 1) * (columns + 1) + 1
    return slice_in_dim(flat, start, stop, len(lead), columns + 1)


def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    """Elements put around: ``pad_width`` is a number, a (before, after) pair, or one pair per axis.

    Modes are constant (with ``constant_values``), edge, reflect, symmetric and wrap.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.pad(jnp.arange(1, 3), (1, 2)))
    [0 1 2 0 0]
    """
    shape = shape_of(array)
    widths = np.broadcast_to(np.asarray(pad_width), (len(shape), 2)) if shape else np.zeros((0, 2), int)
    pairs = tuple((int(low), int(high)) for low, high in widths)
    if mode == "constant":
        values = kwargs.pop("constant_values", 0)
        _no_more(kwargs)
        return _pad_constant(array, pairs, values)
    _no_more(kwargs)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise NotImplementedError(f"pad with mode={mode!r}")
    return _pad_from(array, pairs=pairs, mode=mode)


def _no_more(kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise TypeError(f"pad got the unexpected argument {next(iter(kwargs))}")


def _pad_constant(array: Any, pairs: tuple[tuple[int, int], ...], values: Any) -> Any:
    dtype = aval_of(array).dtype
    if not isinstance(values, (list, tuple)) and not shape_of(values):
        return slicing.pad(array, as_dtype(values, dtype), [(low, high, 0) for low, high in pairs])
    table = np.broadcast_to(np.asarray(values), (len(pairs), 2))
    for axis, ((low, high), (before, after)) in enumerate(zip(pairs, table, strict=True)):
        config = [(0, 0, 0)] * len(pairs)
        for value, triple in ((before, (low, 0, 0)), (after, (0, high, 0))):
            config[axis] = triple
            array = slicing.pad(array, value.astype(dtype), config)
    return array


@together("pairs", "mode")
def _pad_from(array: Any, pairs: tuple[tuple[int, int], ...], mode: str) -> Any:
    for axis, pair in enumerate(pairs):
        size = shape_of(array)[axis]
        places = np.pad(np.arange(size), pair, mode=mode)  # type: ignore[call-overload]
        array = concatenate([_run(array, axis, run) for run in _runs(places)], axis)
    return array


def _runs(places: np.ndarray[Any, Any]) -> list[tuple[int, int, int]]:
    """Consecutive places as (first, count, step) with steps of 1 or -1."""
    runs: list[tuple[int, int, int]] = []
    for place in places.tolist():
        if runs:
            first, count, step = runs[-1]
            if count == 1 and abs(place - first) == 1:
                runs[-1] = (first, 2, place - first)
                continue
            if count > 1 and place == first + count * step:
                runs[-1] = (first, count + 1, step)
                continue
        runs.append((place, 1, 1))
    return runs


def _run(array: Any, axis: int, run: tuple[int, int, int]) -> Any:
    first, count, step = run
    if step == 1:
        return slice_in_dim(array, first, first + count, axis)
    return rev(slice_in_dim(array, first - count + 1, first + 1, axis), (axis,))


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """Without the elements at static indices along an axis."""
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_of(axis, len(shape_of(arr)))
    kept = np.delete(np.arange(shape_of(arr)[axis]), np.asarray(obj) if not isinstance(obj, slice) else obj)
    return concatenate([_run(arr, axis, run) for run in _runs(kept)], axis)


@together("new_shape")
def resize(a: Any, new_shape: Any) -> Any:
    """The elements, repeated as often as needed, in another shape."""
    sizes = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    wanted, have = math.prod(sizes), aval_of(a).size
    if not wanted or not have:
        return zeros_of(aval_of(np.zeros(sizes, aval_of(a).dtype)))
    flat = concatenate([ravel(a)] * -(-wanted // have), 0)
    return reshape(slice_in_dim(flat, 0, wanted, 0), sizes)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """With values put in before a static index along an axis (None: of the flattened array)."""
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_of(axis, len(shape_of(arr)))
    size = shape_of(arr)[axis]
    place = obj + size if obj < 0 else obj
    one = tuple(1 if i == axis else n for i, n in enumerate(shape_of(arr)))
    new = broadcast_to(as_dtype(values, aval_of(arr).dtype), one)
    before, behind = slice_in_dim(arr, 0, place, axis), slice_in_dim(arr, place, size, axis)
    return concatenate([before, new, behind], axis)
