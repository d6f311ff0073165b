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

from ..control.jit.arguments import JitOptions
from ..control.jit.jit_function import jit_function
from ..dtypes import dtype_kind
from ..ir.avals import make_aval, strip_weak_type
from ..lru_cache import FastLRUCache
from ..operations import indexing, slicing
from ..operations.arithmetic import add
from ..operations.bits import bitwise_and
from ..operations.comparisons import ge, lt
from ..operations.conversion import convert_element_type, to_dtype
from ..operations.dynamic_slicing import dynamic_slice
from ..operations.indexing import gather
from ..operations.selection import select
from ..operations.shapes import broadcast_in_dim, expand_dims, squeeze, zeros_of
from ..operations.slicing import concatenate, rev
from ..trace.state import STATE
from ..trace.traceback_filtering import filter_traceback
from ..trace.values import aval_of
from ..xla.arrays.transfers import put_on_device
from .index_parsing import (
    DynamicIndexItem,
    DynamicSliceItem,
    IndexArrayItem,
    IndexForm,
    IndexItem,
    NewAxisItem,
    StaticIndexItem,
    StaticSliceItem,
    empty_axis_error,
    parse_index,
)
from .jit_wrapped import jit_wrapped
from .unary_op_chains import OpChain, apply_chain, record_chain


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
                return _jit_take_row(x, _device_index(index))
            if index.__class__ is slice:
                return _getitem_leading_slice(x, index)
        return _getitem_general(x, index)
    except BaseException as error:
        filter_traceback(error)
        raise


_IndexKey = tuple[tuple[int, ...], tuple[Any, ...]]
_op_chains: FastLRUCache[_IndexKey, OpChain] = FastLRUCache(2048)


def _static_index_key(shape: tuple[int, ...], index: Any) -> _IndexKey | None:
    """Return the cache key of a static index into an array of ``shape``; None if it is dynamic or out of bounds."""
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


def _getitem_general(x: Any, index: Any) -> Any:
    """Return ``x[index]`` for any index; while tracing, the op chain of a static index is recorded once."""
    if STATE.trace is None:
        return _getitem_by_form(x, index, eager=True)
    key = _static_index_key(x.shape, index)
    if key is None:
        return _getitem_by_form(x, index, eager=False)
    operations = _op_chains.get(key)
    if operations is None:
        operations = _op_chains.promote(key)
    if operations is None:
        operations = _op_chains.insert(
            key, record_chain(lambda v: _getitem_by_form(v, index, eager=False), strip_weak_type(x.aval))
        )
    return apply_chain(operations, x)


def _getitem_by_form(x: Any, index: Any, *, eager: bool) -> Any:
    form, operands = parse_index(x.shape, index, eager=eager)
    if not operands and is_identity(form, x.shape):
        return x
    return _jit_take_by_form(x, operands, form=form) if eager else take_by_form(x, operands, form)


def is_identity(form: IndexForm, shape: tuple[int, ...]) -> bool:
    """Return whether a form without operands selects all elements of an array of ``shape``, in order and shape."""
    return form == tuple(StaticSliceItem(0, size, 1) for size in shape)


def _take_row(x: Any, i: Any) -> Any:
    return take_by_form(x, [i], (DynamicIndexItem(), *(StaticSliceItem(0, size, 1) for size in x.shape[1:])))


_take_row.__name__ = "row"
_jit_take_row = jit_function(_take_row, JitOptions())
_slice_programs: FastLRUCache[int, Any] = FastLRUCache(128)
_INT32_MAX, _MAX_DEVICE_INDICES = 2**31 - 1, 1024
#: Cache of indices on the device, which saves a transfer for each use. It holds the first ones that are requested:
#: with eviction, a loop over more indices would transfer each of them and never hit.
_device_indices: dict[int, Any] = {}


def _device_index(index: int) -> Any:
    device_value = _device_indices.get(index)
    if device_value is None:
        value = np.int32(min(max(index, -_INT32_MAX), _INT32_MAX))
        if len(_device_indices) >= _MAX_DEVICE_INDICES:
            return value
        device_value = _device_indices[index] = put_on_device(value, aval_of(value))
    return device_value


def _getitem_leading_slice(x: Any, index: slice) -> Any:
    """Return ``x[start:stop]`` outside of any trace, with one program for all slices of the same length."""
    size = x.shape[0]
    start, stop, step = index.indices(size)
    length = stop - start
    if step != 1 or not 0 < length < size:
        return _getitem_general(x, index)
    run = _slice_programs.get(length) or _slice_programs.promote(length)
    if run is None:
        run = _slice_programs.insert(length, jit_function(_make_row_slicer(length), JitOptions()))
    return run(x, _device_index(start))


