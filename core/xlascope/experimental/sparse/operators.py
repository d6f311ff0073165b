"""Methods and operators of sparse arrays, set when the package is imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...trace.source import here
from .bcsr import BCSR
from .construction import bcoo_empty, bcoo_eye, bcoo_fromdense, bcoo_todense
from .formats import BCOO, JAXSparse
from .layout import bcoo_sort_indices, bcoo_sum_duplicates, bcoo_update_layout
from .movement import bcoo_transpose
from .sparsify_rules import is_sparse, sparsify, with_data


def fromdense(
    cls: type[BCOO],
    mat: Any,
    *,
    nse: int | None = None,
    index_dtype: Any = np.int32,
    n_dense: int = 0,
    n_batch: int = 0,
) -> BCOO:
    """Convert a dense array to BCOO; see :func:`bcoo_fromdense`."""
    return bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)


def from_scipy_sparse(
    cls: type[BCOO], mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
) -> BCOO:
    """Convert a SciPy sparse array; raise NotImplementedError for batch and dense axes, which SciPy lacks."""
    if n_dense or n_batch:
        raise NotImplementedError(f"BCOO.from_scipy_sparse has no batch or dense axes{here()}")
    mat = mat.tocoo()
    indices = np.stack([mat.row, mat.col], axis=-1).astype(np.int32 if index_dtype is None else index_dtype)
    return cls((jnp.asarray(mat.data), jnp.asarray(indices)), shape=mat.shape)


def _empty(
    cls: Any,
    shape: Sequence[int],
    *,
    dtype: Any = None,
    index_dtype: Any = np.int32,
    n_dense: int = 0,
    n_batch: int = 0,
    nse: int = 0,
) -> Any:
    """Return a BCOO array of padding alone: the class method that :func:`empty` calls."""
    return bcoo_empty(shape, dtype or float, n_batch, n_dense, nse, index_dtype)


def _eye(
    cls: Any,
    N: int,
    M: int,
    k: int,
    *,
    dtype: Any = None,
    index_dtype: Any = np.int32,
    n_batch: int = 0,
    n_dense: int = 0,
) -> Any:
    """Return a BCOO array with ones along a diagonal: the class method that :func:`eye` calls."""
    return bcoo_eye(N, M, k, dtype or float, n_batch, n_dense, index_dtype)


def sum_duplicates(self: BCOO, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
    """Return the array with one entry for each position; see :func:`bcoo_sum_duplicates`."""
    return bcoo_sum_duplicates(self, nse=nse)


def transpose(self: BCOO, axes: Sequence[int] | None = None) -> BCOO:
    """Permute the axes, by default to reverse order; see :func:`bcoo_transpose`."""
    order = list(range(self.ndim))[::-1] if axes is None else [axis % self.ndim for axis in axes]
    return bcoo_transpose(self, permutation=order)


def reshape(self: BCOO, *args: Any, **kwargs: Any) -> BCOO:
    """Return the same elements in another shape; see :func:`bcoo_reshape`."""
    shape = args if len(args) > 1 else args[0] if args else kwargs.pop("new_sizes")
    return sparsify(lambda x: jnp.reshape(x, shape, **kwargs))(self)  # type: ignore[no-any-return]


def astype(self: BCOO, dtype: Any) -> BCOO:
    """Return the array with its entries converted to another dtype."""
    return with_data(self, self.data.astype(dtype))


def sum(self: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the sum along axes as a sparse array; the sum of all elements is dense, unless ``keepdims``."""
    return sparsify(lambda x: jnp.sum(x, axis=axis, keepdims=keepdims))(self)


def _getitem(self: Any, item: Any) -> Any:
    return sparsify(lambda x: x[item])(self)


