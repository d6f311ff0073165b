"""Products, transposes and parts of stacks of matrices, used in derivative rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import dtype_kind
from ..arithmetic import add
from ..comparisons import eq, ge
from ..complex_numbers import conj
from ..dot_product import dot_general
from ..operand_values import aval, typed_scalar
from ..precision import Precision
from ..selection import select
from ..shapes import broadcast_in_dim, broadcasted_iota, expand_dims, reduce_sum, transpose

_ONE = np.int32(1)


def product(x: Any, y: Any) -> Any:
    """Return the matrix products of two stacks of matrices with the same leading axes, in highest precision."""
    rank = len(aval(x).shape)
    lead = tuple(range(rank - 2))
    return dot_general(x, y, (((rank - 1,), (rank - 2,)), (lead, lead)), Precision.HIGHEST)


def transpose_matrices(x: Any) -> Any:
    """Exchange the last two axes."""
    rank = len(aval(x).shape)
    return transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def conjugate(x: Any) -> Any:
    """Return the conjugate of complex values; other values unchanged."""
    return conj(x) if dtype_kind(aval(x).dtype) == "c" else x


def adjoint(x: Any) -> Any:
    """Return the conjugate transposes of matrices."""
    return conjugate(transpose_matrices(x))


def _row_column_indices(x: Any) -> tuple[Any, Any]:
    """Return the row and the column indices of the elements of matrices ``x``, as two int32 arrays."""
    shape = aval(x).shape[-2:]
    lead = (1,) * (len(aval(x).shape) - 2)
    return tuple(broadcasted_iota(np.int32, (*lead, *shape), len(lead) + axis) for axis in (0, 1))


def _mask_by_position(condition: Any, x: Any) -> Any:
    """Return ``x`` where ``condition`` holds, zero elsewhere; ``condition`` may have leading axes of size 1."""
    type_ = aval(x)
    mask = broadcast_in_dim(condition, type_.shape, range(len(type_.shape)))
    zero = broadcast_in_dim(typed_scalar(0, type_.dtype), type_.shape, ())
    return select(mask, x, zero)


def lower(x: Any, strictly: bool = False) -> Any:
    """Return the lower triangles of matrices, zero elsewhere; ``strictly`` also makes the diagonal zero."""
    rows, columns = _row_column_indices(x)
    return _mask_by_position(ge(rows, add(columns, _ONE) if strictly else columns), x)


def upper(x: Any, strictly: bool = False) -> Any:
    """Return the upper triangles of matrices, zero elsewhere; ``strictly`` also makes the diagonal zero."""
    rows, columns = _row_column_indices(x)
    return _mask_by_position(ge(columns, add(rows, _ONE) if strictly else rows), x)


def on_diagonal(x: Any) -> Any:
    """Return matrices with all elements off the diagonal set to zero."""
    rows, columns = _row_column_indices(x)
    return _mask_by_position(eq(rows, columns), x)


def diagonal(x: Any) -> Any:
    """Return the diagonals of square matrices, as vectors."""
    return reduce_sum(on_diagonal(x), (len(aval(x).shape) - 1,))


def identity(size: int, dtype: Any, lead: tuple[int, ...] = ()) -> Any:
    """Return identity matrices of shape ``(*lead, size, size)``."""
    ones = broadcast_in_dim(typed_scalar(1, np.dtype(dtype)), (*lead, size, size), ())
    return on_diagonal(ones)


def as_columns(v: Any) -> Any:
    """Return vectors as matrices of one column: (…, m) as (…, m, 1)."""
    return expand_dims(v, (len(aval(v).shape),))


def as_rows(v: Any) -> Any:
    """Return vectors as matrices of one row: (…, n) as (…, 1, n)."""
    return expand_dims(v, (len(aval(v).shape) - 1,))
