"""Set operations on arrays; the size of a result depends on values, or is given while tracing (``size=``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import dtype_kind, to_canonical_dtype
from ..errors import ConcretizationTypeError
from ..ir.avals import make_aval
from ..operations import sorting
from ..operations.conversion import to_dtype
from ..operations.shapes import broadcasted_iota, expand_dims, full, reshape, zeros_of
from ..operations.slicing import slice_in_dim
from ..trace.concrete_values import require_known
from ..trace.tracer import TracerBase
from ..trace.values import aval_of
from . import logic, reductions, ufuncs
from .axes import axes_of, axis_of
from .creation import asarray, zeros_like
from .index_construction import nonzero, to_result_size
from .jit_wrapped import jit_wrapped
from .joining import concatenate
from .membership import isin
from .promotion import as_dtype, common_dtype, promote_dtypes
from .repeating import flip
from .shaping import broadcast_to, moveaxis, ravel, shape_of
from .taking import take

_OUTSIDE = "Call it outside of the traced function, or select with a mask: where(mask, x, fill) keeps the shape."


def _require_concrete(x: Any, name: str) -> np.ndarray[Any, Any]:
    value = require_known(x, name, "how many elements the result has", _OUTSIDE)
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
    groups = _group_elements(ar, axis=along, equal_nan=bool(equal_nan))
    count = _concrete_count(groups.starts, ar, "unique") if size is None else to_result_size(size)
    if count and not shape_of(groups.order)[0] and fill_value is None:
        raise ValueError(f"unique of no elements (shape {shape}): size={count} needs a fill_value")
    values, index, counts = _first_of_each_group(
        ar, groups, fill_value, axis=along, equal_nan=bool(equal_nan), size=count
    )
    if size is None or fill_value is None:
        values = _weaken_like(values, ar)
    inverse = reshape(groups.inverse, shape) if axis is None else groups.inverse
    requested = (values, True), (index, return_index), (inverse, return_inverse), (counts, return_counts)
    results = tuple(result for result, is_wanted in requested if is_wanted)
    return results if len(results) > 1 else results[0]


class _ElementGroups(NamedTuple):
    """Groups of equal elements of an array.

    ``order`` are the indices that sort the elements, ``starts`` is the mask of the sorted elements that are the
    first of their group, and ``inverse`` has the number of the group of each element, in the array's order.
    """

    order: Any
    starts: Any
    inverse: Any


@jit_wrapped("axis", "equal_nan")
def _group_elements(ar: Any, axis: int | None, equal_nan: bool) -> Any:
    """Return the groups of equal elements of ``ar``, or of equal slices along ``axis`` (None: of elements)."""
    rows = _as_rows(ar, axis, equal_nan)
    size, width = shape_of(rows)
    positions = broadcasted_iota(to_canonical_dtype(int), (size,), 0)
    keys = [reshape(slice_in_dim(rows, i, i + 1, 1), (size,)) for i in range(width)]
    *keys, order = sorting.sort([*keys, positions], 0, True, max(1, width)) if width else [positions]
    differs = full((max(0, size - 1),), np.False_)
    for key in keys:
        differs = logic.bitwise_or(differs, _differs_from_previous(key, equal_nan))
    starts = concatenate([full((min(1, size),), np.True_), differs])
    group = reductions.cumsum(starts) - 1
    return _ElementGroups(order, starts, zeros_like(order).at[order].set(group))


def _as_rows(ar: Any, axis: int | None, equal_nan: bool) -> Any:
    """Return the elements as rows of one element (``axis`` None), or the slices along an axis as flattened rows.

    With ``equal_nan`` all complex numbers with a NaN become the same one.
    """
    if equal_nan and dtype_kind(aval_of(ar).dtype) == "c":  # which have many representations
        ar = logic.where(logic.isnan(ar), math.nan, ar)
    if axis is None:
        return reshape(ar, (aval_of(ar).size, 1))
    slices_first = moveaxis(ar, axis, 0)
    size, *remaining = shape_of(slices_first)
    return reshape(slices_first, (size, math.prod(remaining)))


def _differs_from_previous(key: Any, equal_nan: bool) -> Any:
    """Return a mask of the elements of a vector that differ from the previous one, without the first element.

    ``equal_nan`` says that NaN equals NaN.
    """
    size = shape_of(key)[0]
    before, after = slice_in_dim(key, 0, max(0, size - 1)), slice_in_dim(key, min(1, size), size)
    differs = logic.not_equal(before, after)
    if not equal_nan or dtype_kind(aval_of(key).dtype) not in "fc":
        return differs
    return logic.bitwise_and(differs, logic.logical_not(logic.bitwise_and(logic.isnan(before), logic.isnan(after))))


def _concrete_count(condition: Any, x: Any, name: str) -> int:
    """Return the number of true elements of ``condition``; raise ConcretizationTypeError for a tracer.

    ``x`` is the user's array and ``name`` the calling function, for the message.
    """
    mask = condition.concrete() if isinstance(condition, TracerBase) else condition
    if mask is None:
        raise ConcretizationTypeError(
            f"{name} of {x!r}: how many elements the result has is not known while tracing. Say it: size=..."
        )
    return int(np.count_nonzero(np.asarray(mask)))


@jit_wrapped("axis", "equal_nan", "size")
def _first_of_each_group(
    ar: Any, groups: Any, fill_value: Any, axis: int | None, equal_nan: bool, size: int
) -> tuple[Any, Any, Any]:
    """Return the first element of each group of equal elements, its index, and the size of the group.

    ``groups`` are those of ``ar``; ``size`` is the number of groups: excess ones are dropped, missing ones have
    ``fill_value`` (None: the element of the first group) and size 0.
    """
    order, starts, _ = groups
    rows = _as_rows(ar, axis, equal_nan)
    total = shape_of(order)[0]
    (ends,) = nonzero(starts, size=size + 1, fill_value=total)
    begins = slice_in_dim(ends, 0, size)
    counts = ufuncs.subtract(slice_in_dim(ends, 1, size + 1), begins)
    index = take(concatenate([order, zeros_like(order[:1])]), begins, 0, mode="clip") if total else begins
    valid = logic.less(begins, total)
    index = logic.where(valid, index, order[0] if total else 0)
    values = take(rows, index, 0, mode="clip") if total else zeros_of(make_aval((size, shape_of(rows)[1]), rows.dtype))
    if fill_value is not None:
        missing = _fill_row(fill_value, ar, axis)
        values = logic.where(expand_dims(valid, (1,)), values, missing)
    return _rows_to_slices(values, ar, axis), index, counts


def _fill_row(fill_value: Any, ar: Any, axis: int | None) -> Any:
    """Return ``fill_value`` in the dtype of ``ar`` as a row: one element, or a flattened slice along ``axis``."""
    shape = shape_of(ar)
    slice_shape = () if axis is None else (*shape[:axis], *shape[axis + 1 :])
    fill = broadcast_to(as_dtype(fill_value, aval_of(ar).dtype), slice_shape)
    return reshape(fill, (1, math.prod(slice_shape)))


def _rows_to_slices(rows: Any, ar: Any, axis: int | None) -> Any:
    """Return rows as a vector of elements (``axis`` None), or as slices along ``axis``.

    It is the inverse of :func:`_as_rows`; ``ar`` is the array whose slices have the shape.
    """
    size, shape = shape_of(rows)[0], shape_of(ar)
    if axis is None:
        return reshape(rows, (size,))
    return moveaxis(reshape(rows, (size, *shape[:axis], *shape[axis + 1 :])), 0, axis)


def _weaken_like(x: Any, *operands: Any) -> Any:
    """Return ``x``, weakly typed if the promoted type of the operands is."""
    dtype, weak = common_dtype([aval_of(y) for y in operands])
    return to_dtype(x, dtype, True) if weak else x


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the union in ascending order; ``size`` and ``fill_value`` as for :func:`unique`."""
    both = concatenate([ravel(x) for x in promote_dtypes([ar1, ar2])])
    result = unique(both, size=size, fill_value=fill_value)
    return result if size is not None and fill_value is not None else _weaken_like(result, ar1, ar2)


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
    common = _intersect(ar1, ar2, assume_unique=bool(assume_unique))
    count = _concrete_count(common.is_common, ar1, "intersect1d") if size is None else to_result_size(size)
    values, operands = common.values, [ar1, ar2]
    if size is not None and fill_value is not None:  # promote them, as where does
        values, fill_value = promote_dtypes([values, fill_value])
        operands.append(fill_value)
    fill_value = None if size is None else fill_value  # no element is filled
    values = _weaken_like(_select_with_fill(values, common.is_common, count, fill_value, "intersect1d"), *operands)
    if not return_indices:
        return values
    ends = aval_of(ar1).size, aval_of(ar2).size
    index_arrays = zip((common.first, common.second), ends, strict=True)
    return values, *(
        _select_with_fill(positions, common.is_common, count, end, "intersect1d") for positions, end in index_arrays
    )


