"""Construction of BCOO arrays, and their conversion to dense ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...api import vmap
from ...errors import ConcretizationTypeError
from ...random import choice, split, uniform
from ...trace.source import here
from ...trace.values import aval_of
from .formats import BCOO, broadcast_batch, index_columns, require_format, shape_parts


def over_batch(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return ``function``, which takes arrays without batch axes, mapped over ``count`` leading batch axes."""
    for _ in range(count):
        function = vmap(function)
    return function


def bcoo_todense(mat: BCOO) -> Any:
    """Convert a BCOO array to a dense one: entries at equal positions are added, padding is dropped.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental import sparse
    >>> print(sparse.bcoo_todense(sparse.BCOO((jnp.array([1.0, 2.0]), jnp.array([[0], [2]])), shape=(3,))))
    [1. 0. 2.]
    """
    require_format(mat, BCOO, "bcoo_todense")
    _, sparse, dense = shape_parts(mat)

    def scatter_entries(data: Any, indices: Any) -> Any:
        if not sparse:
            return jnp.sum(data, axis=0, dtype=data.dtype)
        return jnp.zeros((*sparse, *dense), data.dtype).at[index_columns(indices)].add(data, mode="drop")

    return over_batch(scatter_entries, mat.n_batch)(*broadcast_batch(mat))


