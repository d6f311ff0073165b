"""Arrays as sets. How many elements the result has depends on values, or is said while tracing (``size=``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import canonical, kind_of
from ..errors import ConcretizationTypeError
from ..operations import sorting
from ..operations.conversion import convert_element_type
from ..operations.shapes import broadcasted_iota, expand_dims, full, reshape
from ..operations.slicing import slice_in_dim
from ..trace.tracer import Tracer
from ..trace.values import aval_of
from . import logic, reductions, ufuncs
from .axes import axes_of, axis_of
from .creation import asarray, zeros, zeros_like
from .indexing_tools import nonzero, size_of
from .joining import concatenate
from .membership import isin
from .promotion import as_dtype, common_dtype, to_common_dtype
from .repeating import flip
from .shaping import broadcast_to, moveaxis, ravel, shape_of
from .taking import take
from .together import together


def _known(x: Any, name: str) -> np.ndarray[Any, Any]:
    value = x.concrete() if isinstance(x, Tracer) else x
    if value is None:
        raise TypeError(f"{name} of {x!r}: how many elements the result has is not known while tracing")
    aval_of(value)
    return np.asarray(value)


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: int | None = None, *, equal_nan: bool = True, size: int | None = None, fill_value: Any = None,
    sorted: bool = True,
) -> Any:  # fmt: skip
    """The different elements in order, or the different slices along ``axis``.

    With them come, as asked for, where each is first found, for each element the place among them, and how often each
    is found. ``size`` says how many there are, where that is not known while tracing: what is over is left out, what is
    missing is ``fill_value`` (the first of them). ``sorted`` is there for NumPy's sake: they always are.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(jnp.unique(jnp.array([3, 1, 3])))
    [1 3]
    >>> print(xs.jit(lambda x: jnp.unique(x, size=3, fill_value=0))(jnp.array([3, 1, 3])))
    [1 3 0]
    """
    shape = shape_of(ar)
    along = None if axis is None else axis_of(axis, len(shape))
    found = _groups(ar, axis=along, equal_nan=bool(equal_nan))
    count = _count(found.starts, ar, "unique") if size is None else size_of(size)
    if count and not shape_of(found.order)[0] and fill_value is None:
        raise ValueError(f"unique of no elements (shape {shape}): size={count} needs a fill_value")
    values, index, counts = _first_of_each(ar, found, fill_value, axis=along, equal_nan=bool(equal_nan), size=count)
    if size is None or fill_value is None:
        values = _as_weak_as(values, ar)
    inverse = reshape(found.inverse, shape) if axis is None else found.inverse
    wanted = (values, True), (index, return_index), (inverse, return_inverse), (counts, return_counts)
    results = tuple(result for result, is_wanted in wanted if is_wanted)
    return results if len(results) > 1 else results[0]


class _Groups(NamedTuple):
    """The order of the elements, which of them in that order differ from the one before, and the place of each."""

    order: Any
    starts: Any
    inverse: Any


@together("axis", "equal_nan")
def _groups(ar: Any, axis: int | None, equal_nan: bool) -> Any:
    rows = _rows(ar, axis, equal_nan)
    size, width = shape_of(rows)
    places = broadcasted_iota(canonical(int), (size,), 0)
    keys = [reshape(slice_in_dim(rows, i, i + 1, 1), (size,)) for i in range(width)]
    *keys, order = sorting.sort([*keys, places], 0, True, max(1, width)) if width else [places]
    differs = full((max(0, size - 1),), np.False_)
    for key in keys:
        differs = logic.bitwise_or(differs, _differs(key, equal_nan))
    starts = concatenate([full((min(1, size),), np.True_), differs])
    group = reductions.cumsum(starts) - 1
    return _Groups(order, starts, zeros_like(order).at[order].set(group))


def _rows(ar: Any, axis: int | None, equal_nan: bool) -> Any:
    """The elements as rows of one, or the slices along an axis as rows."""
    if equal_nan and kind_of(aval_of(ar).dtype) == "c":  # of which there are many
        ar = logic.where(logic.isnan(ar), math.nan, ar)
    if axis is None:
        return reshape(ar, (aval_of(ar).size, 1))
    moved = moveaxis(ar, axis, 0)
    size, *rest = shape_of(moved)
    return reshape(moved, (size, math.prod(rest)))


def _differs(key: Any, equal_nan: bool) -> Any:
    """Whether each element but the first differs from the one before."""
    size = shape_of(key)[0]
    before, after = slice_in_dim(key, 0, max(0, size - 1)), slice_in_dim(key, min(1, size), size)
    other = logic.not_equal(before, after)
    if not equal_nan or kind_of(aval_of(key).dtype) not in "fc":
        return other
    return logic.bitwise_and(other, logic.logical_not(logic.bitwise_and(logic.isnan(before), logic.isnan(after))))


def _count(holds: Any, x: Any, name: str) -> int:
    """How many hold; raises ConcretizationTypeError where that is not known."""
    known = holds.concrete() if isinstance(holds, Tracer) else holds
    if known is None:
        raise ConcretizationTypeError(
            f"{name} of {x!r}: how many elements the result has is not known while tracing. Say it: size=..."
        )
    return int(np.count_nonzero(np.asarray(known)))


@together("axis", "equal_nan", "size")
def _first_of_each(
    ar: Any, found: Any, fill_value: Any, axis: int | None, equal_nan: bool, size: int
) -> tuple[Any, Any, Any]:
    """The first element of each group, its place, and how many there are in the group."""
    order, starts, _ = found
    rows = _rows(ar, axis, equal_nan)
    total = shape_of(order)[0]
    (ends,) = nonzero(starts, size=size + 1, fill_value=total)
    begins = slice_in_dim(ends, 0, size)
    counts = ufuncs.subtract(slice_in_dim(ends, 1, size + 1), begins)
    index = take(concatenate([order, zeros_like(order[:1])]), begins, 0, mode="clip") if total else begins
    valid = logic.less(begins, total)
    index = logic.where(valid, index, order[0] if total else 0)
    values = take(rows, index, 0, mode="clip") if total else zeros((size, shape_of(rows)[1]), rows.dtype)
    if fill_value is not None:
        missing = _fill(fill_value, ar, axis)
        values = logic.where(expand_dims(valid, (1,)), values, missing)
    return _as_slices(values, ar, axis), index, counts


def _fill(fill_value: Any, ar: Any, axis: int | None) -> Any:
    """What stands for missing rows, as a row."""
    shape = shape_of(ar)
    rest = () if axis is None else (*shape[:axis], *shape[axis + 1 :])
    spread = broadcast_to(as_dtype(fill_value, aval_of(ar).dtype), rest)
    return reshape(spread, (1, math.prod(rest)))


def _as_slices(rows: Any, ar: Any, axis: int | None) -> Any:
    """Rows as what they are of an array: elements, or slices along an axis."""
    size, shape = shape_of(rows)[0], shape_of(ar)
    if axis is None:
        return reshape(rows, (size,))
    return moveaxis(reshape(rows, (size, *shape[:axis], *shape[axis + 1 :])), 0, axis)


def _as_weak_as(x: Any, *operands: Any) -> Any:
    """A result that gives way to other types where the operands, met, do."""
    dtype, weak = common_dtype([aval_of(y) for y in operands])
    return convert_element_type(x, dtype, True) if weak else x


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The elements of either, in order; ``size`` and ``fill_value`` as for :func:`unique`."""
    both = concatenate([ravel(x) for x in to_common_dtype([ar1, ar2])])
    found = unique(both, size=size, fill_value=fill_value)
    return found if size is not None and fill_value is not None else _as_weak_as(found, ar1, ar2)