class _Intersection(NamedTuple):
    """Elements of two arrays sorted together, and which of them are in both.

    ``values`` are all sorted elements except the last; ``is_common`` is the mask of those in both arrays,
    ``first`` and ``second`` are their indices in the arrays, valid where the mask holds.
    """

    values: Any
    is_common: Any
    first: Any
    second: Any


@jit_wrapped("assume_unique")
def _intersect(ar1: Any, ar2: Any, assume_unique: bool) -> Any:
    """Sort the elements of two arrays together; ``assume_unique`` promises that neither has duplicates."""
    x, y = (ravel(v) for v in promote_dtypes([ar1, ar2]))
    (size_x,), (size_y,) = shape_of(x), shape_of(y)
    if not assume_unique:
        x = flip(x)  # so that the first occurrences in both arrays become neighbours
    indices = broadcasted_iota(to_canonical_dtype(int), (size_x + size_y,), 0)
    values, indices = sorting.sort([concatenate([x, y]), indices], 0, True, 1)
    last = max(0, size_x + size_y - 1)
    first, second = slice_in_dim(indices, 0, last), slice_in_dim(indices, min(1, size_x + size_y), size_x + size_y)
    mask = logic.logical_not(_differs_from_previous(values, False))
    if not assume_unique:
        is_pair = logic.bitwise_and(logic.less(first, size_x), logic.greater_equal(second, size_x))
        mask, first = logic.bitwise_and(mask, is_pair), size_x - 1 - first
    return _Intersection(slice_in_dim(values, 0, last), mask, first, second - size_x)


