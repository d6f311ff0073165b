"""Parser of index expressions: a static *form*, with an item for each axis, and the dynamic *operands*."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import kind_of
from ..errors import NonConcreteBooleanIndexError
from ..trace.gate import opened
from ..trace.provenance import static_advice
from ..trace.source import compose_message, user_line, where_text
from ..trace.tracer import Tracer
from ..xla.arrays.key_array import KeyArray
from ..xla.devices.backend import ArrayImpl


class Keep(NamedTuple):
    """``length`` elements of an axis from ``start`` in steps of ``step``, all static."""

    start: int
    length: int
    step: int


class At(NamedTuple):
    """One element of an axis at a static position, which may be out of bounds; the axis is removed."""

    place: int


class Block(NamedTuple):
    """``length`` elements of an axis from a dynamic start, which is an operand."""

    length: int


class Scalar(NamedTuple):
    """One element of an axis at a dynamic position, which is an operand; the axis is removed."""


class Rows(NamedTuple):
    """Elements at the positions in an operand with axes."""


class New(NamedTuple):
    """New axis of size 1."""


Item = Keep | At | Block | Scalar | Rows | New
Form = tuple[Item, ...]


# Parsing an index ---------------------------------------------------------------------------------------------------


def parse(shape: tuple[int, ...], index: Any, *, eager: bool, updates: bool = False) -> tuple[Form, list[Any]]:
    """Return the form and the operands of an index into an array of a shape.

    If ``eager``, scalar indices and slice starts become operands, so that compiled programs are shared.
    ``updates`` says that the index is written to, for error messages.
    """
    parts = _completed(shape, _parts(shape, index, updates))
    # index arrays are only combined with static items
    eager = eager and not any(getattr(part, "ndim", 0) for part in parts)
    form: list[Item] = []
    operands: list[Any] = []
    sizes = iter(shape)
    for part in parts:
        if part is None:
            form.append(New())
            continue
        item, operand = _item(part, next(sizes), eager)
        form.append(item)
        operands.extend(operand)
    if 0 in shape and not any(isinstance(item, Rows) for item in form):
        _require_elements(shape, form)
    return tuple(form), operands


def _require_elements(shape: tuple[int, ...], form: Sequence[Item]) -> None:
    items = [item for item in form if not isinstance(item, New)]
    if any(not size and isinstance(item, (At, Scalar)) for item, size in zip(items, shape, strict=True)):
        raise nothing_there()


def _parts(shape: tuple[int, ...], index: Any, updates: bool) -> list[Any]:
    if isinstance(index, list):
        raise TypeError(
            "a list is no index; write x[jnp.array(indices)] for the elements at indices, or x[tuple(indices)] "
            "for one index per axis"
        )
    parts: list[Any] = []
    masks: list[tuple[int, tuple[int, ...]]] = []  # position in parts and shape of each mask
    bools: list[int] = []
    for part in index if isinstance(index, tuple) else (index,):
        if part is True:
            bools.append(len(parts))
            parts.append(None)  # a scalar mask that is True adds an axis of size 1
            continue
        if isinstance(part, (list, tuple)):
            part = _listed(part)
        if _is_mask(part):
            masks.append((len(parts), np.shape(part)))
            parts.extend(_mask(part, updates))
        else:
            parts.append(part)
    for begin, mask_shape in masks:
        _require_fit(shape, parts, begin, mask_shape)
    return _without_lone(parts, bools) if bools and any(getattr(part, "ndim", 0) for part in parts) else parts


def _require_fit(shape: tuple[int, ...], parts: list[Any], begin: int, shp: tuple[int, ...]) -> None:
    """Raise IndexError unless a mask has the sizes of the axes that it indexes."""
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


def _without_lone(parts: list[Any], bools: list[int]) -> list[Any]:
    """Return the parts without scalar masks, which broadcast with the adjacent index arrays."""
    used = [i for i, part in enumerate(parts) if i in bools or not (part is None or part is Ellipsis or _is_cut(part))]
    if used != list(range(used[0], used[-1] + 1)):
        raise NotImplementedError(
            "an index with a single True apart from index arrays, which puts their axes in front; leave the True away "
            "and move the axes (jnp.moveaxis)"
        )
    return [part for i, part in enumerate(parts) if i not in bools]


def _is_cut(part: Any) -> bool:
    return isinstance(part, slice)


def _listed(part: Any) -> np.ndarray[Any, Any]:
    """Return the integers or booleans in a list as an array."""
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


_READ_BY_MASK = (
    "Use xlascope.numpy.where(mask, x, 0), which keeps the shape, or in a reduction its argument where: "
    "x.sum(where=mask)."
)
_UPDATE_BY_MASK = (
    "Use xlascope.numpy.where(mask, y, x) in place of x.at[mask].set(y), and where(mask, x + y, x) in place of "
    "x.at[mask].add(y). To change a part of the array: x.at[:4].set(where(mask, y, x[:4]))."
)


def _mask(part: Any, updates: bool) -> Sequence[Any]:
    """Return a mask as index arrays, which requires its values."""
    if isinstance(part, Tracer):
        value = part.concrete()
        if value is None:
            said = (
                f"a mask has to be known when it is an index, but {part!r} is traced: the shape of the "
                f"{'part to change' if updates else 'result'} would depend on its values."
            )
            raise NonConcreteBooleanIndexError(compose_message(said, _UPDATE_BY_MASK if updates else _READ_BY_MASK))
        part = value
    mask = np.asarray(part)
    if mask.ndim == 0:
        raise NotImplementedError("indexing with a single truth value; use jnp.where(condition, x, y)")
    return [positions.astype(np.int32) for positions in np.nonzero(mask)]


def _completed(shape: tuple[int, ...], parts: list[Any]) -> list[Any]:
    """Return the parts with Ellipsis expanded: one part for each axis, besides the new axes."""
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index holds at most one Ellipsis")
    used = sum(1 for part in parts if part is not None and part is not Ellipsis)
    if used > len(shape):
        raise IndexError(f"too many indices: the array has {len(shape)} axes, the index {used}")
    full_slices = [slice(None)] * (len(shape) - used)
    ellipsis_position = dots[0] if dots else len(parts)
    return [*parts[:ellipsis_position], *full_slices, *parts[ellipsis_position + 1 :]]


def _item(part: Any, size: int, eager: bool) -> tuple[Item, list[Any]]:
    if isinstance(part, slice):
        return _slice_item(part, size, eager)
    if isinstance(part, (int, np.integer)):
        position = int(part)
        if eager or (size and not -size <= position < size):  # an out-of-bounds index stays visible
            return Scalar(), [position]
        return At(position + size if position < 0 else position), []
    if isinstance(part, (Tracer, ArrayImpl, KeyArray, np.ndarray)):
        dtype = part.dtype
        if kind_of(dtype) not in "iu":
            raise TypeError(f"an index is made of integers, got dtype {dtype.name}; convert it with astype(int)")
        return (Rows() if len(part.shape) else Scalar()), [part]
    if getattr(part, "__jax_array__", None) is not None:
        return _item(opened(part), size, eager)
    if hasattr(part, "__index__"):
        return _item(part.__index__(), size, eager)
    fix = "Divide with // instead of /, or convert it with int()." if isinstance(part, float | np.floating) else ""
    said = f"an index is made of integers, slices, None, Ellipsis and integer arrays, got {part!r}."
    raise TypeError(compose_message(said, fix))


def nothing_there() -> IndexError:
    """Return the error for an element of an axis of size 0."""
    return IndexError("an axis without elements has no element to index")


def _slice_item(part: slice, size: int, eager: bool) -> tuple[Item, list[Any]]:
    try:
        start, stop, step = part.indices(size)
    except TypeError as error:
        if not any(isinstance(bound, Tracer) for bound in (part.start, part.stop, part.step)):
            raise
        bounds = (x for x in (part.start, part.stop, part.step) if isinstance(x, Tracer) and x.concrete() is None)
        bound = next(bounds, None)
        static = "" if bound is None else static_advice(bound)
        said = (
            "the bounds of a slice have to be known when the program is traced, as they determine a shape. "
            f"{str(error).partition(chr(10))[0]}"
        )
        fix = (
            "Use xlascope.lax.dynamic_slice_in_dim(x, start, size), whose start may be traced and whose size is known, "
            f"or make {static or 'the bounds static arguments (static_argnums)'}."
        )
        raise IndexError(compose_message(said, fix)) from None
    count = len(range(start, stop, step))
    if count == 0:
        return Keep(0, 0, 1), []
    if eager and step == 1 and count < size:
        return Block(count), [start]
    return Keep(start, count, step), []
