"""Elements put in between others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import canonical
from ..trace.values import aval_of
from . import logic, reductions, ufuncs
from .axes import axis_of
from .creation import asarray, zeros
from .promotion import as_dtype
from .ranges import arange
from .shaping import broadcast_to, expand_dims, moveaxis, ravel, shape_of
from .sorting import argsort
from .taking import take


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
    mine = ufuncs.add(take(places, order), arange(count))
    before = reductions.sum(logic.less_equal(expand_dims(places, 1), arange(size)), 0)
    made = zeros((size + count, *shape_of(x)[1:]), aval_of(x).dtype)
    return made.at[ufuncs.add(arange(size), before)].set(x).at[mine].set(take(new, order, 0))
