"""Insertion and deletion of elements along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import dtype_kind, to_canonical_dtype
from ..ir.avals import make_aval
from ..operations.shapes import zeros_of
from ..trace.concrete_values import require_known
from ..trace.values import aval_of
from . import logic, reductions, searching, ufuncs
from .axes import axis_of
from .creation import asarray
from .promotion import as_dtype
from .ranges import arange
from .repeating import take_static
from .shaping import broadcast_to, expand_dims, moveaxis, ravel, shape_of
from .sorting import argsort, sort
from .taking import take

#: Up to this many positions are each compared with each element, which is faster than a search.
_MAX_COMPARED_POSITIONS = 64


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Return ``arr`` with values inserted before an index, several indices, or a slice, along an axis.

    Without ``axis`` the array is flattened. Indices out of bounds are clipped.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.insert(jnp.array([1, 2, 3]), jnp.array([0, 2]), jnp.array([7, 8])))
    [7 1 2 8 3]
    """
    if axis is None:
        arr, axis = ravel(arr), 0
    shape = shape_of(arr)
    axis = axis_of(axis, len(shape))
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(shape[axis]))
    new = _match_rank(values, len(shape), axis if shape_of(obj) == () else 0)
    positions = ravel(obj)
    count = shape_of(new)[axis] if shape_of(positions) == (1,) else shape_of(positions)[0]
    new = broadcast_to(as_dtype(new, aval_of(arr).dtype), (*shape[:axis], count, *shape[axis + 1 :]))
    return moveaxis(_insert_rows(moveaxis(asarray(arr), axis, 0), positions, moveaxis(new, axis, 0)), 0, axis)


def _match_rank(values: Any, rank: int, axis: int) -> Any:
    """Return ``values`` with leading axes of size 1 added up to ``rank``, and the first axis moved to ``axis``."""
    values = asarray(values)
    missing = rank - len(shape_of(values))
    values = expand_dims(values, tuple(range(missing))) if missing > 0 else values
    return moveaxis(values, 0, axis)


def _insert_rows(x: Any, positions: Any, new: Any) -> Any:
    """Insert the rows of ``new`` into ``x`` before ``positions``: one position, or one for each row.

    Positions are rows of ``x``; negative ones count from the end, and positions out of bounds are clipped.
    """
    size, count = shape_of(x)[0], shape_of(new)[0]
    positions = as_dtype(positions, to_canonical_dtype(int))
    positions = reductions.clip(logic.where(logic.less(positions, 0), ufuncs.add(positions, size), positions), 0, size)
    positions = broadcast_to(positions, (count,))
    order = argsort(positions)
    positions = take(positions, order)
    new_positions = ufuncs.add(positions, arange(count))
    method = "compare_all" if count <= _MAX_COMPARED_POSITIONS else "scan"
    inserted_before = searching.searchsorted(positions, arange(size), side="right", method=method)
    result = zeros_of(make_aval((size + count, *shape_of(x)[1:]), aval_of(x).dtype))
    return result.at[ufuncs.add(arange(size), inserted_before)].set(x).at[new_positions].set(take(new, order, 0))


def delete(arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False) -> Any:
    """Return ``arr`` without the elements at one index, at several indices, or at a slice, along an axis.

    Without ``axis`` the array is flattened. The indices have to be concrete, since they determine the size of the
    result. With ``assume_unique_indices``, no index may occur twice; then indices may be traced, and are clipped
    to the bounds.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(jnp.delete(jnp.arange(5), slice(1, 3)))
    [0 3 4]
    >>> print(xs.jit(lambda i: jnp.delete(jnp.arange(5), i, assume_unique_indices=True))(jnp.array([3, 0])))
    [1 2 4]
    """
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_of(axis, len(shape_of(arr)))
    size = shape_of(arr)[axis]
    if assume_unique_indices and not isinstance(obj, (int, slice)) and dtype_kind(aval_of(asarray(obj)).dtype) in "iu":
        return take(arr, _remaining_positions(ravel(asarray(obj)), size), axis)
    fix = "Pass assume_unique_indices=True if no index is there twice, or select with a mask."
    indices = require_known(obj, "delete", "how many elements remain", fix)
    remaining = np.delete(np.arange(size), indices if isinstance(indices, slice) else np.asarray(indices))
    return take_static(arr, axis, remaining)


def _remaining_positions(deleted: Any, size: int) -> Any:
    """Return the positions of an axis of ``size`` elements that are not among the unique ``deleted`` ones.

    With the deleted positions p[i] in ascending order, p[i] - i remaining positions lie before p[i]. So before
    the k-th remaining position as many positions are deleted as have p[i] - i ≤ k.
    """
    count = shape_of(deleted)[0]
    if count > size:
        raise ValueError(f"delete takes at most the {size} indices of the axis where they are unique, got {count}")
    deleted = as_dtype(deleted, to_canonical_dtype(int))
    deleted = reductions.clip(logic.where(logic.less(deleted, 0), ufuncs.add(deleted, size), deleted), 0, size - 1)
    ranks = arange(size - count)
    if not count:
        return ranks
    return ufuncs.add(ranks, searching.searchsorted(ufuncs.subtract(sort(deleted), arange(count)), ranks, side="right"))
