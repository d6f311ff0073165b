"""Set operations on arrays; the size of a result depends on values, or is given while tracing (``size=``)."""

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
    """Return the unique elements in ascending order, or the unique slices along ``axis``.

    Optional results are the index of each first occurrence, the position of each element among the unique ones
    (inverse), and the counts. ``size`` is the number of unique elements, required while tracing: excess ones are
    dropped, missing ones are ``fill_value`` (the first element). ``sorted`` has no effect: the result is always
    sorted.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(jnp.unique(jnp.array([3, 1, 3])))
    [1 3]
    >>> print(xs.jit(lambda x: jnp.unique(x, size=3, fill_value=0))(jnp.array([3, 1, 3])))
    [1 3 0]
    """
    shape = shape_of(ar)
    along = None if axis is None else axis_of(axis, len(shape))
    groups = _groups(ar, axis=along, equal_nan=bool(equal_nan))
    count = _count(groups.starts, ar, "unique") if size is None else size_of(size)
    if count and not shape_of(groups.order)[0] and fill_value is None:
        raise ValueError(f"unique of no elements (shape {shape}): size={count} needs a fill_value")
    values, index, counts = _first_of_each(ar, groups, fill_value, axis=along, equal_nan=bool(equal_nan), size=count)
    if size is None or fill_value is None:
        values = _as_weak_as(values, ar)
    inverse = reshape(groups.inverse, shape) if axis is None else groups.inverse
    requested = (values, True), (index, return_index), (inverse, return_inverse), (counts, return_counts)
    results = tuple(result for result, is_wanted in requested if is_wanted)
    return results if len(results) > 1 else results[0]


class _Groups(NamedTuple):
    """Order that sorts the elements, which sorted elements start a group, and the group of each element."""

    order: Any
    starts: Any
    inverse: Any


@together("axis", "equal_nan")
def _groups(ar: Any, axis: int | None, equal_nan: bool) -> Any:
    rows = _rows(ar, axis, equal_nan)
    size, width = shape_of(rows)
    positions = broadcasted_iota(canonical(int), (size,), 0)
    keys = [reshape(slice_in_dim(rows, i, i + 1, 1), (size,)) for i in range(width)]
    *keys, order = sorting.sort([*keys, positions], 0, True, max(1, width)) if width else [positions]
    differs = full((max(0, size - 1),), np.False_)
    for key in keys:
        differs = logic.bitwise_or(differs, _differs(key, equal_nan))
    starts = concatenate([full((min(1, size),), np.True_), differs])
    group = reductions.cumsum(starts) - 1
    return _Groups(order, starts, zeros_like(order).at[order].set(group))


def _rows(ar: Any, axis: int | None, equal_nan: bool) -> Any:
    """Return the elements as rows of one element, or the slices along an axis as rows."""
    if equal_nan and kind_of(aval_of(ar).dtype) == "c":  # which have many representations
        ar = logic.where(logic.isnan(ar), math.nan, ar)
    if axis is None:
        return reshape(ar, (aval_of(ar).size, 1))
    slices_first = moveaxis(ar, axis, 0)
    size, *remaining = shape_of(slices_first)
    return reshape(slices_first, (size, math.prod(remaining)))


def _differs(key: Any, equal_nan: bool) -> Any:
    """Return whether each element after the first differs from the previous one."""
    size = shape_of(key)[0]
    before, after = slice_in_dim(key, 0, max(0, size - 1)), slice_in_dim(key, min(1, size), size)
    differs = logic.not_equal(before, after)
    if not equal_nan or kind_of(aval_of(key).dtype) not in "fc":
        return differs
    return logic.bitwise_and(differs, logic.logical_not(logic.bitwise_and(logic.isnan(before), logic.isnan(after))))


def _count(condition: Any, x: Any, name: str) -> int:
    """Return the number of true elements; raise ConcretizationTypeError for a tracer."""
    mask = condition.concrete() if isinstance(condition, Tracer) else condition
    if mask is None:
        raise ConcretizationTypeError(
            f"{name} of {x!r}: how many elements the result has is not known while tracing. Say it: size=..."
        )
    return int(np.count_nonzero(np.asarray(mask)))


