"""Indices as values: ``s_``, ``ix_``, the places of triangles, and places that depend on values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import canonical
from ..errors import NonConcreteBooleanIndexError
from ..operations.shapes import broadcasted_iota, reshape
from ..trace.tracer import Tracer
from ..trace.values import aval_of
from . import creation, joining, logic, shaping, ufuncs


class _Grid:
    """Coordinates by slices, as NumPy's ``mgrid`` and ``ogrid`` take them: ``mgrid[0:3, 0:1:5j]``."""

    __slots__ = ("_grid",)

    def __init__(self, grid: Any) -> None:
        self._grid = grid

    def __getitem__(self, key: Any) -> Any:
        made = self._grid[key]
        return [creation.array(x) for x in made] if isinstance(made, (list, tuple)) else creation.array(made)


class _Joined:
    """Values and slices joined along an axis: ``r_[1, 2, 3:5]``, or as columns: ``c_[x, y]``."""

    __slots__ = ("_columns",)

    def __init__(self, columns: bool) -> None:
        self._columns = columns

    def __getitem__(self, key: Any) -> Any:
        parts = [self._part(part) for part in (key if isinstance(key, tuple) else (key,))]
        return joining.column_stack(parts) if self._columns else joining.concatenate(parts, 0)

    def _part(self, part: Any) -> Any:
        if isinstance(part, slice):
            return creation.arange(part.start or 0, part.stop, part.step)
        if isinstance(part, str):
            raise NotImplementedError(f"the directive {part!r}; use concatenate or stack")
        return shaping.atleast_1d(creation.asarray(part))


mgrid, ogrid = _Grid(np.mgrid), _Grid(np.ogrid)
r_, c_ = _Joined(False), _Joined(True)
s_ = np.s_
index_exp = np.index_exp


def where(condition: Any, x: Any = None, y: Any = None, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """``x`` where the condition holds, ``y`` elsewhere; with the condition alone, the places where it holds.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.where(jnp.arange(3) > 1, 10.0, jnp.arange(3)))
    [ 0.  1. 10.]
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("where takes the condition alone, or the condition and both x and y")
    return logic.where(condition, x, y)


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """The places of the elements that are not zero, one array per axis; they have to be known while tracing."""
    places = np.nonzero(np.atleast_1d(_known(a, "nonzero")))
    if size is not None:
        fill = 0 if fill_value is None else fill_value
        places = tuple(np.concatenate([p[:size], np.full(max(0, size - len(p)), fill)]) for p in places)
    return tuple(creation.array(p.astype(canonical(int))) for p in places)


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The places of the elements that are not zero in the flattened array."""
    return nonzero(shaping.ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The places of the elements that are not zero, one row each."""
    return joining.stack(list(nonzero(a, size=size, fill_value=fill_value)), 1)


def _known(a: Any, name: str) -> np.ndarray[Any, Any]:
    value = a.concrete() if isinstance(a, Tracer) else a
    if value is None:
        raise NonConcreteBooleanIndexError(
            f"{name} of {a!r}: the size of the result depends on values that are not known while tracing. "
            "Use where(condition, x, y) with three arguments."
        )
    aval_of(value)
    return np.asarray(value)


def ix_(*args: Any) -> tuple[Any, ...]:
    """Index arrays that together take a block: argument i along axis i."""
    for x in args:
        if len(aval_of(x).shape) != 1:
            raise ValueError("ix_ takes arrays of one axis")
    rank = len(args)
    return tuple(
        reshape(creation.asarray(x), [aval_of(x).size if i == axis else 1 for i in range(rank)])
        for axis, x in enumerate(args)
    )


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """For each axis of a shape, the index along it of every element."""
    wanted = canonical(int if dtype is None else dtype)
    sizes = tuple(dimensions)
    if sparse:
        own = [tuple(n if i == axis else 1 for i in range(len(sizes))) for axis, n in enumerate(sizes)]
        return tuple(broadcasted_iota(wanted, shape, axis) for axis, shape in enumerate(own))
    return joining.stack([broadcasted_iota(wanted, sizes, axis) for axis in range(len(sizes))])


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The places on and below diagonal ``k`` of an n × m matrix."""
    return _pair(np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The places on and above diagonal ``k`` of an n × m matrix."""
    return _pair(np.triu_indices(n, k, m))


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The places of the diagonal of an array with ``ndim`` axes of size n."""
    return (creation.arange(n),) * ndim


def _pair(places: Any) -> tuple[Any, Any]:
    rows, columns = (creation.array(p.astype(canonical(int))) for p in places)
    return rows, columns


def unravel_index(indices: Any, shape: Sequence[int]) -> tuple[Any, ...]:
    """The coordinates of places in the flattened array."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    found: list[Any] = []
    for size in reversed(sizes):
        indices, place = ufuncs.divmod(indices, size)
        found.append(place)
    return tuple(reversed(found))


def ravel_multi_index(multi_index: Sequence[Any], dims: Sequence[int]) -> Any:
    """The places in the flattened array of coordinates, which have to be inside."""
    place: Any = 0
    for index, size in zip(multi_index, dims, strict=True):
        place = ufuncs.add(ufuncs.multiply(place, size), index)
    return place


def mask_indices(n: int, mask_func: Any, k: int = 0) -> tuple[Any, ...]:
    """The places where ``mask_func`` of an n × n matrix of ones is not zero."""
    return nonzero(mask_func(creation.ones((n, n)), k))


def iterable(y: Any) -> bool:
    """Whether something can be iterated over."""
    return bool(np.iterable(y))
