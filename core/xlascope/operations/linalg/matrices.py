"""Products, transposes and parts of stacks of matrices, used in derivative rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import kind_of
from ..arithmetic import add
from ..comparisons import eq, ge
from ..complex_numbers import conj
from ..linear_algebra import dot_general
from ..precision import Precision
from ..selection import select
from ..shapes import broadcast_in_dim, broadcasted_iota, expand_dims, reduce_sum, transpose
from ..values import aval, typed_scalar

_ONE = np.int32(1)


def product(x: Any, y: Any) -> Any:
    """Return the products of two stacks of matrices."""
    rank = len(aval(x).shape)
    lead = tuple(range(rank - 2))
    return dot_general(x, y, (((rank - 1,), (rank - 2,)), (lead, lead)), Precision.HIGHEST)


def transposed(x: Any) -> Any:
    """Exchange the last two axes."""
    rank = len(aval(x).shape)
    return transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def conjugate(x: Any) -> Any:
    """Return the conjugate of complex values, others unchanged."""
    return conj(x) if kind_of(aval(x).dtype) == "c" else x


def adjoint(x: Any) -> Any:
    """Return the conjugate transposes."""
    return conjugate(transposed(x))


def _numbers(x: Any) -> tuple[Any, Any]:
    """Return the row and column indices of each element."""
    shape = aval(x).shape[-2:]
    lead = (1,) * (len(aval(x).shape) - 2)
    return tuple(broadcasted_iota(np.int32, (*lead, *shape), len(lead) + axis) for axis in (0, 1))


def _where(condition: Any, x: Any) -> Any:
    """Return ``x`` where a condition on rows and columns holds, zero elsewhere."""
    type_ = aval(x)
    mask = broadcast_in_dim(condition, type_.shape, range(len(type_.shape)))
    zero = broadcast_in_dim(typed_scalar(0, type_.dtype), type_.shape, ())
    return select(mask, x, zero)


def lower(x: Any, strictly: bool = False) -> Any:
    """Return the part below the diagonal, with the diagonal unless ``strictly``."""
    rows, columns = _numbers(x)
    return _where(ge(rows, add(columns, _ONE) if strictly else columns), x)


def upper(x: Any, strictly: bool = False) -> Any:
    """Return the part above the diagonal, with the diagonal unless ``strictly``."""
    rows, columns = _numbers(x)
    return _where(ge(columns, add(rows, _ONE) if strictly else rows), x)


def on_diagonal(x: Any) -> Any:
    """Return the diagonal, with zeros elsewhere."""
    rows, columns = _numbers(x)
    return _where(eq(rows, columns), x)


def diagonal(x: Any) -> Any:
    """Return the diagonals of square matrices, as vectors."""
    return reduce_sum(on_diagonal(x), (len(aval(x).shape) - 1,))


def identity(size: int, dtype: Any, lead: tuple[int, ...] = ()) -> Any:
    """Return identity matrices with leading axes ``lead``; leading axes of size 1 broadcast."""
    ones = broadcast_in_dim(typed_scalar(1, np.dtype(dtype)), (*lead, size, size), ())
    return on_diagonal(ones)


def as_columns(v: Any) -> Any:
    """Return vectors along the rows, repeated for each column: (…, m) as (…, m, 1)."""
    return expand_dims(v, (len(aval(v).shape),))


def as_rows(v: Any) -> Any:
    """Return vectors along the columns, repeated for each row: (…, n) as (…, 1, n)."""
    return expand_dims(v, (len(aval(v).shape) - 1,))