@together("axis", "equal_nan", "size")
def _first_of_each(
    ar: Any, groups: Any, fill_value: Any, axis: int | None, equal_nan: bool, size: int
) -> tuple[Any, Any, Any]:
    """Return the first element of each group, its index, and the size of the group."""
    order, starts, _ = groups
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
    """Return the fill value as a row."""
    shape = shape_of(ar)
    slice_shape = () if axis is None else (*shape[:axis], *shape[axis + 1 :])
    fill = broadcast_to(as_dtype(fill_value, aval_of(ar).dtype), slice_shape)
    return reshape(fill, (1, math.prod(slice_shape)))


def _as_slices(rows: Any, ar: Any, axis: int | None) -> Any:
    """Return rows as elements, or as slices along an axis of ``ar``."""
    size, shape = shape_of(rows)[0], shape_of(ar)
    if axis is None:
        return reshape(rows, (size,))
    return moveaxis(reshape(rows, (size, *shape[:axis], *shape[axis + 1 :])), 0, axis)


def _as_weak_as(x: Any, *operands: Any) -> Any:
    """Return ``x``, weakly typed if the promoted type of the operands is."""
    dtype, weak = common_dtype([aval_of(y) for y in operands])
    return convert_element_type(x, dtype, True) if weak else x


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the union in ascending order; ``size`` and ``fill_value`` as for :func:`unique`."""
    both = concatenate([ravel(x) for x in to_common_dtype([ar1, ar2])])
    result = unique(both, size=size, fill_value=fill_value)
    return result if size is not None and fill_value is not None else _as_weak_as(result, ar1, ar2)


def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False, *, size: int | None = None,
    fill_value: Any = None,
) -> Any:  # fmt: skip
    """Return the intersection in ascending order.

    ``return_indices`` adds the index of each element's first occurrence in both arrays. ``assume_unique``
    promises that neither array has duplicates. ``size`` and ``fill_value`` are as for :func:`unique`; the indices
    of missing elements are out of bounds.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.intersect1d(jnp.array([3, 1, 2]), jnp.array([5, 2, 3])))
    [2 3]
    """
    common = _in_both(ar1, ar2, assume_unique=bool(assume_unique))
    count = _count(common.chosen, ar1, "intersect1d") if size is None else size_of(size)
    values, operands = common.values, [ar1, ar2]
    if size is not None and fill_value is not None:  # promote them, as where does
        values, fill_value = to_common_dtype([values, fill_value])
        operands.append(fill_value)
    fill_value = None if size is None else fill_value  # no element is filled
    values = _as_weak_as(_those(values, common.chosen, count, fill_value, "intersect1d"), *operands)
    if not return_indices:
        return values
    ends = aval_of(ar1).size, aval_of(ar2).size
    index_arrays = zip((common.first, common.second), ends, strict=True)
    return values, *(_those(positions, common.chosen, count, end, "intersect1d") for positions, end in index_arrays)


class _Both(NamedTuple):
    """Sorted elements, which of them are in both arrays, and their indices in the first and the second array."""

    values: Any
    chosen: Any
    first: Any
    second: Any


@together("assume_unique")
def _in_both(ar1: Any, ar2: Any, assume_unique: bool) -> Any:
    x, y = (ravel(v) for v in to_common_dtype([ar1, ar2]))
    (size_x,), (size_y,) = shape_of(x), shape_of(y)
    if not assume_unique:
        x = flip(x)  # so that the first occurrences in both arrays become neighbours
    indices = broadcasted_iota(canonical(int), (size_x + size_y,), 0)
    values, indices = sorting.sort([concatenate([x, y]), indices], 0, True, 1)
    last = max(0, size_x + size_y - 1)
    first, second = slice_in_dim(indices, 0, last), slice_in_dim(indices, min(1, size_x + size_y), size_x + size_y)
    chosen = logic.logical_not(_differs(values, False))
    if not assume_unique:
        is_pair = logic.bitwise_and(logic.less(first, size_x), logic.greater_equal(second, size_x))
        chosen, first = logic.bitwise_and(chosen, is_pair), size_x - 1 - first
    return _Both(slice_in_dim(values, 0, last), chosen, first, second - size_x)


def setdiff1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """Return the elements of the first array that are not in the second, in ascending order.

    With ``assume_unique`` they keep their order and duplicates. ``size`` is as for :func:`unique`, and
    ``fill_value`` is 0 unless it is given.
    """
    values, is_value = _different(ar1, assume_unique)
    missing = 0 if fill_value is None else fill_value
    missing = as_dtype(missing, aval_of(values).dtype)
    return _as_weak_as(_those(values, _but_not(values, is_value, ar2), size, missing, "setdiff1d"), ar1)


def setxor1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """Return the elements of exactly one array in ascending order; ``size`` and ``fill_value`` as for :func:`unique`.

    The result has the promoted dtype of the elements and ``fill_value``.
    """
    x, y = (ravel(v) for v in to_common_dtype([ar1, ar2]))
    result = _xor(x, y, assume_unique, size, fill_value)
    return _as_weak_as(result, ar1, ar2) if size is None else result


def _xor(x: Any, y: Any, assume_unique: bool, size: int | None, fill_value: Any) -> Any:
    if assume_unique:
        return _found_once(concatenate([x, y]), size, fill_value)
    (first, in_first), (second, in_second) = _different(x, False), _different(y, False)
    alone = concatenate([_but_not(first, in_first, second), _but_not(second, in_second, first)])
    excluded, values = sorting.sort([logic.logical_not(alone), concatenate([first, second])], 0, True, 2)
    return _those(values, logic.logical_not(excluded), size, fill_value, "setxor1d")


def _found_once(values: Any, size: int | None, fill_value: Any) -> Any:
    """Return the values that occur once, in ascending order."""
    (values,) = sorting.sort([values], 0)
    differs, edge = _differs(values, False), full((min(1, shape_of(values)[0]),), np.True_)
    is_single = logic.bitwise_and(concatenate([edge, differs]), concatenate([differs, edge]))
    return _those(values, is_single, size, fill_value, "setxor1d")


def _different(x: Any, assume_unique: bool) -> tuple[Any, Any]:
    """Return the unique elements, padded to the size of ``x``, and the mask of valid ones."""
    if assume_unique:
        return ravel(x), np.True_
    values, counts = unique(x, return_counts=True, size=aval_of(x).size)
    return values, logic.greater(counts, 0)


def _but_not(values: Any, is_value: Any, excluded: Any) -> Any:
    """Return which of the valid values are not among the excluded ones."""
    return logic.bitwise_and(is_value, logic.logical_not(isin(values, excluded)))


def _those(values: Any, mask: Any, size: int | None, fill_value: Any, name: str) -> Any:
    """Return the selected values; missing ones are ``fill_value``, or the smallest one (NaN if there is one)."""
    if fill_value is not None and shape_of(fill_value):
        raise ValueError(f"{name} takes fill_value as one value, got one of shape {shape_of(fill_value)}")
    count = _count(mask, values, name) if size is None else size_of(size)
    total = shape_of(values)[0]
    (positions,) = nonzero(mask, size=count, fill_value=total)
    result = take(values, positions, 0, mode="clip") if total and count else zeros((count,), aval_of(values).dtype)
    valid = logic.less(positions, total)
    if size is None:  # no element is filled
        return result
    if fill_value is None:
        smallest = logic.where(valid[0], result[0], 0) if count else 0
        has_nan = reductions.any(logic.bitwise_and(valid, logic.isnan(result)))
        fill_value = as_dtype(logic.where(has_nan, np.nan, smallest), aval_of(result).dtype)
    return logic.where(valid, result, fill_value)


def trim_zeros(filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Any:
    """Return the array without leading (f) and trailing (b) zeros along an axis, several, or all (None)."""
    if not isinstance(trim, str) or not trim or set(trim.lower()) - set("fb"):
        raise ValueError(f'trim is "f" (in front), "b" (behind) or "fb" (both), got {trim!r}')
    shape = shape_of(filt)
    axes = tuple(range(len(shape))) if axis is None else axes_of(axis, len(shape))
    filt = filt if isinstance(filt, Tracer) else asarray(filt)
    indices = np.nonzero(np.atleast_1d(_known(filt, "trim_zeros")))
    cuts = [_cut(indices[i], shape[i], trim.lower()) if i in axes else slice(None) for i in range(len(shape))]
    return asarray(filt)[tuple(cuts)] if shape else asarray(filt)


def _cut(positions: np.ndarray[Any, Any], size: int, trim: str) -> slice:
    """Return the slice of an axis that remains after trimming zeros around the nonzero ``positions``."""
    if not len(positions):
        return slice(0, 0)
    return slice(int(positions.min()) if "f" in trim else 0, int(positions.max()) + 1 if "b" in trim else size)
