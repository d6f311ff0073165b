"""``x[index]``: integers, slices, None, Ellipsis, integer arrays and concrete masks.

An index is parsed into a static *form*, which has an item for each axis, and dynamic *operands*. Outside of
any trace, start positions are operands, so that one compiled program serves ``x[0]``, ``x[1]``, ``x[2]``…;
inside a trace static items stay static, and become ``slice`` and ``squeeze``. Indices out of bounds are
clamped, as in JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..control.jit.arguments import Options
from ..control.jit.functions import jit_function
from ..dtypes import kind_of
from ..ir.avals import shaped, strengthened
from ..operations import indexing, slicing
from ..operations.arithmetic import add
from ..operations.bits import bitwise_and
from ..operations.comparisons import ge, lt
from ..operations.conversion import convert_element_type
from ..operations.dynamic_slicing import dynamic_slice
from ..operations.indexing import gather
from ..operations.selection import select
from ..operations.shapes import broadcast_in_dim, expand_dims, squeeze, zeros_of
from ..operations.slicing import concatenate, rev
from ..recent import Recent
from ..trace.state import STATE
from ..trace.traceback_filtering import filter_traceback
from ..trace.values import aval_of
from ..xla.arrays.transfers import put
from .chains import Chain, apply, chain
from .index_forms import At, Block, Form, Item, Keep, New, Rows, Scalar, nothing_there, parse
from .together import together


def getitem(x: Any, index: Any) -> Any:
    r"""Return ``x[index]``.

    >>> import xlascope.numpy as jnp
    >>> x = jnp.arange(12).reshape(3, 4)
    >>> print(x[1, ::-1], x[-1, 0], x[jnp.array([2, 0]), 1:3], sep="\n")
    [7 6 5 4]
    8
    [[ 9 10]
     [ 1  2]]
    """
    try:
        if STATE.trace is None and x.shape:
            if index.__class__ is int:
                return _row(x, _place(index))
            if index.__class__ is slice:
                return _slab(x, index)
        return _general(x, index)
    except BaseException as error:
        filter_traceback(error)
        raise


_Key = tuple[tuple[int, ...], tuple[Any, ...]]
_chains: Recent[_Key, Chain] = Recent(2048)


def _key(shape: tuple[int, ...], index: Any) -> _Key | None:
    """Return the cache key of a static index; None if it is dynamic, or out of bounds."""
    parts: list[Any] = []
    index_parts = index if index.__class__ is tuple else (index,)
    sizes = iter(shape)
    for position, part in enumerate(index_parts):
        kind = part.__class__
        if part is Ellipsis:
            behind = sum(item is not None for item in index_parts[position + 1 :])
            sizes = iter(shape[max(0, len(shape) - behind) :])
        elif part is not None:
            size = next(sizes, 0)
            if kind is int and not -size <= part < size:
                return None
        if kind is slice:
            bounds = part.start, part.stop, part.step
            if not all(bound is None or bound.__class__ is int for bound in bounds):
                return None
            parts.append(bounds)
        elif kind is int or part is None or part is Ellipsis:
            parts.append(part)
        else:
            return None
    return shape, tuple(parts)


def _general(x: Any, index: Any) -> Any:
    if STATE.trace is None:
        return _parsed(x, index, eager=True)
    key = _key(x.shape, index)
    if key is None:
        return _parsed(x, index, eager=False)
    operations = _chains.get(key)
    if operations is None:
        operations = _chains.again(key)
    if operations is None:
        operations = _chains.keep(key, chain(lambda v: _parsed(v, index, eager=False), strengthened(x.aval)))
    return apply(operations, x)


def _parsed(x: Any, index: Any, *, eager: bool) -> Any:
    form, operands = parse(x.shape, index, eager=eager)
    if not operands and is_everything(form, x.shape):
        return x
    return _taken(x, operands, form=form) if eager else taken(x, operands, form)


def is_everything(form: Form, shape: tuple[int, ...]) -> bool:
    """Return whether a form without operands selects all elements in order and adds no axis."""
    return form == tuple(Keep(0, size, 1) for size in shape)


def _one_row(x: Any, i: Any) -> Any:
    return taken(x, [i], (Scalar(), *(Keep(0, size, 1) for size in x.shape[1:])))


_one_row.__name__ = "row"
_row = jit_function(_one_row, Options())
_slabs: Recent[int, Any] = Recent(128)
_FAR, _MOST_PLACES = 2**31 - 1, 1024
#: Cache of indices on the device, which saves a transfer for each use. It holds the first ones that are requested:
#: with eviction, a loop over more indices would transfer each of them and never hit.
_places: dict[int, Any] = {}


def _place(index: int) -> Any:
    device_value = _places.get(index)
    if device_value is None:
        value = np.int32(min(max(index, -_FAR), _FAR))
        if len(_places) >= _MOST_PLACES:
            return value
        device_value = _places[index] = put(value, aval_of(value))
    return device_value


def _slab(x: Any, index: slice) -> Any:
    """Return ``x[start:stop]`` outside of any trace, with one program for all slices of one length."""
    size = x.shape[0]
    start, stop, step = index.indices(size)
    length = stop - start
    if step != 1 or not 0 < length < size:
        return _general(x, index)
    run = _slabs.get(length) or _slabs.again(length)
    if run is None:
        run = _slabs.keep(length, jit_function(_slab_of(length), Options()))
    return run(x, _place(start))


def _slab_of(length: int) -> Callable[[Any, Any], Any]:
    def rows(x: Any, i: Any) -> Any:
        return taken(x, [i], (Block(length), *(Keep(0, size, 1) for size in x.shape[1:])))

    return rows


def taken(x: Any, operands: Sequence[Any], form: Form) -> Any:
    """Return the elements that a form and its operands select."""
    x = sliced(x, form)
    if any(isinstance(item, Rows) for item in form):
        x = expand_dims(x, new_axes(form))
        indices, axes, result_axis = index_rows(x, operands, form)
        return gathered(x, indices, axes, result_axis)
    if operands:
        x = _blocks(x, operands, form)
    indexed_items = [item for item in form if not isinstance(item, New)]
    x = squeeze(x, tuple(i for i, item in enumerate(indexed_items) if isinstance(item, (At, Scalar))))
    result = [item for item in form if not isinstance(item, (At, Scalar))]
    return expand_dims(x, tuple(i for i, item in enumerate(result) if isinstance(item, New)))


_taken = together("form")(taken)


def new_axes(form: Form) -> tuple[int, ...]:
    """Return the positions of a form's new axes, counted among all its axes."""
    return tuple(i for i, item in enumerate(form) if isinstance(item, New))