def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False, *, size: int | None = None,
    fill_value: Any = None,
) -> Any:  # fmt: skip
    """The elements of both, in order; ``return_indices`` asks for where each is first found in the one and the other.

    ``assume_unique`` promises that neither holds an element twice. ``size`` and ``fill_value`` are as for
    :func:`unique`; the places of what is missing lie beyond the end.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.intersect1d(jnp.array([3, 1, 2]), jnp.array([5, 2, 3])))
    [2 3]
    """
    found = _in_both(ar1, ar2, assume_unique=bool(assume_unique))
    count = _count(found.chosen, ar1, "intersect1d") if size is None else size_of(size)
    values, operands = found.values, [ar1, ar2]
    if size is not None and fill_value is not None:  # they meet, as what is chosen by a condition does
        values, fill_value = to_common_dtype([values, fill_value])
        operands.append(fill_value)
    fill_value = None if size is None else fill_value  # nothing is missing
    values = _as_weak_as(_those(values, found.chosen, count, fill_value, "intersect1d"), *operands)
    if not return_indices:
        return values
    ends = aval_of(ar1).size, aval_of(ar2).size
    places = zip((found.first, found.second), ends, strict=True)
    return values, *(_those(place, found.chosen, count, end, "intersect1d") for place, end in places)


class _Both(NamedTuple):
    """Elements in order, which of them are in both arrays, and where in the first and the second."""

    values: Any
    chosen: Any
    first: Any
    second: Any


@together("assume_unique")
def _in_both(ar1: Any, ar2: Any, assume_unique: bool) -> Any:
    x, y = (ravel(v) for v in to_common_dtype([ar1, ar2]))
    (size,), (other,) = shape_of(x), shape_of(y)
    if not assume_unique:
        x = flip(x)  # of equal elements the first one's first and the second one's first get neighbours
    places = broadcasted_iota(canonical(int), (size + other,), 0)
    values, places = sorting.sort([concatenate([x, y]), places], 0, True, 1)
    last = max(0, size + other - 1)
    first, second = slice_in_dim(places, 0, last), slice_in_dim(places, min(1, size + other), size + other)
    chosen = logic.logical_not(_differs(values, False))
    if not assume_unique:
        beside = logic.bitwise_and(logic.less(first, size), logic.greater_equal(second, size))
        chosen, first = logic.bitwise_and(chosen, beside), size - 1 - first
    return _Both(slice_in_dim(values, 0, last), chosen, first, second - size)