def _make_row_slicer(length: int) -> Callable[[Any, Any], Any]:
    def rows(x: Any, i: Any) -> Any:
        return take_by_form(x, [i], (DynamicSliceItem(length), *(StaticSliceItem(0, size, 1) for size in x.shape[1:])))

    return rows


def take_by_form(x: Any, operands: Sequence[Any], form: IndexForm) -> Any:
    """Return the elements of ``x`` that an index selects.

    ``form`` and ``operands`` are the results of :func:`parse_index`.
    """
    x = apply_static_items(x, form)
    if any(isinstance(item, IndexArrayItem) for item in form):
        x = expand_dims(x, new_axes(form))
        indices, axes, result_axis = gather_coordinates(x, operands, form)
        return gather_elements(x, indices, axes, result_axis)
    if operands:
        x = _dynamic_slice_by_form(x, operands, form)
    indexed_items = [item for item in form if not isinstance(item, NewAxisItem)]
    x = squeeze(
        x, tuple(i for i, item in enumerate(indexed_items) if isinstance(item, (StaticIndexItem, DynamicIndexItem)))
    )
    result = [item for item in form if not isinstance(item, (StaticIndexItem, DynamicIndexItem))]
    return expand_dims(x, tuple(i for i, item in enumerate(result) if isinstance(item, NewAxisItem)))


_jit_take_by_form = jit_wrapped("form")(take_by_form)


def new_axes(form: IndexForm) -> tuple[int, ...]:
    """Return the positions of the new axes among a form's items."""
    return tuple(i for i, item in enumerate(form) if isinstance(item, NewAxisItem))


def apply_static_items(x: Any, form: IndexForm) -> Any:
    """Apply the static items of a form: slices, and elements at static positions, whose axes get size 1.

    Dynamic items and new axes are left to the caller.
    """
    shape = aval_of(x).shape
    items = [item for item in form if not isinstance(item, NewAxisItem)]
    bounds = [bounds_of(item, size) for item, size in zip(items, shape, strict=True)]
    if any(bound != (0, size, 1) for bound, size in zip(bounds, shape, strict=True)):
        starts, limits, steps = zip(*bounds, strict=True)
        x = slicing.slice(x, starts, limits, steps)
    flipped = reversed_axes(form)
    return rev(x, flipped) if flipped else x


def reversed_axes(form: IndexForm) -> tuple[int, ...]:
    """Return the operand's axes that a form reverses, by slices with a negative step."""
    items = [item for item in form if not isinstance(item, NewAxisItem)]
    return tuple(i for i, item in enumerate(items) if isinstance(item, StaticSliceItem) and item.step < 0)


def bounds_of(item: IndexItem, size: int) -> tuple[int, int, int]:
    """Return the start, limit and stride that a static item selects from an axis of ``size`` elements.

    A reversed slice gives those of its elements in ascending order; a static position is clamped to the axis; a
    dynamic item gives the whole axis.
    """
    if isinstance(item, StaticIndexItem):
        if size == 0:
            raise empty_axis_error()
        position = min(max(item.position, 0), size - 1)
        return position, position + 1, 1
    if not isinstance(item, StaticSliceItem):
        return 0, size, 1
    if item.length == 0:
        return 0, 0, 1
    last = item.start + (item.length - 1) * item.step
    low, high = min(item.start, last), max(item.start, last)
    return low, high + 1, 1 if item.length == 1 else max(item.step, -item.step)


def _dynamic_slice_by_form(x: Any, operands: Sequence[Any], form: IndexForm) -> Any:
    """Return the dynamic slice for a form's dynamic indices and slices; the axes of indices get size 1."""
    shape = aval_of(x).shape
    remaining_operands = iter(operands)
    starts: list[Any] = []
    sizes: list[int] = []
    for item, size in zip((item for item in form if not isinstance(item, NewAxisItem)), shape, strict=True):
        if isinstance(item, DynamicIndexItem):
            if size == 0:
                raise empty_axis_error()
            starts.append(normalize_negative(next(remaining_operands), size))
            sizes.append(1)
        elif isinstance(item, DynamicSliceItem):
            starts.append(as_index(next(remaining_operands)))
            sizes.append(item.length)
        else:
            starts.append(0)
            sizes.append(size)
    return dynamic_slice(x, _to_common_index_dtype(starts), sizes)


def _to_common_index_dtype(starts: list[Any]) -> list[Any]:
    """Return the start indices of a dynamic slice in one integer dtype, int32 if theirs differ."""
    dtypes = {aval_of(s).dtype for s in starts if s.__class__ is not int}
    dtype = dtypes.pop() if len(dtypes) == 1 else np.dtype("int32")
    return [dtype.type(s) if s.__class__ is int else to_dtype(s, dtype) for s in starts]