def sliced(x: Any, form: Form) -> Any:
    """Apply the static items of a form: slices, and elements at static positions, whose axes are kept."""
    shape = aval_of(x).shape
    items = [item for item in form if not isinstance(item, New)]
    bounds = [bounds_of(item, size) for item, size in zip(items, shape, strict=True)]
    if any(bound != (0, size, 1) for bound, size in zip(bounds, shape, strict=True)):
        starts, limits, steps = zip(*bounds, strict=True)
        x = slicing.slice(x, starts, limits, steps)
    flipped = backwards(form)
    return rev(x, flipped) if flipped else x


def backwards(form: Form) -> tuple[int, ...]:
    """Return the operand's axes that a form reverses."""
    items = [item for item in form if not isinstance(item, New)]
    return tuple(i for i, item in enumerate(items) if isinstance(item, Keep) and item.step < 0)


def bounds_of(item: Item, size: int) -> tuple[int, int, int]:
    """Return start, limit and stride of a static item; for a reversed slice, start is its lower end."""
    if isinstance(item, At):
        if size == 0:
            raise nothing_there()
        position = min(max(item.place, 0), size - 1)
        return position, position + 1, 1
    if not isinstance(item, Keep):
        return 0, size, 1
    if item.length == 0:
        return 0, 0, 1
    last = item.start + (item.length - 1) * item.step
    low, high = min(item.start, last), max(item.start, last)
    return low, high + 1, 1 if item.length == 1 else max(item.step, -item.step)


def _blocks(x: Any, operands: Sequence[Any], form: Form) -> Any:
    shape = aval_of(x).shape
    remaining_operands = iter(operands)
    starts: list[Any] = []
    sizes: list[int] = []
    for item, size in zip((item for item in form if not isinstance(item, New)), shape, strict=True):
        if isinstance(item, Scalar):
            if size == 0:
                raise nothing_there()
            starts.append(from_behind(next(remaining_operands), size))
            sizes.append(1)
        elif isinstance(item, Block):
            starts.append(as_index(next(remaining_operands)))
            sizes.append(item.length)
        else:
            starts.append(0)
            sizes.append(size)
    return dynamic_slice(x, _one_dtype(starts), sizes)


