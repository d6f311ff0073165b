"""Slices at dynamic positions, gather and scatter."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..control.flow.loop_api import while_loop
from ..dtypes import dtype_kind
from ..operations import arithmetic, dynamic_slicing, indexing, scattering
from ..operations.comparisons import gt, lt
from ..operations.conversion import to_dtype
from ..operations.integer_arguments import axis_of, whole_number, whole_numbers
from ..operations.operand_values import match, typed_scalar
from ..operations.reductions import reduce_max
from ..operations.selection import select
from ..operations.shapes import expand_dims, full, squeeze
from ..operations.slicing import concatenate, slice_in_dim
from ..trace.bind import bind1
from ..trace.source import here
from ..trace.values import aval_of

GatherDimensionNumbers = indexing.GatherDimensionNumbers
ScatterDimensionNumbers = indexing.ScatterDimensionNumbers
Negative = bool | Sequence[bool]


class GatherScatterMode(enum.Enum):
    """Treatment of indices that are out of bounds: clamp, drop or fill, or assume that there are none."""

    CLIP = "clip"
    FILL_OR_DROP = "drop"
    PROMISE_IN_BOUNDS = "promise_in_bounds"

    @staticmethod
    def from_any(s: Any) -> GatherScatterMode:
        """Return the mode for its name, a mode, or None (``FILL_OR_DROP``); raises ValueError for others."""
        if isinstance(s, GatherScatterMode):
            return s
        name = "drop" if s is None or s == "fill" else s
        if name not in ("clip", "drop", "promise_in_bounds"):
            raise ValueError(f'a mode is "clip", "drop", "fill" or "promise_in_bounds", got {s!r}')
        return GatherScatterMode(name)


def _shape(x: Any) -> tuple[int, ...]:
    return aval_of(x).shape


def _normalize_index(index: Any, size: int) -> Any:
    """Return an index along an axis of length ``size``, with negative values counted from the end.

    ``index`` is a Python integer or an integer array; one that is out of bounds stays so.
    """
    if isinstance(index, (int, np.integer)):
        return int(index) + size if index < 0 else int(index)
    return (
        select(lt(index, 0), arithmetic.add(index, size), index) if dtype_kind(aval_of(index).dtype) == "i" else index
    )


def dynamic_slice(
    operand: Any, start_indices: Any, slice_sizes: Sequence[int], *, allow_negative_indices: Negative = True
) -> Any:
    """Return a block of static size at a dynamic position, clamped so that it lies within the operand.

    Negative indices count from the end, except along axes where ``allow_negative_indices`` (one boolean, or one for
    each axis) is False: there a negative Python integer raises ValueError, and others are clamped to 0.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.dynamic_slice(jnp.arange(5), (jnp.array(3),), (2,)))
    [3 4]
    """
    starts = _start_indices(operand, start_indices, allow_negative_indices)
    return dynamic_slicing.dynamic_slice(operand, starts, slice_sizes)


def _start_indices(operand: Any, start_indices: Any, negative: Negative) -> list[Any]:
    """Return the start index for each axis of the operand, with negative ones counted from the end.

    ``start_indices`` is a sequence of indices or an array with one axis, ``negative`` says along which axes negative
    indices are allowed. Raises TypeError or ValueError if they do not fit the operand.
    """
    if not isinstance(start_indices, (list, tuple)):
        if len(_shape(start_indices)) != 1:
            raise TypeError(
                "start_indices are one index for each axis, in a sequence or an array of one axis, got "
                f"{start_indices!r}{here()}"
            )
        (count,) = _shape(start_indices)
        rows = [slice_in_dim(start_indices, i, i + 1, 0) for i in range(count)]
        start_indices = [squeeze(row, (0,)) for row in rows]
    rank = len(_shape(operand))
    if len(start_indices) != rank:
        raise ValueError(
            f"start_indices are one index for each of the {rank} axes of shape {_shape(operand)}, got "
            f"{len(start_indices)}{here()}"
        )
    dtype, indices = _with_one_dtype(start_indices)
    allowed = (True,) * rank if negative is True else _broadcast_flag(negative, rank)
    starts = [
        _normalize_index(i, size) if is_allowed else _require_nonnegative(i)
        for i, size, is_allowed in zip(indices, _shape(operand), allowed, strict=True)
    ]
    return starts if dtype is None else [typed_scalar(i, dtype) if i.__class__ is int else i for i in starts]


def _with_one_dtype(indices: Sequence[Any]) -> tuple[np.dtype[Any] | None, list[Any]]:
    """Return the dtype for Python integers among start indices, None for the default, and the indices.

    Arrays of a dtype that may be too narrow for the size of an axis are converted to int32. Those of several dtypes are
    returned as they are, for the operation to refuse.
    """
    dtypes = {aval_of(i).dtype for i in indices if not isinstance(i, (int, np.integer))}
    if len(dtypes) != 1 or dtypes == {_INT32} or any(dtype_kind(dtype) not in "iu" for dtype in dtypes):
        return None, list(indices)
    (dtype,) = dtypes
    if dtype.itemsize >= 4:
        return dtype, list(indices)
    return None, [i if isinstance(i, (int, np.integer)) else to_dtype(i, _INT32) for i in indices]


_INT32 = np.dtype(np.int32)


def _require_nonnegative(index: Any) -> Any:
    if isinstance(index, (int, np.integer)):
        if index < 0:
            raise ValueError(f"start_indices has {index} along an axis where allow_negative_indices is False{here()}")
        return int(index)
    return index


def _broadcast_flag(negative: Negative, rank: int) -> tuple[bool, ...]:
    """Return for each of ``rank`` axes whether negative indices count from its end.

    ``negative`` is one boolean or a sequence of them; raises TypeError or ValueError for others.
    """
    if isinstance(negative, bool):
        return (negative,) * rank
    if not isinstance(negative, (list, tuple)):
        raise TypeError(f"allow_negative_indices is True, False or one of them for each axis, got {negative!r}{here()}")
    if len(negative) != rank:
        raise ValueError(
            f"allow_negative_indices is one answer, or one for each of the {rank} axes, got {len(negative)}{here()}"
        )
    return tuple(map(bool, negative))


def dynamic_slice_in_dim(
    operand: Any, start_index: Any, slice_size: int, axis: int = 0, *, allow_negative_indices: bool = True
) -> Any:
    """Return ``slice_size`` elements along one axis, starting at a dynamic position; see :func:`dynamic_slice`."""
    shape = _shape(operand)
    axis = axis_of(axis, len(shape))
    negative = bool(allow_negative_indices)
    sizes = tuple(whole_number(slice_size, "slice_size") if i == axis else size for i, size in enumerate(shape))
    starts = [start_index if i == axis else 0 for i in range(len(shape))]
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=negative)


def dynamic_index_in_dim(
    operand: Any, index: Any, axis: int = 0, keepdims: bool = True, *, allow_negative_indices: bool = True
) -> Any:
    """Return the elements at a dynamic position along one axis; see :func:`dynamic_slice`.

    An index out of bounds is clamped, and so is a negative number where ``allow_negative_indices`` is False.
    """
    start = index if allow_negative_indices else _clamp_to_zero(index)
    element = dynamic_slice_in_dim(operand, start, 1, axis, allow_negative_indices=allow_negative_indices)
    return element if keepdims else squeeze(element, (axis_of(axis, len(_shape(operand))),))


def dynamic_update_slice(
    operand: Any, update: Any, start_indices: Any, *, allow_negative_indices: Negative = True
) -> Any:
    """Replace the block of the operand at a dynamic position by ``update``; see :func:`dynamic_slice`."""
    starts = _start_indices(operand, start_indices, allow_negative_indices)
    return dynamic_slicing.dynamic_update_slice(operand, update, starts)


def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """Replace consecutive elements of the operand along one axis by ``update``, starting at a dynamic position."""
    rank = len(_shape(operand))
    normalized_axis = axis_of(axis, rank)
    starts = [start_index if i == normalized_axis else 0 for i in range(rank)]
    return dynamic_update_slice(operand, update, starts, allow_negative_indices=bool(allow_negative_indices))


def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """Replace the elements of the operand at one dynamic position along an axis by ``update``.

    An index out of bounds is clamped, as for :func:`dynamic_index_in_dim`.
    """
    rank = len(_shape(operand))
    if len(_shape(update)) < rank:
        _, update = match(operand, update)  # a Python number has the operand's dtype
        update = expand_dims(update, (axis_of(axis, rank),))
    start = index if allow_negative_indices else _clamp_to_zero(index)
    return dynamic_update_slice_in_dim(operand, update, start, axis, allow_negative_indices=allow_negative_indices)


def _clamp_to_zero(index: Any) -> Any:
    """Clamp a negative Python number to 0, as an array would be clamped later; return other values as they are."""
    return type(index)(0) if isinstance(index, (int, np.integer)) and index < 0 else index


def _wrap_index(index: Any, size: int) -> Any:
    """Return an array of indices modulo ``size``, the length of the axis."""
    return _normalize_index(arithmetic.rem(index, np.asarray(size, aval_of(index).dtype)[()]), size)


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Any:
    """Return the slices of ``src`` at indices along some axes: ``idxs`` has a vector of indices for each of ``axes``.

    Indices beyond the ends wrap around, as often as needed.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.index_take(jnp.arange(6).reshape(2, 3), [jnp.array([1, 0]), jnp.array([-1, 0])], (0, 1)))
    [5 0]
    """
    shape = _shape(src)
    places = tuple(axis_of(axis, len(shape), "axes of index_take") for axis in axes)
    if len(idxs) != len(places) or any(len(_shape(i)) != 1 for i in idxs):
        raise ValueError(f"index_take takes a vector of indices for each of the axes {places}, got {len(idxs)}{here()}")
    columns = [expand_dims(_wrap_index(i, shape[axis]), (1,)) for i, axis in zip(idxs, places, strict=True)]
    inner = len(shape) - len(places)
    numbers = GatherDimensionNumbers(tuple(range(1, 1 + inner)), tuple(sorted(places)), places)
    sizes = tuple(1 if axis in places else size for axis, size in enumerate(shape))
    return gather(src, concatenate(columns, 1), numbers, sizes, mode="clip")


def gather(
    operand: Any, start_indices: Any, dimension_numbers: indexing.GatherDimensionNumbers, slice_sizes: Sequence[int],
    *, unique_indices: bool = False, indices_are_sorted: bool = False, mode: Any = None, fill_value: Any = None,
) -> Any:  # fmt: skip
    """Gather blocks of static size at the positions that the last axis of the indices gives.

    Blocks that leave the operand are clamped, or with ``mode="fill"`` filled with ``fill_value``: by default NaN, the
    smallest of signed integers, the largest of unsigned ones, True.
    """
    policy = GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    fills = policy is GatherScatterMode.FILL_OR_DROP
    operation = indexing.Gather(
        dimension_numbers, whole_numbers(slice_sizes, "slice_sizes of gather"), "fill" if fills else policy.value,
        fill_value if fills else None, bool(indices_are_sorted), bool(unique_indices),
    )  # fmt: skip
    return bind1(operation, operand, start_indices)


def scatter(
    operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: indexing.ScatterDimensionNumbers,
    *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
) -> Any:  # fmt: skip
    """Replace blocks of the operand by ``updates``, at the positions that the last axis of the indices gives.

    Blocks that are out of bounds are dropped, unless ``mode`` is "clip".
    """
    operation = indexing.Scatter(dimension_numbers, _scatter_mode(mode), bool(indices_are_sorted), bool(unique_indices))
    return bind1(operation, operand, scatter_indices, updates)


def scatter_add(
    operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: indexing.ScatterDimensionNumbers,
    *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
) -> Any:  # fmt: skip
    """Add blocks to the operand, at positions as in :func:`scatter`."""
    operation = indexing.ScatterAdd(
        dimension_numbers, _scatter_mode(mode), bool(indices_are_sorted), bool(unique_indices)
    )
    return bind1(operation, operand, scatter_indices, updates)


def scatter_sub(
    operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: indexing.ScatterDimensionNumbers,
    *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
) -> Any:  # fmt: skip
    """Subtract blocks from the operand, at positions as in :func:`scatter`."""
    operation = scattering.ScatterSub(
        dimension_numbers, _scatter_mode(mode), bool(indices_are_sorted), bool(unique_indices)
    )
    return bind1(operation, operand, scatter_indices, updates)


def scatter_mul(
    operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: indexing.ScatterDimensionNumbers,
    *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
) -> Any:  # fmt: skip
    """Multiply the operand's elements by blocks, at positions as in :func:`scatter`."""
    operation = scattering.ScatterMul(
        dimension_numbers, _scatter_mode(mode), bool(indices_are_sorted), bool(unique_indices)
    )
    return bind1(operation, operand, scatter_indices, updates)