def setdiff1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """Return the elements of the first array that are not in the second, in ascending order.

    With ``assume_unique`` they keep their order and duplicates. ``size`` is as for :func:`unique`, and
    ``fill_value`` is 0 unless it is given.
    """
    values, is_value = _unique_values(ar1, assume_unique)
    missing = 0 if fill_value is None else fill_value
    missing = as_dtype(missing, aval_of(values).dtype)
    return _weaken_like(
        _select_with_fill(values, _mask_difference(values, is_value, ar2), size, missing, "setdiff1d"), ar1
    )


def setxor1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """Return the elements of exactly one array in ascending order; ``size`` and ``fill_value`` as for :func:`unique`.

    The result has the promoted dtype of the elements and ``fill_value``.
    """
    x, y = (ravel(v) for v in promote_dtypes([ar1, ar2]))
    result = _symmetric_difference(x, y, assume_unique, size, fill_value)
    return _weaken_like(result, ar1, ar2) if size is None else result


def _symmetric_difference(x: Any, y: Any, assume_unique: bool, size: int | None, fill_value: Any) -> Any:
    if assume_unique:
        return _values_occurring_once(concatenate([x, y]), size, fill_value)
    (first, in_first), (second, in_second) = _unique_values(x, False), _unique_values(y, False)
    difference = concatenate([_mask_difference(first, in_first, second), _mask_difference(second, in_second, first)])
    excluded, values = sorting.sort([logic.logical_not(difference), concatenate([first, second])], 0, True, 2)
    return _select_with_fill(values, logic.logical_not(excluded), size, fill_value, "setxor1d")


def _values_occurring_once(values: Any, size: int | None, fill_value: Any) -> Any:
    """Return the values of a vector that occur once, in ascending order.

    ``size`` and ``fill_value`` are as for :func:`_select_with_fill`.
    """
    (values,) = sorting.sort([values], 0)
    differs, edge = _differs_from_previous(values, False), full((min(1, shape_of(values)[0]),), np.True_)
    is_single = logic.bitwise_and(concatenate([edge, differs]), concatenate([differs, edge]))
    return _select_with_fill(values, is_single, size, fill_value, "setxor1d")


def _unique_values(x: Any, assume_unique: bool) -> tuple[Any, Any]:
    """Return the unique elements, padded to the size of ``x``, and the mask of those that are not padding.

    With ``assume_unique`` all elements are returned, in their order.
    """
    if assume_unique:
        return ravel(x), np.True_
    values, counts = unique(x, return_counts=True, size=aval_of(x).size)
    return values, logic.greater(counts, 0)


def _mask_difference(values: Any, is_value: Any, excluded: Any) -> Any:
    """Return the mask of the ``values`` that are valid (``is_value``) and not among ``excluded``."""
    return logic.bitwise_and(is_value, logic.logical_not(isin(values, excluded)))


def _select_with_fill(values: Any, mask: Any, size: int | None, fill_value: Any, name: str) -> Any:
    """Return the elements of a vector at which ``mask`` holds, ``size`` of them.

    Excess values are dropped; missing ones are ``fill_value``, or for None the smallest value (NaN if there is
    one). ``size`` None stands for all, which requires a concrete mask. ``name`` is the calling function, for
    messages.
    """
    if fill_value is not None and shape_of(fill_value):
        raise ValueError(f"{name} takes fill_value as one value, got one of shape {shape_of(fill_value)}")
    count = _concrete_count(mask, values, name) if size is None else to_result_size(size)
    total = shape_of(values)[0]
    (positions,) = nonzero(mask, size=count, fill_value=total)
    result = (
        take(values, positions, 0, mode="clip")
        if total and count
        else zeros_of(make_aval((count,), aval_of(values).dtype))
    )
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
    filt = filt if isinstance(filt, TracerBase) else asarray(filt)
    indices = np.nonzero(np.atleast_1d(_require_concrete(filt, "trim_zeros")))
    cuts = [_trim_slice(indices[i], shape[i], trim.lower()) if i in axes else slice(None) for i in range(len(shape))]
    return asarray(filt)[tuple(cuts)] if shape else asarray(filt)


def _trim_slice(positions: np.ndarray[Any, Any], size: int, trim: str) -> slice:
    """Return the slice of an axis of ``size`` elements that remains after trimming zeros.

    ``positions`` are those of the nonzero elements; ``trim`` contains "f" to trim the front, "b" to trim the
    back.
    """
    if not len(positions):
        return slice(0, 0)
    return slice(int(positions.min()) if "f" in trim else 0, int(positions.max()) + 1 if "b" in trim else size)
