"""Parser of index expressions: a static *form*, with an item for each axis, and the dynamic *operands*."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import dtype_kind
from ..errors import NonConcreteBooleanIndexError
from ..trace.operand_coercion import unwrap_operand
from ..trace.provenance import static_advice
from ..trace.source import compose_message, user_line, where_text
from ..trace.tracer import TracerBase
from ..xla.arrays.key_array import KeyArray
from ..xla.devices.backend import ArrayImpl


class StaticSliceItem(NamedTuple):
    """Index item that selects ``length`` elements of an axis from ``start`` in steps of ``step``, all static."""

    start: int
    length: int
    step: int


class StaticIndexItem(NamedTuple):
    """Index item that selects one element of an axis at a static position, and removes the axis.

    The position is nonnegative, or out of bounds.
    """

    position: int


class DynamicSliceItem(NamedTuple):
    """Index item that selects ``length`` elements of an axis from a dynamic start, which is an operand."""

    length: int


class DynamicIndexItem(NamedTuple):
    """Index item that selects one element of an axis at a dynamic position, an operand, and removes the axis."""


class IndexArrayItem(NamedTuple):
    """Index item that selects the elements of an axis at the positions in an integer array, which is an operand."""


class NewAxisItem(NamedTuple):
    """Index item that adds an axis of size 1."""


IndexItem = StaticSliceItem | StaticIndexItem | DynamicSliceItem | DynamicIndexItem | IndexArrayItem | NewAxisItem
IndexForm = tuple[IndexItem, ...]


# Parsing an index ---------------------------------------------------------------------------------------------------


def parse_index(
    shape: tuple[int, ...], index: Any, *, eager: bool, updates: bool = False
) -> tuple[IndexForm, list[Any]]:
    """Parse an index into an array of the given shape; return its form and its operands.

    The form is static, and has an item for each axis and each new axis; the operands are the dynamic positions,
    in the order of the items. If ``eager``, scalar indices and slice starts become operands, unless there are
    index arrays, so that compiled programs are shared. ``updates`` says that the index is written to, for error
    messages.
    """
    parts = _expand_ellipsis(shape, _parse_parts(shape, index, updates))
    # index arrays are only combined with static items
    eager = eager and not any(getattr(part, "ndim", 0) for part in parts)
    form: list[IndexItem] = []
    operands: list[Any] = []
    sizes = iter(shape)
    for part in parts:
        if part is None:
            form.append(NewAxisItem())
            continue
        item, operand = _parse_item(part, next(sizes), eager)
        form.append(item)
        operands.extend(operand)
    if 0 in shape and not any(isinstance(item, IndexArrayItem) for item in form):
        _require_elements(shape, form)
    return tuple(form), operands


def _require_elements(shape: tuple[int, ...], form: Sequence[IndexItem]) -> None:
    items = [item for item in form if not isinstance(item, NewAxisItem)]
    if any(
        not size and isinstance(item, (StaticIndexItem, DynamicIndexItem))
        for item, size in zip(items, shape, strict=True)
    ):
        raise empty_axis_error()


def _parse_parts(shape: tuple[int, ...], index: Any, updates: bool) -> list[Any]:
    """Return the parts of an index as a list, in which masks are replaced by index arrays and lists by arrays.

    ``shape`` is that of the indexed array; ``updates`` says that the index is written to, for error messages.
    Raises TypeError if the index is a list, IndexError for a mask that does not fit.
    """
    if isinstance(index, list):
        fix = "Write x[jnp.array(indices)] for the elements at indices, or x[tuple(indices)] for one index per axis."
        raise TypeError(compose_message("a list is no index.", fix))
    parts: list[Any] = []
    masks: list[tuple[int, tuple[int, ...]]] = []  # position in parts and shape of each mask
    bools: list[int] = []
    for part in index if isinstance(index, tuple) else (index,):
        if part is True:
            bools.append(len(parts))
            parts.append(None)  # a scalar mask that is True adds an axis of size 1
            continue
        if isinstance(part, (list, tuple)):
            part = _list_to_array(part)
        if _is_mask(part):
            masks.append((len(parts), np.shape(part)))
            parts.extend(_mask_to_index_arrays(part, updates))
        else:
            parts.append(part)
    for begin, mask_shape in masks:
        _require_mask_fits(shape, parts, begin, mask_shape)
    return _drop_scalar_masks(parts, bools) if bools and any(getattr(part, "ndim", 0) for part in parts) else parts


def _require_mask_fits(shape: tuple[int, ...], parts: list[Any], begin: int, shp: tuple[int, ...]) -> None:
    """Raise IndexError unless a mask has the sizes of the axes that it indexes.

    ``shape`` is that of the array, ``shp`` that of the mask, and ``begin`` is the position in ``parts`` at which
    the mask's index arrays start.
    """
    before, behind = parts[:begin], parts[begin + len(shp) :]
    if any(part is Ellipsis for part in before):
        end = len(shape) - sum(part is not None for part in behind)
        axes = range(end - len(shp), end)
    else:
        start = sum(part is not None for part in before)
        axes = range(start, start + len(shp))
    axis_sizes = tuple(shape[axis] for axis in axes if 0 <= axis < len(shape))
    if len(axis_sizes) == len(shp) and axis_sizes != shp:
        raise IndexError(
            f"a mask of shape {shp} does not fit the axes {tuple(axes)} of an array of shape {shape}, which have sizes "
            f"{axis_sizes}{where_text(user_line())}"
        )


def _drop_scalar_masks(parts: list[Any], bools: list[int]) -> list[Any]:
    """Return the parts of an index without the scalar masks (``True``) at the positions ``bools``.

    They have no effect beside adjacent index arrays, with which they broadcast; others raise NotImplementedError.
    """
    used = [
        i for i, part in enumerate(parts) if i in bools or not (part is None or part is Ellipsis or _is_slice(part))
    ]
    if used != list(range(used[0], used[-1] + 1)):
        raise NotImplementedError(
            "an index with a single True apart from index arrays, which puts their axes in front; leave the True away "
            "and move the axes (jnp.moveaxis)"
        )
    return [part for i, part in enumerate(parts) if i not in bools]


def _is_slice(part: Any) -> bool:
    return isinstance(part, slice)


def _list_to_array(part: Any) -> np.ndarray[Any, Any]:
    """Return a list of integers or booleans in an index as a NumPy array; raise TypeError for other elements."""
    try:
        array = np.asarray(part) if part else np.zeros((0,), np.int32)
    except (ValueError, TypeError):  # tracers, or lists of different lengths
        array = np.empty((), object)
    if array.dtype.kind not in "biu":
        raise TypeError(
            f"a list in an index holds integers or truth values, known while tracing, got {part!r}"
            f"{where_text(user_line())}; for traced ones write jnp.stack(...)"
        )
    return array


def _is_mask(part: Any) -> bool:
    return isinstance(part, (bool, np.bool_)) or getattr(part, "dtype", None) == np.bool_


_MASK_READ_HINT = (
    "Use xlascope.numpy.where(mask, x, 0), which keeps the shape, or in a reduction its argument where: "
    "x.sum(where=mask)."
)
_MASK_UPDATE_HINT = (
    "Use xlascope.numpy.where(mask, y, x) in place of x.at[mask].set(y), and xlascope.numpy.where(mask, x + y, x) in "
    "place of x.at[mask].add(y). To change a part of the array: x.at[:4].set(xlascope.numpy.where(mask, y, x[:4]))."
)


def _mask_to_index_arrays(part: Any, updates: bool) -> Sequence[Any]:
    """Return the positions at which a mask is true, one int32 array for each of its axes.

    Raises NonConcreteBooleanIndexError for a traced mask, whose message depends on whether the index is written
    to (``updates``), and NotImplementedError for a scalar mask.
    """
    if isinstance(part, TracerBase):
        value = part.concrete()
        if value is None:
            text = (
                f"a mask has to be known when it is an index, but {part!r} is traced: the shape of the "
                f"{'part to change' if updates else 'result'} would depend on its values."
            )
            raise NonConcreteBooleanIndexError(compose_message(text, _MASK_UPDATE_HINT if updates else _MASK_READ_HINT))
        part = value
    mask = np.asarray(part)
    if mask.ndim == 0:
        raise NotImplementedError("indexing with a single truth value; use jnp.where(condition, x, y)")
    return [positions.astype(np.int32) for positions in np.nonzero(mask)]


def _expand_ellipsis(shape: tuple[int, ...], parts: list[Any]) -> list[Any]:
    """Return the parts of an index with Ellipsis expanded: one part for each axis, and None for new axes.

    Raises IndexError for a second Ellipsis, and for more parts than axes.
    """
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index holds at most one Ellipsis")
    used = sum(1 for part in parts if part is not None and part is not Ellipsis)
    if used > len(shape):
        raise IndexError(f"too many indices: the array has {len(shape)} axes, the index {used}")
    full_slices = [slice(None)] * (len(shape) - used)
    ellipsis_position = dots[0] if dots else len(parts)
    return [*parts[:ellipsis_position], *full_slices, *parts[ellipsis_position + 1 :]]


def _parse_item(part: Any, size: int, eager: bool) -> tuple[IndexItem, list[Any]]:
    """Return the item for a part of an index, and a list of its operand, if it has one.

    ``size`` is the size of the axis; ``eager`` makes scalar indices and slice starts operands. Raises TypeError
    for a part that is not an index.
    """
    if isinstance(part, slice):
        return _parse_slice(part, size, eager)
    if isinstance(part, (int, np.integer)):
        position = int(part)
        if eager or (size and not -size <= position < size):  # an out-of-bounds index stays visible
            return DynamicIndexItem(), [position]
        return StaticIndexItem(position + size if position < 0 else position), []
    if isinstance(part, (TracerBase, ArrayImpl, KeyArray, np.ndarray)):
        dtype = part.dtype
        if dtype_kind(dtype) not in "iu":
            raise TypeError(f"an index is made of integers, got dtype {dtype.name}; convert it with astype(int)")
        return (IndexArrayItem() if len(part.shape) else DynamicIndexItem()), [part]
    if getattr(part, "__jax_array__", None) is not None:
        return _parse_item(unwrap_operand(part), size, eager)
    if hasattr(part, "__index__"):
        return _parse_item(part.__index__(), size, eager)
    fix = "Divide with // instead of /, or convert it with int()." if isinstance(part, float | np.floating) else ""
    problem = f"an index is made of integers, slices, None, Ellipsis and integer arrays, got {part!r}."
    raise TypeError(compose_message(problem, fix))


def empty_axis_error() -> IndexError:
    """Return the error for indexing an element of an axis of size 0."""
    return IndexError("an axis without elements has no element to index")


def _parse_slice(part: slice, size: int, eager: bool) -> tuple[IndexItem, list[Any]]:
    """Return the item for a slice of an axis of ``size`` elements, and a list of its operand, if it has one.

    If ``eager``, the start of a slice with step 1 is an operand. Raises IndexError for traced bounds.
    """
    try:
        start, stop, step = part.indices(size)
    except TypeError as error:
        if not any(isinstance(bound, TracerBase) for bound in (part.start, part.stop, part.step)):
            raise
        bounds = (x for x in (part.start, part.stop, part.step) if isinstance(x, TracerBase) and x.concrete() is None)
        bound = next(bounds, None)
        static = "" if bound is None else static_advice(bound)
        problem = (
            "the bounds of a slice have to be known when the program is traced, as they determine a shape. "
            f"{str(error).partition(chr(10))[0]}"
        )
        fix = (
            "Use xlascope.lax.dynamic_slice_in_dim(x, start, size), whose start may be traced and whose size is known, "
            f"or make {static or 'the bounds static arguments (static_argnums)'}."
        )
        raise IndexError(compose_message(problem, fix)) from None
    count = len(range(start, stop, step))
    if count == 0:
        return StaticSliceItem(0, 0, 1), []
    if eager and step == 1 and count < size:
        return DynamicSliceItem(count), [start]
    return StaticSliceItem(start, count, step), []
