"""Functions that move, join, split and repeat elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import canonical
from ..operations import shapes
from ..trace.values import aval_of, not_an_array
from .promotion import as_dtype, to_common_dtype
from .together import together


def axis_of(axis: int, rank: int) -> int:
    """An axis number, counted from behind when negative; raises ValueError when there is none such."""
    number = axis.__index__()
    if not -rank <= number < rank:
        raise ValueError(f"axis {axis} is out of bounds for an array with {rank} axes")
    return number % rank


def axes_of(axes: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Axis numbers, none of them twice."""
    given = (axes,) if isinstance(axes, (int, np.integer)) else tuple(axes)
    found = tuple(axis_of(axis, rank) for axis in given)
    if len(set(found)) != len(found):
        raise ValueError(f"axes {given} name an axis twice")
    return found


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an operand."""
    return aval_of(x).shape


def arrays_of(arrays: Any, what: str) -> list[Any]:
    """The operands of a function that joins arrays; an array counts as the list of its rows."""
    if isinstance(arrays, (list, tuple)):
        given = list(arrays)
    else:
        given = [index_row(arrays, i) for i in range(shape_of(arrays)[0])]
    if not given:
        raise ValueError(f"{what} needs at least one array")
    for position, x in enumerate(given):
        if isinstance(x, (list, tuple)):
            raise not_an_array(x, f"argument {position} of {what},")
    return given


def index_row(x: Any, i: int) -> Any:
    """Row ``i``."""
    return shapes.squeeze(shapes.slice_in_dim(x, i, i + 1, 0), (0,))


# Shapes -------------------------------------------------------------------------------------------------------------


def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """The same elements in another shape; one size may be -1, and follows from the others.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.reshape(jnp.arange(6), (2, -1)))
    [[0 1 2]
     [3 4 5]]
    """
    if order != "C":
        if order != "F":
            raise NotImplementedError(f"reshape with order={order!r}")
        sizes = resolved(a, shape)
        return transpose(shapes.reshape(transpose(a), sizes[::-1]))
    return shapes.reshape(a, resolved(a, shape))


def resolved(a: Any, shape: Any) -> tuple[int, ...]:
    """A shape with its -1 replaced; raises TypeError when the sizes do not fit."""
    aval = aval_of(a)
    given = (shape,) if isinstance(shape, (int, np.integer)) else shape
    sizes = [size.__index__() for size in given]
    if -1 in sizes:
        rest = math.prod(size for size in sizes if size != -1)
        if sizes.count(-1) > 1:
            raise TypeError(f"reshape: only one size may be -1, got {tuple(sizes)}")
        if rest == 0:
            raise ValueError(f"reshape: the size at -1 in {tuple(sizes)} could be any, as there are no elements")
        sizes[sizes.index(-1)] = aval.size // rest
    if math.prod(sizes) != aval.size:
        raise TypeError(f"cannot reshape an array of shape {aval.shape} (size {aval.size}) to {shape}")
    return tuple(sizes)


def ravel(a: Any, order: str = "C") -> Any:
    """All elements along one axis."""
    return reshape(a, (aval_of(a).size,), order)


def transpose(a: Any, axes: Any = None) -> Any:
    """Axes permuted: axis i of the result is axis ``axes[i]``; without ``axes``, all reversed.

    >>> import xlascope.numpy as jnp
    >>> jnp.transpose(jnp.zeros((2, 3, 4)), (0, 2, 1)).shape
    (2, 4, 3)
    """
    rank = len(shape_of(a))
    order = range(rank)[::-1] if axes is None else [axis_of(axis, rank) for axis in axes]
    return shapes.transpose(a, order)


permute_dims = transpose


def matrix_transpose(x: Any, /) -> Any:
    """The last two axes exchanged."""
    rank = len(shape_of(x))
    if rank < 2:
        raise ValueError(f"matrix_transpose takes at least two axes, got shape {shape_of(x)}")
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    order = list(range(len(shape_of(a))))
    i, j = axis_of(axis1, len(order)), axis_of(axis2, len(order))
    order[i], order[j] = order[j], order[i]
    return shapes.transpose(a, order)


def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Axes moved to other places, the rest keeping their order."""
    rank = len(shape_of(a))
    sources, destinations = axes_of(source, rank), axes_of(destination, rank)
    if len(sources) != len(destinations):
        raise ValueError(f"moveaxis: {len(sources)} sources and {len(destinations)} destinations")
    order = [axis for axis in range(rank) if axis not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return shapes.transpose(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """An axis moved until it stands before ``start``."""
    rank = len(shape_of(a))
    axis, start = axis_of(axis, rank), start + rank if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Without its axes of size 1, or those of them that ``axis`` names."""
    shape = shape_of(a)
    axes = [i for i, size in enumerate(shape) if size == 1] if axis is None else axes_of(axis, len(shape))
    return shapes.squeeze(a, tuple(axes))


def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    """With new axes of size 1 at the places that ``axis`` names in the result."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return shapes.expand_dims(a, axes_of(axes, len(shape_of(a)) + len(axes)))


def atleast_1d(*arys: Any) -> Any:
    """With at least one axis."""
    made = [x if shape_of(x) else shapes.reshape(x, (1,)) for x in arys]
    return made[0] if len(made) == 1 else made


def atleast_2d(*arys: Any) -> Any:
    """With at least two axes; a vector becomes a row."""
    made = [x if len(shape_of(x)) > 1 else shapes.reshape(x, (1, aval_of(x).size)) for x in arys]
    return made[0] if len(made) == 1 else made


def atleast_3d(*arys: Any) -> Any:
    """With at least three axes; a vector becomes (1, n, 1), a matrix (m, n, 1)."""
    made = []
    for x in arys:
        shape = shape_of(x)
        sizes = {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}.get(len(shape), shape)
        made.append(shapes.reshape(x, sizes))
    return made[0] if len(made) == 1 else made


def broadcast_to(array: Any, shape: Any) -> Any:
    """Spread over a shape whose last axes fit.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.broadcast_to(jnp.arange(2), (2, 2)))
    [[0 1]
     [0 1]]
    """
    sizes = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(size) for size in shape)
    own = shape_of(array)
    if own == sizes:
        return array if hasattr(array, "aval") else as_dtype(array, aval_of(array).dtype)
    new = len(sizes) - len(own)
    if new < 0 or any(size not in (1, wanted) for size, wanted in zip(own, sizes[new:], strict=True)):
        raise ValueError(f"an array of shape {own} cannot be broadcast to {sizes}")
    kept = [i for i, size in enumerate(own) if size == sizes[new + i]]
    dropped = tuple(i for i in range(len(own)) if i not in kept)
    return shapes.broadcast_in_dim(shapes.squeeze(array, dropped), sizes, [new + i for i in kept])


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape in which arrays of those shapes meet."""
    return np.broadcast_shapes(*(tuple(s) if not isinstance(s, int) else s for s in shapes))


def broadcast_arrays(*args: Any) -> list[Any]:
    """Arrays spread over the shape in which they meet."""
    shape = np.broadcast_shapes(*(shape_of(x) for x in args))
    return [broadcast_to(x, shape) for x in args]


# Joining and splitting ----------------------------------------------------------------------------------------------


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Arrays joined along an axis (None: all flattened).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.concatenate([jnp.arange(2), jnp.ones(2)]))
    [0. 1. 1. 1.]
    """
    given = _in_dtype(arrays_of(arrays, "concatenate"), dtype)
    if axis is None:
        return shapes.concatenate([ravel(x) for x in given], 0)
    rank = len(shape_of(given[0]))
    if rank == 0:
        raise ValueError("arrays without axes cannot be concatenated; use stack")
    return shapes.concatenate(given, axis_of(axis, rank))


concat = concatenate


def _in_dtype(arrays: list[Any], dtype: Any) -> list[Any]:
    if dtype is None:
        return to_common_dtype(arrays)
    return [as_dtype(x, canonical(dtype)) for x in arrays]


@together("axis", "dtype")
def _stack(arrays: list[Any], axis: int, dtype: Any) -> Any:
    given = _in_dtype(arrays, dtype)
    shape = shape_of(given[0])
    for x in given[1:]:
        if shape_of(x) != shape:
            raise ValueError(f"stack takes arrays of one shape, got {shape} and {shape_of(x)}")
    place = axis_of(axis, len(shape) + 1)
    return shapes.concatenate([shapes.expand_dims(x, (place,)) for x in given], place)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Arrays of one shape joined along a new axis.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.stack([jnp.zeros(2), jnp.ones(2)]))
    [[0. 0.]
     [1. 1.]]
    """
    return _stack(arrays_of(arrays, "stack"), axis=axis, dtype=dtype)


def vstack(tup: Any, dtype: Any = None) -> Any:
    """Rows on top of each other."""
    return concatenate([atleast_2d(x) for x in arrays_of(tup, "vstack")], 0, dtype)


def hstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays side by side: along the second axis, vectors along their only one."""
    given = [atleast_1d(x) for x in arrays_of(tup, "hstack")]
    return concatenate(given, 0 if len(shape_of(given[0])) == 1 else 1, dtype)


def dstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays behind each other, along the third axis."""
    return concatenate([atleast_3d(x) for x in arrays_of(tup, "dstack")], 2, dtype)


def column_stack(tup: Any) -> Any:
    """Vectors as the columns of a matrix."""
    given = arrays_of(tup, "column_stack")
    return concatenate([shapes.reshape(x, (aval_of(x).size, 1)) if len(shape_of(x)) < 2 else x for x in given], 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Arrays joined, flattened unless an axis is given."""
    return concatenate([arr, values], axis)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Cut along an axis: into equal parts, or at indices.

    >>> import xlascope.numpy as jnp
    >>> [x.shape for x in jnp.split(jnp.arange(7), [2, 3])]
    [(2,), (1,), (4,)]
    """
    return _split(ary, indices_or_sections, axis, equal=True)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Like :func:`split`; the first parts are longer by one where the size is no multiple."""
    return _split(ary, indices_or_sections, axis, equal=False)


def _split(ary: Any, where: Any, axis: int, equal: bool) -> list[Any]:
    shape = shape_of(ary)
    axis = axis_of(axis, len(shape))
    size = shape[axis]
    if isinstance(where, (int, np.integer)):
        if equal and size % where:
            raise ValueError(f"split: {size} elements cannot be cut into {where} equal parts; array_split can")
        whole, rest = divmod(size, int(where))
        cuts = [i * whole + min(i, rest) for i in range(1, int(where))]
    else:
        cuts = [slice(int(i)).indices(size)[1] for i in where]
    bounds = [0, *cuts, size]
    pairs = itertools.pairwise(bounds)
    return [shapes.slice_in_dim(ary, start, max(start, stop), axis) for start, stop in pairs]


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut along the first axis."""
    return split(ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut along the second axis, a vector along its only one."""
    return split(ary, indices_or_sections, 0 if len(shape_of(ary)) == 1 else 1)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis."""
    moved = moveaxis(x, axis, 0)
    return tuple(index_row(moved, i) for i in range(shape_of(moved)[0]))


# Repeating and reordering -------------------------------------------------------------------------------------------


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
    spread = shapes.broadcast_in_dim(
        A, [n for pair in zip(times, sizes, strict=True) for n in pair], range(2 * (rank - len(shape)) + 1, 2 * rank, 2)
    )
    return shapes.reshape(spread, [n * size for n, size in zip(times, sizes, strict=True)])


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
    pieces = [shapes.slice_in_dim(a, int(i), int(i) + 1, axis) for i in rows]
    return shapes.concatenate(pieces, axis)


@together("times", "axis")
def _repeat(a: Any, times: int, axis: int) -> Any:
    shape = shape_of(a)
    spread = (*shape[: axis + 1], times, *shape[axis + 1 :])
    kept = [i for i in range(len(spread)) if i != axis + 1]
    return shapes.reshape(
        shapes.broadcast_in_dim(a, spread, kept), (*shape[:axis], shape[axis] * times, *shape[axis + 1 :])
    )


def flip(m: Any, axis: int | Sequence[int] | None = None) -> Any:
    """The order of elements reversed, along an axis or all."""
    rank = len(shape_of(m))
    return shapes.rev(m, tuple(range(rank)) if axis is None else axes_of(axis, rank))


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
        return shapes.reshape(roll(ravel(a), shift, 0), shape_of(a))
    axes = axes_of(axis, len(shape_of(a)))
    steps = [int(s) for s in np.broadcast_to(np.asarray(shift), (len(axes),))]
    return _roll(a, steps=tuple(steps), axes=axes)


@together("steps", "axes")
def _roll(a: Any, steps: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    for step, axis in zip(steps, axes, strict=True):
        size = shape_of(a)[axis]
        cut = size - step % size if size else 0
        if cut != size:
            ends = shapes.slice_in_dim(a, cut, size, axis), shapes.slice_in_dim(a, 0, cut, axis)
            a = shapes.concatenate(ends, axis)
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
    flat = shapes.reshape(a, (*lead, rows * columns))
    if not count:
        return shapes.slice_in_dim(flat, 0, 0, len(lead))
    stop = start + (count - 1) * (columns + 1) + 1
    return shapes.slice_in_dim(flat, start, stop, len(lead), columns + 1)


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
        return shapes.pad(array, as_dtype(values, dtype), [(low, high, 0) for low, high in pairs])
    table = np.broadcast_to(np.asarray(values), (len(pairs), 2))
    for axis, ((low, high), (before, after)) in enumerate(zip(pairs, table, strict=True)):
        config = [(0, 0, 0)] * len(pairs)
        for value, triple in ((before, (low, 0, 0)), (after, (0, high, 0))):
            config[axis] = triple
            array = shapes.pad(array, value.astype(dtype), config)
    return array


@together("pairs", "mode")
def _pad_from(array: Any, pairs: tuple[tuple[int, int], ...], mode: str) -> Any:
    for axis, pair in enumerate(pairs):
        size = shape_of(array)[axis]
        places = np.pad(np.arange(size), pair, mode=mode)  # type: ignore[call-overload]
        array = shapes.concatenate([_run(array, axis, run) for run in _runs(places)], axis)
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
        return shapes.slice_in_dim(array, first, first + count, axis)
    return shapes.rev(shapes.slice_in_dim(array, first - count + 1, first + 1, axis), (axis,))


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """Without the elements at static indices along an axis."""
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_of(axis, len(shape_of(arr)))
    kept = np.delete(np.arange(shape_of(arr)[axis]), np.asarray(obj) if not isinstance(obj, slice) else obj)
    return shapes.concatenate([_run(arr, axis, run) for run in _runs(kept)], axis)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut along the third axis."""
    return split(ary, indices_or_sections, 2)


@together("new_shape")
def resize(a: Any, new_shape: Any) -> Any:
    """The elements, repeated as often as needed, in another shape."""
    sizes = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    wanted, have = math.prod(sizes), aval_of(a).size
    if not wanted or not have:
        return shapes.zeros_of(aval_of(np.zeros(sizes, aval_of(a).dtype)))
    flat = shapes.concatenate([ravel(a)] * -(-wanted // have), 0)
    return shapes.reshape(shapes.slice_in_dim(flat, 0, wanted, 0), sizes)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """With values put in before a static index along an axis (None: of the flattened array)."""
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_of(axis, len(shape_of(arr)))
    size = shape_of(arr)[axis]
    place = obj + size if obj < 0 else obj
    one = tuple(1 if i == axis else n for i, n in enumerate(shape_of(arr)))
    new = broadcast_to(as_dtype(values, aval_of(arr).dtype), one)
    before, behind = shapes.slice_in_dim(arr, 0, place, axis), shapes.slice_in_dim(arr, place, size, axis)
    return shapes.concatenate([before, new, behind], axis)