def scatter_min(
    operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: indexing.ScatterDimensionNumbers,
    *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
) -> Any:  # fmt: skip
    """Take the minimum of the operand's elements and blocks, at positions as in :func:`scatter`."""
    operation = scattering.ScatterMin(
        dimension_numbers, _scatter_mode(mode), bool(indices_are_sorted), bool(unique_indices)
    )
    return bind1(operation, operand, scatter_indices, updates)


def scatter_max(
    operand: Any, scatter_indices: Any, updates: Any, dimension_numbers: indexing.ScatterDimensionNumbers,
    *, indices_are_sorted: bool = False, unique_indices: bool = False, mode: Any = None,
) -> Any:  # fmt: skip
    """Take the maximum of the operand's elements and blocks, at positions as in :func:`scatter`."""
    operation = scattering.ScatterMax(
        dimension_numbers, _scatter_mode(mode), bool(indices_are_sorted), bool(unique_indices)
    )
    return bind1(operation, operand, scatter_indices, updates)


def scatter_apply(
    operand: Any, scatter_indices: Any, func: Any, dimension_numbers: indexing.ScatterDimensionNumbers,
    *, update_shape: Sequence[int] = (), indices_are_sorted: bool = False, unique_indices: bool = False,
    mode: Any = None,
) -> Any:  # fmt: skip
    """Apply ``func`` to elements of the operand, as often as the indices refer to each.

    ``func`` is elementwise; ``update_shape`` is the shape that updates for these indices would have.
    """
    scatter_operation = indexing.Scatter(
        dimension_numbers, _scatter_mode(mode), bool(indices_are_sorted), bool(unique_indices)
    )
    aval = aval_of(operand)
    ones = full(whole_numbers(update_shape, "sizes of update_shape"), np.int32(1))
    add = indexing.ScatterAdd(dimension_numbers, _scatter_mode(mode), bool(indices_are_sorted), bool(unique_indices))
    counts = bind1(add, full(aval.shape, np.int32(0)), scatter_indices, ones)
    repeats = scatter_operation.gather_at_updates(counts, scatter_indices, aval_of(ones))
    max_repeats = reduce_max(repeats, range(len(update_shape)))

    def apply_once(state: tuple[Any, Any]) -> tuple[Any, Any]:
        count, elements = state
        return arithmetic.add(count, np.int32(1)), select(gt(repeats, count), func(elements), elements)

    gathered = scatter_operation.gather_at_updates(operand, scatter_indices, aval_of(ones))
    _, values = while_loop(lambda state: lt(state[0], max_repeats), apply_once, (np.int32(0), gathered))
    return bind1(scatter_operation, operand, scatter_indices, values)


def _scatter_mode(mode: Any) -> str:
    return "clip" if GatherScatterMode.from_any(mode) is GatherScatterMode.CLIP else "drop"
