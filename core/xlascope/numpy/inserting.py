"""Elements put in between others, and taken out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import canonical, kind_of
from ..trace.values import aval_of
from . import logic, reductions, searching, ufuncs
from .axes import axis_of
from .creation import asarray, zeros
from .promotion import as_dtype
from .ranges import arange
from .repeating import picked
from .shaping import broadcast_to, expand_dims, moveaxis, ravel, shape_of
from .sorting import argsort, sort
from .taking import take

#: Of so many places each is compared with each element, which is faster than a search.
_FEW = 64


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """With values put in before the elements at an index, at several, or at a slice, along an axis.

    Without ``axis`` the array is flattened. Indices beyond the ends become the ends.

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
    new = _as_rows(values, len(shape), axis if shape_of(obj) == () else 0)
    places = ravel(obj)
    count = shape_of(new)[axis] if shape_of(places) == (1,) else shape_of(places)[0]
    new = broadcast_to(as_dtype(new, aval_of(arr).dtype), (*shape[:axis], count, *shape[axis + 1 :]))
    return moveaxis(_joined(moveaxis(asarray(arr), axis, 0), places, moveaxis(new, axis, 0)), 0, axis)


def _as_rows(values: Any, rank: int, axis: int) -> Any:
    """Values with as many axes as the array; for one index, the first of them stands for its axis."""
    values = asarray(values)
    missing = rank - len(shape_of(values))
    values = expand_dims(values, tuple(range(missing))) if missing > 0 else values
    return moveaxis(values, 0, axis)


def _joined(x: Any, places: Any, new: Any) -> Any:
    """The rows of ``new`` put into those of ``x`` before ``places``, which are one or one for each row."""
    size, count = shape_of(x)[0], shape_of(new)[0]
    places = as_dtype(places, canonical(int))
    places = reductions.clip(logic.where(logic.less(places, 0), ufuncs.add(places, size), places), 0, size)
    places = broadcast_to(places, (count,))
    order = argsort(places)
    places = take(places, order)
    mine = ufuncs.add(places, arange(count))
    method = "compare_all" if count <= _FEW else "scan"
    before = searching.searchsorted(places, arange(size), side="right", method=method)
    made = zeros((size + count, *shape_of(x)[1:]), aval_of(x).dtype)
    return made.at[ufuncs.add(arange(size), before)].set(x).at[mine].set(take(new, order, 0))


def delete(arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False) -> Any:
    """Without the elements at an index, at several, or at a slice, along an axis.

    Without ``axis`` the array is flattened. The indices have to be known, as the result's size follows from them,
    unless ``assume_unique_indices`` says that no element is named twice: then indices may be traced, and those beyond
    the ends name the ends.

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
    if assume_unique_indices and not isinstance(obj, (int, slice)) and kind_of(aval_of(asarray(obj)).dtype) in "iu":
        return take(arr, _places_kept(ravel(asarray(obj)), size), axis)
    kept = np.delete(np.arange(size), np.asarray(obj) if not isinstance(obj, slice) else obj)
    return picked(arr, axis, kept)


def _places_kept(places: Any, size: int) -> Any:
    """The places of an axis that are not among some, each of which stands there once.

    The i-th of them in rising order, p[i], leaves p[i] - i in front of it. So in front of the k-th that is kept as many
    were taken out as have p[i] - i ≤ k.
    """
    count = shape_of(places)[0]
    if count > size:
        raise ValueError(f"delete takes at most the {size} indices of the axis where they are unique, got {count}")
    places = as_dtype(places, canonical(int))
    places = reductions.clip(logic.where(logic.less(places, 0), ufuncs.add(places, size), places), 0, size - 1)
    kept = arange(size - count)
    if not count:
        return kept
    return ufuncs.add(kept, searching.searchsorted(ufuncs.subtract(sort(places), arange(count)), kept, side="right"))