def as_index(i: Any) -> Any:
    """Return an integer operand in a dtype that XLA accepts for an index.

    Python integers, NumPy arrays, weakly typed and narrow operands become int32; others keep their dtype.
    """
    aval = aval_of(i)
    if isinstance(i, (int, np.integer)):
        return np.int32(i)
    if isinstance(i, np.ndarray):
        return i.astype(np.int32)
    return convert_element_type(i, np.int32) if aval.dtype.itemsize < 4 or aval.weak_type else i


def normalize_negative(i: Any, size: int) -> Any:
    """Return indices into an axis of ``size`` elements, with ``size`` added to negative ones."""
    i = as_index(i)
    if isinstance(i, (np.ndarray, np.generic)):
        values = np.asarray(i)
        return np.where(values < 0, values + size, values).astype(np.int32)
    if dtype_kind(aval_of(i).dtype) == "u":
        return i
    return select(lt(i, 0), add(i, size), i)


def is_in_bounds(i: Any, size: int) -> Any:
    """Return a boolean mask of the indices that are in bounds of an axis of ``size`` elements.

    Negative indices count from the end: the bounds are ``-size <= i < size``.
    """
    i = as_index(i)
    below = lt(i, size)
    return below if dtype_kind(aval_of(i).dtype) == "u" else bitwise_and(ge(i, -size), below)


# Index arrays -------------------------------------------------------------------------------------------------------


def gather_coordinates(x: Any, operands: Sequence[Any], form: IndexForm) -> tuple[Any, tuple[int, ...], int]:
    """Return the coordinates for a gather or scatter, the axes of ``x`` they index, and their first result axis.

    ``x`` already has the form's new axes, and its static items are applied, so that static positions have the
    coordinate 0. The coordinates are int32, stacked along a last axis. The first result axis is 0 if the indexed
    axes are not adjacent, as in NumPy.
    """
    shape = aval_of(x).shape
    remaining_operands = iter(operands)
    columns: list[Any] = []
    axes: list[int] = []
    for axis, item in enumerate(form):
        if isinstance(item, (IndexArrayItem, DynamicIndexItem)):
            columns.append(normalize_negative(next(remaining_operands), shape[axis]))
            axes.append(axis)
        elif isinstance(item, StaticIndexItem):
            columns.append(np.int32(0))
            axes.append(axis)
    is_contiguous = axes == list(range(axes[0], axes[-1] + 1))
    return stack_coordinates(columns), tuple(axes), axes[0] if is_contiguous else 0


def stack_coordinates(columns: Sequence[Any]) -> Any:
    """Broadcast index arrays, one for each indexed axis, and stack them along a last axis as int32."""
    shape = np.broadcast_shapes(*(aval_of(c).shape for c in columns))
    dtype = np.dtype("int32")
    broadcast_columns = []
    for c in columns:
        index_shape = aval_of(c).shape
        c = c.astype(dtype) if isinstance(c, (np.ndarray, np.generic)) else to_dtype(c, dtype)
        lead = len(shape) - len(index_shape)
        broadcast_columns.append(broadcast_in_dim(c, (*shape, 1), range(lead, len(shape))))
    return concatenate(broadcast_columns, len(shape))


def window_axes(rank: int, indices: Any, axes: tuple[int, ...], result_axis: int) -> tuple[int, ...]:
    """Return the axes of a gather's result that come from the operand and not from the indices.

    ``rank`` is that of the operand, ``axes`` are its indexed axes, ``indices`` the stacked coordinates, whose
    axes start at ``result_axis`` of the result.
    """
    count = len(aval_of(indices).shape) - 1
    total = rank - len(axes) + count
    return tuple(axis for axis in range(total) if not result_axis <= axis < result_axis + count)


def gather_elements(x: Any, indices: Any, axes: tuple[int, ...], result_axis: int) -> Any:
    """Return the elements of ``x`` at ``indices``, which holds coordinates for ``axes`` along its last axis.

    The other axes of ``indices`` start at axis ``result_axis`` of the result. Raises IndexError for an indexed
    axis of size 0, unless there are no indices.
    """
    shape = aval_of(x).shape
    sizes = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    numbers = indexing.GatherDimensionNumbers(window_axes(len(shape), indices, axes, result_axis), axes, axes)
    if any(shape[axis] == 0 for axis in axes):
        if aval_of(indices).size:
            raise empty_axis_error()
        index_shape = aval_of(indices).shape[:-1]
        window = [size for axis, size in enumerate(shape) if axis not in axes]
        return zeros_of(make_aval((*window[:result_axis], *index_shape, *window[result_axis:]), aval_of(x).dtype))
    return gather(x, indices, numbers, sizes)