def _iterate_rows(self: Any) -> Any:
    return (self[i] for i in range(self.shape[0]))


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return an operator method that applies ``function`` to sparse or dense operands."""
    sparse = sparsify(function)
    return lambda x, y: sparse(x, y)


def _reflected_binary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a reflected operator method: it applies ``function`` to its operands in reverse order."""
    sparse = sparsify(function)
    return lambda x, y: sparse(y, x)


def _power(self: Any, exponent: Any) -> Any:
    return sparsify(lambda x: x**exponent)(self)


_OPERATORS: dict[str, Any] = {
    "__neg__": lambda self: sparsify(jnp.negative)(self),
    "__pos__": lambda self: self,
    "__abs__": lambda self: sparsify(jnp.abs)(self),
    "__add__": _binary(jnp.add),
    "__radd__": _reflected_binary(jnp.add),
    "__sub__": _binary(jnp.subtract),
    "__rsub__": _reflected_binary(jnp.subtract),
    "__mul__": _binary(jnp.multiply),
    "__rmul__": _reflected_binary(jnp.multiply),
    "__truediv__": _binary(jnp.divide),
    "__rtruediv__": _reflected_binary(jnp.divide),
    **{
        f"__{name}__": _binary(function)
        for name, function in {
            "eq": jnp.equal,
            "ne": jnp.not_equal,
            "lt": jnp.less,
            "le": jnp.less_equal,
            "gt": jnp.greater,
            "ge": jnp.greater_equal,
        }.items()
    },
    "__matmul__": _binary(jnp.matmul),
    "__rmatmul__": _reflected_binary(jnp.matmul),
    "__pow__": _power,
    "__getitem__": _getitem,
    "__iter__": _iterate_rows,
    "sum": sum,
}
_OF_BCOO: dict[str, Any] = {
    "fromdense": classmethod(fromdense),
    "from_scipy_sparse": classmethod(from_scipy_sparse),
    "_empty": classmethod(_empty),
    "_eye": classmethod(_eye),
    "todense": bcoo_todense,
    "sort_indices": bcoo_sort_indices,
    "sum_duplicates": sum_duplicates,
    "update_layout": bcoo_update_layout,
    "transpose": transpose,
    "T": property(transpose),
    "reshape": reshape,
    "astype": astype,
}
for _kind, _table in ((JAXSparse, _OPERATORS), (BCOO, _OF_BCOO)):
    for _name, _function in _table.items():
        setattr(_kind, _name, _function)

_FORMATS = {"bcoo": BCOO, "bcsr": BCSR}


def todense(arr: Any) -> Any:
    """Convert a sparse array to a dense one; return a dense array unchanged."""
    return arr.todense() if is_sparse(arr) else arr


def _format(name: str) -> Any:
    if name not in _FORMATS:
        raise ValueError(f"sparse_format is one of {', '.join(_FORMATS)}, got {name!r}{here()}")
    return _FORMATS[name]


def empty(
    shape: Sequence[int], dtype: Any = None, index_dtype: Any = "int32", sparse_format: str = "bcoo", **kwds: Any
) -> Any:
    """Return a sparse array without entries, or with ``nse`` entries of padding.

    >>> from xlascope.experimental import sparse
    >>> sparse.empty((2, 3))
    BCOO(float32[2, 3], nse=0)
    """
    array = _empty(BCOO, shape, dtype=dtype, index_dtype=np.dtype(index_dtype), **kwds)
    return array if _format(sparse_format) is BCOO else BCSR.from_bcoo(array)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> Any:
    """Return a sparse matrix of ``N`` rows and ``M`` columns with ones along the ``k``-th diagonal.

    >>> from xlascope.experimental import sparse
    >>> print(sparse.eye(2, 3, k=1).todense())
    [[0. 1. 0.]
     [0. 0. 1.]]
    """
    array = _eye(BCOO, N, N if M is None else M, k, dtype=dtype, index_dtype=np.dtype(index_dtype), **kwds)
    return array if _format(sparse_format) is BCOO else BCSR.from_bcoo(array)