def setdiff1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """The elements of the first that are not in the second, in order.

    With ``assume_unique`` they stay as they are, in their order. ``size`` is as for :func:`unique`, and ``fill_value``
    is 0 unless it is given.
    """
    values, known = _different(ar1, assume_unique)
    missing = 0 if fill_value is None else fill_value
    missing = as_dtype(missing, aval_of(values).dtype)
    return _as_weak_as(_those(values, _but_not(values, known, ar2), size, missing, "setdiff1d"), ar1)


def setxor1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """The elements of one but not both, in order; ``size`` and ``fill_value`` as for :func:`unique`.

    The result has the dtype in which the elements meet ``fill_value``.
    """
    x, y = (ravel(v) for v in to_common_dtype([ar1, ar2]))
    found = _xor(x, y, assume_unique, size, fill_value)
    return _as_weak_as(found, ar1, ar2) if size is None else found


def _xor(x: Any, y: Any, assume_unique: bool, size: int | None, fill_value: Any) -> Any:
    if assume_unique:
        return _found_once(concatenate([x, y]), size, fill_value)
    (first, in_first), (second, in_second) = _different(x, False), _different(y, False)
    alone = concatenate([_but_not(first, in_first, second), _but_not(second, in_second, first)])
    others, values = sorting.sort([logic.logical_not(alone), concatenate([first, second])], 0, True, 2)
    return _those(values, logic.logical_not(others), size, fill_value, "setxor1d")


def _found_once(values: Any, size: int | None, fill_value: Any) -> Any:
    """The values that are found once, in order."""
    (values,) = sorting.sort([values], 0)
    differs, edge = _differs(values, False), full((min(1, shape_of(values)[0]),), np.True_)
    alone = logic.bitwise_and(concatenate([edge, differs]), concatenate([differs, edge]))
    return _those(values, alone, size, fill_value, "setxor1d")


def _different(x: Any, assume_unique: bool) -> tuple[Any, Any]:
    """The different elements, as many as there are elements at all, and which of them are meant."""
    if assume_unique:
        return ravel(x), np.True_
    values, counts = unique(x, return_counts=True, size=aval_of(x).size)
    return values, logic.greater(counts, 0)


def _but_not(values: Any, known: Any, others: Any) -> Any:
    """Which of the values that are meant are not among others."""
    return logic.bitwise_and(known, logic.logical_not(isin(values, others)))


def _those(values: Any, chosen: Any, size: int | None, fill_value: Any, name: str) -> Any:
    """The values that are chosen; what is missing is ``fill_value``, or the least of them (NaN where there is one)."""
    if fill_value is not None and shape_of(fill_value):
        raise ValueError(f"{name} takes fill_value as one value, got one of shape {shape_of(fill_value)}")
    count = _count(chosen, values, name) if size is None else size_of(size)
    total = shape_of(values)[0]
    (places,) = nonzero(chosen, size=count, fill_value=total)
    found = take(values, places, 0, mode="clip") if total and count else zeros((count,), aval_of(values).dtype)
    valid = logic.less(places, total)
    if size is None:  # none is missing
        return found
    if fill_value is None:
        least = logic.where(valid[0], found[0], 0) if count else 0
        unknown = reductions.any(logic.bitwise_and(valid, logic.isnan(found)))
        fill_value = as_dtype(logic.where(unknown, np.nan, least), aval_of(found).dtype)
    return logic.where(valid, found, fill_value)


def trim_zeros(filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Any:
    """Without the zeros in front (f) and behind (b), along an axis, several or all (None)."""
    if not isinstance(trim, str) or not trim or set(trim.lower()) - set("fb"):
        raise ValueError(f'trim is "f" (in front), "b" (behind) or "fb" (both), got {trim!r}')
    shape = shape_of(filt)
    axes = tuple(range(len(shape))) if axis is None else axes_of(axis, len(shape))
    filt = filt if isinstance(filt, Tracer) else asarray(filt)
    places = np.nonzero(np.atleast_1d(_known(filt, "trim_zeros")))
    cuts = [_cut(places[i], shape[i], trim.lower()) if i in axes else slice(None) for i in range(len(shape))]
    return asarray(filt)[tuple(cuts)] if shape else asarray(filt)


def _cut(places: np.ndarray[Any, Any], size: int, trim: str) -> slice:
    """The part of an axis that is left when the zeros around those places go."""
    if not len(places):
        return slice(0, 0)
    return slice(int(places.min()) if "f" in trim else 0, int(places.max()) + 1 if "b" in trim else size)
