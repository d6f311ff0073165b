"""Compressed sparse rows: BCSR, whose entries are sorted by row, with the position where each row begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ... import tree
from ...trace.source import here
from ...trace.values import aval_of
from .broadcasting import bcoo_broadcast_in_dim
from .construction import bcoo_extract, bcoo_fromdense, bcoo_todense, over_batch
from .formats import BCOO, JAXSparse, require_format, restore_fields, static_fields
from .layout import bcoo_sort_indices, bcoo_sum_duplicates
from .movement import bcoo_concatenate
from .products import Dimensions, bcoo_dot_general


@tree.register_pytree_node_class
class BCSR(JAXSparse):
    """Batch of matrices in compressed rows: ``BCSR((data, indices, indptr), shape=shape)``.

    The shape is (batch…, rows, columns, dense…), ``data`` has shape (batch…, nse, dense…). ``indices`` (batch…, nse)
    are the columns of the entries, row by row, and ``indptr`` (batch…, rows + 1) the positions where each row begins;
    entries after the end of the last row are padding. ``vmap`` and ``scan`` map only over the first batch axis.
    Raises ValueError if the shapes do not fit.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental.sparse import BCSR
    >>> x = BCSR.fromdense(jnp.array([[0.0, 2.0], [3.0, 4.0]]))
    >>> print(x.data, x.indices, x.indptr)
    [2. 3. 4.] [1 0 1] [0 1 3]
    """

    data: Any
    indices: Any
    indptr: Any

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices, self.indptr = (x if hasattr(x, "aval") else jnp.asarray(x) for x in args)
        self.shape = tuple(int(n) for n in shape)
        self.indices_sorted, self.unique_indices = bool(indices_sorted), bool(unique_indices)
        data, indices, indptr = (aval_of(x).shape for x in self._bufs)
        n_batch = len(indices) - 1
        fits = n_batch >= 0 and len(indptr) == n_batch + 1 and len(data) == len(self.shape) - 1
        fits = fits and len(self.shape) >= n_batch + 2 and data[n_batch] == indices[-1]
        fits = fits and indptr[-1] == self.shape[n_batch] + 1 and data[n_batch + 1 :] == self.shape[n_batch + 2 :]
        fits = fits and all(
            n in (1, size)
            for buffer_shape in (data, indices, indptr)
            for n, size in zip(buffer_shape[:n_batch], self.shape[:n_batch], strict=True)
        )
        if not fits:
            raise ValueError(
                "data of shape (batch…, nse, dense…), indices of shape (batch…, nse) and indptr of shape (batch…, "
                f"rows + 1) have to fit the shape {self.shape} of BCSR, got {data}, {indices} and {indptr}{here()}"
            )

    @property
    def nse(self) -> int:
        """Return the number of stored entries (nse) of each matrix of the batch."""
        return aval_of(self.indices).shape[-1]

    @property
    def n_batch(self) -> int:
        """Return the number of batch axes, the first ones."""
        return len(aval_of(self.indices).shape) - 1

    @property
    def n_sparse(self) -> int:
        """Return 2, the number of sparse axes: rows and columns."""
        return 2

    @property
    def n_dense(self) -> int:
        """Return the number of dense axes, the last ones."""
        return len(self.shape) - self.n_batch - 2

    @property
    def _bufs(self) -> tuple[Any, ...]:
        return self.data, self.indices, self.indptr

    def _layout(self) -> str:
        counts = {"nse": self.nse, "n_batch": self.n_batch, "n_dense": self.n_dense}
        return "".join(f", {name}={n}" for name, n in counts.items() if n or name == "nse")

    def tree_flatten(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arrays (data, indices, indptr), and the other fields."""
        return self._bufs, static_fields(self)

    @classmethod
    def tree_unflatten(cls, fields: dict[str, Any], children: Sequence[Any]) -> Any:
        """Return a BCSR array with the given arrays, or placeholders for them, as its children."""
        array = object.__new__(cls)
        array.data, array.indices, array.indptr = children
        restore_fields(array, fields, len(getattr(array.indices, "shape", ())) - 1)
        return array

    def to_bcoo(self) -> BCOO:
        """Return the BCOO array with the same entries, whose row indices are explicit."""
        batch = self.shape[: self.n_batch]
        indices, indptr = (jnp.broadcast_to(x, (*batch, x.shape[-1])) for x in (self.indices, self.indptr))

        def with_rows(indices: Any, indptr: Any) -> Any:
            rows = jnp.searchsorted(indptr, jnp.arange(self.nse, dtype=indptr.dtype), side="right") - 1
            return jnp.stack([rows.astype(indices.dtype), indices], axis=-1)

        full_indices = over_batch(with_rows, self.n_batch)(indices, indptr)
        return BCOO(
            (self.data, full_indices),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """Convert a BCOO array with two sparse axes; raise NotImplementedError for another number of them."""
        require_format(arr, BCOO, "BCSR.from_bcoo")
        if arr.n_sparse != 2:
            raise NotImplementedError(f"BCSR has two sparse axes, got a BCOO array with {arr.n_sparse}{here()}")
        arr = bcoo_sort_indices(arr)
        rows = arr.shape[arr.n_batch]

        def row_starts(indices: Any) -> Any:
            return jnp.searchsorted(indices[:, 0], jnp.arange(rows + 1, dtype=indices.dtype)).astype(indices.dtype)

        indptr = over_batch(row_starts, arr.n_batch)(arr.indices)
        return cls(
            (arr.data, arr.indices[..., 1], indptr),
            shape=arr.shape,
            indices_sorted=True,
            unique_indices=arr.unique_indices,
        )

    @classmethod
    def fromdense(
        cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0
    ) -> BCSR:
        """Convert a dense array to BCSR; see :func:`bcsr_fromdense`."""
        return bcsr_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCSR:
        """Convert a SciPy sparse array; raise NotImplementedError for batch and dense axes, which SciPy lacks."""
        if n_dense or n_batch:
            raise NotImplementedError(f"BCSR.from_scipy_sparse has no batch or dense axes{here()}")
        mat = mat.tocsr()
        mat.sum_duplicates()
        dtype = np.int32 if index_dtype is None else index_dtype
        parts = mat.data, mat.indices.astype(dtype), mat.indptr.astype(dtype)
        return cls(parts, shape=mat.shape, indices_sorted=True, unique_indices=True)

    def todense(self) -> Any:
        """Return the dense array."""
        return bcsr_todense(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """Return the array with one entry for each position; see :func:`bcsr_sum_duplicates`."""
        return bcsr_sum_duplicates(self, nse=nse)

    @property
    def T(self) -> Any:
        """Raise NotImplementedError; see :meth:`transpose`."""
        return self.transpose()

    def transpose(self, *args: Any, **kwargs: Any) -> Any:
        """Raise NotImplementedError: a transposed BCSR array is not row-compressed; use ``to_bcoo``."""
        raise NotImplementedError(f"BCSR arrays are not transposed: transpose x.to_bcoo(){here()}")


def bcsr_fromdense(
    mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32
) -> BCSR:
    """Convert a dense array to BCSR; it has two axes besides batch and dense ones.

    Otherwise it works like :func:`bcoo_fromdense`.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental import sparse
    >>> print(sparse.bcsr_fromdense(jnp.eye(3)).indptr)
    [0 1 2 3]
    """
    mat = jnp.asarray(mat)
    if mat.ndim - n_batch - n_dense != 2:
        raise ValueError(f"bcsr_fromdense needs two sparse axes, got {mat.ndim - n_batch - n_dense}{here()}")
    bcoo = bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)
    return BCSR.from_bcoo(bcoo)


def bcsr_todense(mat: BCSR) -> Any:
    """Convert a BCSR array to a dense one."""
    require_format(mat, BCSR, "bcsr_todense")
    return bcoo_todense(mat.to_bcoo())


def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Any:
    """Return the entries of a dense array at the positions ``indices`` and ``indptr`` of a BCSR array, as its data.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental import sparse
    >>> x = sparse.BCSR.fromdense(jnp.eye(2))
    >>> print(sparse.bcsr_extract(x.indices, x.indptr, jnp.array([[1.0, 2.0], [3.0, 4.0]])))
    [1. 4.]
    """
    indices, indptr, mat = (jnp.asarray(x) for x in (indices, indptr, mat))
    n_batch, shape = indices.ndim - 1, mat.shape
    data = jnp.zeros((*indices.shape, *shape[n_batch + 2 :]), mat.dtype)
    places = BCSR((data, indices, indptr), shape=shape).to_bcoo()
    return bcoo_extract(places, mat, assume_unique=True).data


def bcsr_dot_general(
    lhs: BCSR, rhs: Any, *, dimension_numbers: Dimensions, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """Return the product of a BCSR array and a dense or BCSR one; see :func:`bcoo_dot_general`.

    The result is dense, or BCOO if both operands are sparse.
    """
    require_format(lhs, BCSR, "bcsr_dot_general")
    return bcoo_dot_general(
        lhs.to_bcoo(),
        rhs.to_bcoo() if isinstance(rhs, BCSR) else rhs,
        dimension_numbers=dimension_numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCSR:
    """Broadcast an array to a larger shape; see :func:`bcoo_broadcast_in_dim`."""
    require_format(mat, BCSR, "bcsr_broadcast_in_dim")
    return BCSR.from_bcoo(bcoo_broadcast_in_dim(mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions))


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Concatenate arrays along an axis; see :func:`bcoo_concatenate`."""
    return BCSR.from_bcoo(bcoo_concatenate([operand.to_bcoo() for operand in operands], dimension=dimension))


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """Return the array with one entry for each position; see :func:`bcoo_sum_duplicates`."""
    require_format(mat, BCSR, "bcsr_sum_duplicates")
    return BCSR.from_bcoo(bcoo_sum_duplicates(mat.to_bcoo(), nse=nse))
