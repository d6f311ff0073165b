"""Layout of BCOO arrays: the order of entries, and the numbers of batch, sparse and dense axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...trace.source import here
from ...trace.values import aval_of
from .construction import _concrete_count, over_batch
from .formats import BCOO, broadcast_batch, index_columns, is_inside, require_format, shape_parts


def _expand_mask(mask: Any, like: Any) -> Any:
    """Return a mask of entries with trailing axes of size 1, so that it has the rank of ``like``."""
    return jnp.reshape(mask, (*mask.shape, *(1,) * (like.ndim - mask.ndim)))


def _order(indices: Any) -> Any:
    """Return the permutation that sorts entries by position, the first sparse axis first."""
    keys = index_columns(indices)
    return jnp.lexsort(keys[::-1]) if keys else jnp.arange(indices.shape[0])


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """Return the same array with its entries sorted by position.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental import sparse
    >>> x = sparse.BCOO((jnp.array([1.0, 2.0]), jnp.array([[2], [0]])), shape=(3,))
    >>> print(sparse.bcoo_sort_indices(x).data)
    [2. 1.]
    """
    require_format(mat, BCOO, "bcoo_sort_indices")
    if mat.indices_sorted:
        return mat

    def sort_entries(data: Any, indices: Any) -> tuple[Any, Any]:
        order = _order(indices)
        return data[order], indices[order]

    buffers = over_batch(sort_entries, mat.n_batch)(*broadcast_batch(mat))
    return BCOO(buffers, shape=mat.shape, indices_sorted=True, unique_indices=mat.unique_indices)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """Return the same array with one entry for each position, sorted; padding is at the end.

    ``nse`` is the number of entries to store. None stores as many as there are positions with nonzero entries; inside
    ``jit`` it has to be given.
    """
    require_format(mat, BCOO, "bcoo_sum_duplicates")
    _, sparse, _ = shape_parts(mat)

    def group_entries(data: Any, indices: Any) -> tuple[Any, ...]:
        is_valid = is_inside(indices, sparse) & jnp.any(data != 0, axis=tuple(range(1, data.ndim)))
        indices = jnp.where(is_valid[:, None], indices, np.array(sparse, aval_of(indices).dtype))
        order = _order(indices)
        data, indices, is_valid = data[order], indices[order], is_valid[order]
        changed = jnp.any(indices[1:] != indices[:-1], axis=-1)
        new = jnp.concatenate([is_valid[:1], changed & is_valid[1:]])
        return data, indices, is_valid, jnp.cumsum(new, dtype=np.int32)

    data, indices, is_valid, numbers = over_batch(group_entries, mat.n_batch)(*broadcast_batch(mat))
    if nse is None:
        nse = _concrete_count(jnp.max(numbers, initial=0), "nse of bcoo_sum_duplicates")
    count = nse

    def sum_groups(data: Any, indices: Any, is_valid: Any, numbers: Any) -> tuple[Any, Any]:
        group = jnp.where(is_valid, numbers - 1, count)
        total = jnp.zeros((count, *data.shape[1:]), data.dtype).at[group].add(data, mode="drop")
        outside = jnp.broadcast_to(jnp.array(sparse, indices.dtype), (count, indices.shape[1]))
        return total, outside.at[group].set(indices, mode="drop")

    buffers = over_batch(sum_groups, mat.n_batch)(data, indices, is_valid, numbers)
    return BCOO(buffers, shape=mat.shape, indices_sorted=True, unique_indices=True)


def bcoo_update_layout(
    mat: BCOO, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error"
) -> BCOO:
    """Return the same array with other numbers of batch and dense axes.

    More batch or dense axes store entries several times, or store zeros with them. ``on_inefficient`` says what
    happens then: "error" raises SparseEfficiencyError, "warn" warns, None does nothing. Raises ValueError for numbers
    that do not fit.
    """
    require_format(mat, BCOO, "bcoo_update_layout")
    batch = mat.n_batch if n_batch is None else n_batch
    dense = mat.n_dense if n_dense is None else n_dense
    if min(batch, dense) < 0 or batch + dense > mat.ndim:
        raise ValueError(f"n_batch={n_batch} and n_dense={n_dense} do not fit {mat.ndim} axes{here()}")
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(f"on_inefficient is 'error', 'warn' or None, got {on_inefficient!r}{here()}")
    if batch > mat.n_batch or dense > mat.n_dense:
        report_inefficiency(
            f"n_batch={batch} and n_dense={dense} of an array with n_batch={mat.n_batch} and n_dense={mat.n_dense} "
            f"store entries again",
            on_inefficient,
        )
    while mat.n_batch > batch:
        mat = _batch_to_sparse(mat)
    while mat.n_dense > dense:
        mat = _dense_to_sparse(mat)
    while mat.n_batch < batch:
        mat = _sparse_to_batch(mat)
    while mat.n_dense < dense:
        mat = _sparse_to_dense(mat)
    return mat


class SparseEfficiencyError(ValueError):
    """Error for a conversion that stores many zeros and was not requested explicitly."""


class SparseEfficiencyWarning(UserWarning):
    """Warning about a conversion that stores many zeros."""


def report_inefficiency(message: str, how: str | None) -> None:
    """Raise SparseEfficiencyError if ``how`` is "error", warn if it is "warn", and do nothing if it is None."""
    import warnings  # noqa: PLC0415

    if how == "error":
        raise SparseEfficiencyError(f"{message}: say on_inefficient='warn' or None if that is meant{here()}")
    if how == "warn":
        warnings.warn(message, SparseEfficiencyWarning, stacklevel=3)


def _batch_to_sparse(mat: BCOO) -> BCOO:
    """Turn the last batch axis into the first sparse one."""
    data, indices = broadcast_batch(mat)
    axis, size = mat.n_batch - 1, mat.shape[mat.n_batch - 1]
    head = mat.shape[:axis]
    number = jnp.broadcast_to(jnp.arange(size, dtype=indices.dtype)[:, None, None], (*head, size, mat.nse, 1))
    joined = jnp.concatenate([number, indices], axis=-1)
    # padding along the other axes stays out of bounds
    joined = jnp.where(
        is_inside(indices, shape_parts(mat)[1])[..., None],
        joined,
        np.array(mat.shape[axis : mat.ndim - mat.n_dense], indices.dtype),
    )
    return BCOO(
        (
            jnp.reshape(data, (*head, size * mat.nse, *data.shape[axis + 2 :])),
            jnp.reshape(joined, (*head, size * mat.nse, mat.n_sparse + 1)),
        ),
        shape=mat.shape,
        unique_indices=mat.unique_indices,
    )


def _dense_to_sparse(mat: BCOO) -> BCOO:
    """Turn the first dense axis into the last sparse one."""
    data, indices = broadcast_batch(mat)
    axis = mat.ndim - mat.n_dense
    size, head = mat.shape[axis], mat.shape[: mat.n_batch]
    steps = jnp.broadcast_to(jnp.arange(size, dtype=indices.dtype)[:, None], (*head, mat.nse, size, 1))
    repeated = jnp.broadcast_to(indices[..., None, :], (*head, mat.nse, size, mat.n_sparse))
    joined = jnp.concatenate([repeated, steps], axis=-1)
    outside = ~is_inside(indices, shape_parts(mat)[1])
    joined = jnp.where(outside[..., None, None], np.array(mat.shape[mat.n_batch : axis + 1], indices.dtype), joined)
    return BCOO(
        (
            jnp.reshape(data, (*head, mat.nse * size, *data.shape[mat.n_batch + 2 :])),
            jnp.reshape(joined, (*head, mat.nse * size, mat.n_sparse + 1)),
        ),
        shape=mat.shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


def _sparse_to_batch(mat: BCOO) -> BCOO:
    """Turn the first sparse axis into the last batch axis.

    Each array of the batch has all entries, those of others as padding.
    """
    data, indices = broadcast_batch(mat)
    size, head = mat.shape[mat.n_batch], mat.shape[: mat.n_batch]
    numbers = jnp.arange(size, dtype=indices.dtype)
    is_own = indices[..., None, :, 0] == numbers[:, None]
    tail = jnp.broadcast_to(indices[..., None, :, 1:], (*head, size, mat.nse, mat.n_sparse - 1))
    copies = jnp.broadcast_to(jnp.expand_dims(data, mat.n_batch), (*head, size, *data.shape[mat.n_batch :]))
    outside = np.array(shape_parts(mat)[1][1:], indices.dtype)
    return BCOO(
        (jnp.where(_expand_mask(is_own, copies), copies, 0), jnp.where(is_own[..., None], tail, outside)),
        shape=mat.shape,
    )


def _sparse_to_dense(mat: BCOO) -> BCOO:
    """Turn the last sparse axis into the first dense one; each entry becomes a row with one nonzero element."""
    data, indices = broadcast_batch(mat)
    size = mat.shape[mat.ndim - mat.n_dense - 1]
    matches = indices[..., -1:] == jnp.arange(size, dtype=indices.dtype)
    blocks = jnp.expand_dims(data, mat.n_batch + 1)
    return BCOO((jnp.where(_expand_mask(matches, blocks), blocks, 0), indices[..., :-1]), shape=mat.shape)