def bcoo_fromdense(
    mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCOO:
    """Convert a dense array to BCOO, with sorted entries.

    ``nse`` is the number of entries to store for each matrix of the batch. None stores all nonzero ones, which
    requires concrete values; inside ``jit`` it has to be given. The first ``n_batch`` axes are batch axes, the last
    ``n_dense`` dense ones. Raises ValueError if there are not that many axes, and ConcretizationTypeError if ``nse``
    has to be given.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental import sparse
    >>> x = sparse.bcoo_fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> print(x.data, x.indices.tolist())
    [2. 3.] [[0, 1], [1, 0]]
    """
    mat = jnp.asarray(mat)
    n_sparse = mat.ndim - n_batch - n_dense
    if min(n_batch, n_dense, n_sparse) < 0:
        raise ValueError(f"n_batch={n_batch} and n_dense={n_dense} do not fit an array with {mat.ndim} axes{here()}")
    is_nonzero = jnp.any(mat != 0, axis=tuple(range(mat.ndim - n_dense, mat.ndim)))
    if nse is None:
        counted = jnp.sum(is_nonzero, axis=tuple(range(n_batch, is_nonzero.ndim)))
        nse = _concrete_count(jnp.max(counted, initial=0), "nse of bcoo_fromdense")
    shape = mat.shape[n_batch : n_batch + n_sparse]

    def extract_entries(x: Any, is_nonzero: Any) -> tuple[Any, Any]:
        if not shape:
            return x[None][:nse], jnp.zeros((min(nse, 1), 0), index_dtype)
        coordinates = jnp.nonzero(is_nonzero, size=nse, fill_value=shape)
        indices = jnp.stack([coordinate.astype(index_dtype) for coordinate in coordinates], axis=-1)
        return x.at[coordinates].get(mode="fill", fill_value=0), indices

    buffers = over_batch(extract_entries, n_batch)(mat, is_nonzero)
    return BCOO(buffers, shape=mat.shape, indices_sorted=True, unique_indices=True)


def _concrete_count(x: Any, name: str) -> int:
    """Return a count as an int; if it is traced, raise ConcretizationTypeError with the advice to give ``name``."""
    try:
        return int(x)
    except ConcretizationTypeError as error:
        error.add_note(f"{name} has to be given where the array is traced: how many entries are kept")
        raise


def bcoo_extract(sparr: BCOO, arr: Any, *, assume_unique: bool | None = None) -> BCOO:
    """Return the elements of a dense array at the positions of a BCOO array, as a BCOO array.

    If several entries have one position, the first gets the element and the others 0. ``assume_unique`` (by default
    ``sparr.unique_indices``) says that there are none, which is faster. Raises ValueError if the shapes differ.
    """
    require_format(sparr, BCOO, "bcoo_extract")
    arr = jnp.asarray(arr)
    if arr.shape != sparr.shape:
        raise ValueError(f"bcoo_extract takes arrays of one shape, got {sparr.shape} and {arr.shape}{here()}")
    unique = sparr.unique_indices if assume_unique is None else assume_unique
    _, sparse, _ = shape_parts(sparr)

    def gather_entries(x: Any, indices: Any) -> Any:
        if not sparse:
            picked = jnp.broadcast_to(x, (indices.shape[0], *x.shape))
        else:
            picked = x.at[index_columns(indices)].get(mode="fill", fill_value=0)
        if not unique:
            first = _is_first_at_position(indices, sparse)
            picked = jnp.where(jnp.reshape(first, (-1,) + (1,) * (picked.ndim - 1)), picked, 0)
        return picked

    _, indices = broadcast_batch(sparr)
    data = over_batch(gather_entries, sparr.n_batch)(arr, indices)
    return BCOO(
        (data, indices), shape=sparr.shape, indices_sorted=sparr.indices_sorted, unique_indices=sparr.unique_indices
    )


def _is_first_at_position(indices: Any, shape: Sequence[int]) -> Any:
    """Return a mask of the entries that are the first at their position, within ``shape``."""
    count = aval_of(indices).shape[0]
    if not shape:
        return jnp.arange(count) == 0
    firsts = (
        jnp.full(shape, count, np.int32).at[index_columns(indices)].min(jnp.arange(count, dtype=np.int32), mode="drop")
    )
    return firsts.at[index_columns(indices)].get(mode="fill", fill_value=count) == jnp.arange(count)


def bcoo_empty(shape: Sequence[int], dtype: Any, n_batch: int, n_dense: int, nse: int, index_dtype: Any) -> BCOO:
    """Return a BCOO array of ``nse`` entries that are all padding."""
    shape = tuple(shape)
    n_sparse = len(shape) - n_batch - n_dense
    batch, sparse, dense = shape[:n_batch], shape[n_batch : n_batch + n_sparse], shape[n_batch + n_sparse :]
    indices = jnp.broadcast_to(jnp.array(sparse, index_dtype), (*batch, nse, n_sparse))
    data = jnp.zeros((*batch, nse, *dense), dtype)
    return BCOO((data, indices), shape=shape, indices_sorted=True, unique_indices=True)


def bcoo_eye(rows: int, cols: int, k: int, dtype: Any, n_batch: int, n_dense: int, index_dtype: Any) -> BCOO:
    """Return a BCOO array with ones along the ``k``-th diagonal, with any number of batch and dense axes."""
    count = max(0, min(rows, cols - k) if k >= 0 else min(rows + k, cols))
    if n_batch == n_dense == 0:
        steps = jnp.arange(count, dtype=index_dtype)
        indices = jnp.stack([steps - min(k, 0), steps + max(k, 0)], axis=-1)
        data = jnp.ones((count,), dtype)
        return BCOO((data, indices), shape=(rows, cols), indices_sorted=True, unique_indices=True)
    return bcoo_fromdense(jnp.eye(rows, cols, k, dtype), n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)


def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = float,
    indices_dtype: Any = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = uniform,
    **kwds: Any,
) -> BCOO:
    """Return a BCOO array with entries at random positions, drawn by ``generator(key, shape, dtype)``.

    ``nse`` is the number of entries or, below 1, their fraction of the positions along the sparse axes. Positions are
    distinct unless ``unique_indices`` is False, and sorted with ``sorted_indices``. Raises ValueError for an ``nse``
    below 0, or above the number of positions.

    >>> import xlascope as xs
    >>> from xlascope.experimental import sparse
    >>> sparse.random_bcoo(xs.random.key(0), (4, 5), nse=0.25)
    BCOO(float32[4, 5], nse=5)
    """
    shape = tuple(shape)
    n_sparse = len(shape) - n_batch - n_dense
    if n_sparse < 0 or n_batch < 0 or n_dense < 0:
        raise ValueError(f"n_batch={n_batch} and n_dense={n_dense} do not fit the shape {shape}{here()}")
    batch, sparse, dense = shape[:n_batch], shape[n_batch : n_batch + n_sparse], shape[n_batch + n_sparse :]
    size = int(np.prod(sparse))
    count = int(np.ceil(nse * size)) if 0 <= nse < 1 else int(nse)
    if count < 0 or (unique_indices and count > size):
        raise ValueError(f"nse={nse} does not fit {size} places of the sparse axes{here()}")
    number = int(np.prod(batch))
    of_data, *of_indices = split(key, number + 1)
    index_dtype = np.int32 if indices_dtype is None else indices_dtype

    def draw_indices(key: Any) -> Any:
        if not sparse:
            return jnp.zeros((count, 0), index_dtype)
        flat = choice(key, size, (count,), replace=not unique_indices)
        coordinates = jnp.unravel_index(jnp.sort(flat) if sorted_indices else flat, sparse)
        return jnp.stack([x.astype(index_dtype) for x in coordinates], axis=-1)

    draws = vmap(draw_indices)(jnp.stack(of_indices)) if number else jnp.zeros((0, count, n_sparse), index_dtype)
    indices = jnp.reshape(draws, (*batch, count, n_sparse))
    data = generator(of_data, (*batch, count, *dense), dtype, **kwds)
    return BCOO((data, indices), shape=shape, indices_sorted=sorted_indices, unique_indices=unique_indices)