def _one_dtype(starts: list[Any]) -> list[Any]:
    """Return the start indices of a dynamic slice in one integer dtype."""
    dtypes = {aval_of(s).dtype for s in starts if s.__class__ is not int}
    dtype = dtypes.pop() if len(dtypes) == 1 else np.dtype("int32")
    return [dtype.type(s) if s.__class__ is int else convert_element_type(s, dtype) for s in starts]


def as_index(i: Any) -> Any:
    """Return an integer operand in a dtype that XLA accepts for an index."""
    aval = aval_of(i)
    if isinstance(i, (int, np.integer)):
        return np.int32(i)
    if isinstance(i, np.ndarray):
        return i.astype(np.int32)
    return convert_element_type(i, np.int32) if aval.dtype.itemsize < 4 or aval.weak_type else i


def from_behind(i: Any, size: int) -> Any:
    """Return indices with negative ones replaced by their distance from the start."""
    i = as_index(i)
    if isinstance(i, (np.ndarray, np.generic)):
        values = np.asarray(i)
        return np.where(values < 0, values + size, values).astype(np.int32)
    if kind_of(aval_of(i).dtype) == "u":
        return i
    return select(lt(i, 0), add(i, size), i)


def within(i: Any, size: int) -> Any:
    """Return whether indices, of which negative ones count from the end, are in bounds."""
    i = as_index(i)
    below = lt(i, size)
    return below if kind_of(aval_of(i).dtype) == "u" else bitwise_and(ge(i, -size), below)


# Index arrays -------------------------------------------------------------------------------------------------------


def index_rows(x: Any, operands: Sequence[Any], form: Form) -> tuple[Any, tuple[int, ...], int]:
    """Return the coordinates for a gather or scatter, the axes of ``x`` they index, and their first result axis.

    The form's new axes are in ``x`` already, and its static slices are applied; elements at static positions are
    coordinates, too.
    """
    shape = aval_of(x).shape
    remaining_operands = iter(operands)
    columns: list[Any] = []
    axes: list[int] = []
    for axis, item in enumerate(form):
        if isinstance(item, (Rows, Scalar)):
            columns.append(from_behind(next(remaining_operands), shape[axis]))
            axes.append(axis)
        elif isinstance(item, At):
            columns.append(np.int32(0))
            axes.append(axis)
    is_contiguous = axes == list(range(axes[0], axes[-1] + 1))
    return coordinates(columns), tuple(axes), axes[0] if is_contiguous else 0


def coordinates(columns: Sequence[Any]) -> Any:
    """Return broadcast index arrays as the coordinates of a gather, stacked along a last axis."""
    shape = np.broadcast_shapes(*(aval_of(c).shape for c in columns))
    dtype = np.dtype("int32")
    broadcast_columns = []
    for c in columns:
        index_shape = aval_of(c).shape
        c = c.astype(dtype) if isinstance(c, (np.ndarray, np.generic)) else convert_element_type(c, dtype)
        lead = len(shape) - len(index_shape)
        broadcast_columns.append(broadcast_in_dim(c, (*shape, 1), range(lead, len(shape))))
    return concatenate(broadcast_columns, len(shape))


def window_axes(rank: int, indices: Any, axes: tuple[int, ...], result_axis: int) -> tuple[int, ...]:
    """Return the axes of a gather's result that come from the operand and not from the indices."""
    count = len(aval_of(indices).shape) - 1
    total = rank - len(axes) + count
    return tuple(axis for axis in range(total) if not result_axis <= axis < result_axis + count)


def gathered(x: Any, indices: Any, axes: tuple[int, ...], result_axis: int) -> Any:
    """Return the elements of ``x`` at coordinates for ``axes``; the indices' axes start at ``result_axis``."""
    shape = aval_of(x).shape
    sizes = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    numbers = indexing.GatherDimensionNumbers(window_axes(len(shape), indices, axes, result_axis), axes, axes)
    if any(shape[axis] == 0 for axis in axes):
        if aval_of(indices).size:
            raise nothing_there()
        index_shape = aval_of(indices).shape[:-1]
        window = [size for axis, size in enumerate(shape) if axis not in axes]
        return zeros_of(shaped((*window[:result_axis], *index_shape, *window[result_axis:]), aval_of(x).dtype))
    return gather(x, indices, numbers, sizes)
