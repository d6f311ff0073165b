"""Products, transposes and parts of stacks of matrices, as rules of derivatives write them."""

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
    """The products of two stacks of matrices."""
    rank = len(aval(x).shape)
    lead = tuple(range(rank - 2))
    return dot_general(x, y, (((rank - 1,), (rank - 2,)), (lead, lead)), Precision.HIGHEST)


def transposed(x: Any) -> Any:
    """The last two axes exchanged."""
    rank = len(aval(x).shape)
    return transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def conjugate(x: Any) -> Any:
    """The conjugate of complex values, others as they are."""
    return conj(x) if kind_of(aval(x).dtype) == "c" else x


def adjoint(x: Any) -> Any:
    """The conjugate transposes."""
    return conjugate(transposed(x))


def _numbers(x: Any) -> tuple[Any, Any]:
    """The numbers of rows and columns."""
    shape = aval(x).shape[-2:]
    lead = (1,) * (len(aval(x).shape) - 2)
    return tuple(broadcasted_iota(np.int32, (*lead, *shape), len(lead) + axis) for axis in (0, 1))


def _where(condition: Any, x: Any) -> Any:
    """``x`` where a condition on rows and columns holds, zero elsewhere."""
    type_ = aval(x)
    chosen = broadcast_in_dim(condition, type_.shape, range(len(type_.shape)))
    zero = broadcast_in_dim(typed_scalar(0, type_.dtype), type_.shape, ())
    return select(chosen, x, zero)


def lower(x: Any, strictly: bool = False) -> Any:
    """The part below the diagonal, with the diagonal unless ``strictly``."""
    rows, columns = _numbers(x)
    return _where(ge(rows, add(columns, _ONE) if strictly else columns), x)


def upper(x: Any, strictly: bool = False) -> Any:
    """The part above the diagonal, with the diagonal unless ``strictly``."""
    rows, columns = _numbers(x)
    return _where(ge(columns, add(rows, _ONE) if strictly else rows), x)


def on_diagonal(x: Any) -> Any:
    """The diagonal, with zeros beside it."""
    rows, columns = _numbers(x)
    return _where(eq(rows, columns), x)


def diagonal(x: Any) -> Any:
    """The diagonals of square matrices, as vectors."""
    return reduce_sum(on_diagonal(x), (len(aval(x).shape) - 1,))


def identity(size: int, dtype: Any, lead: tuple[int, ...] = ()) -> Any:
    """Matrices with ones on the diagonal, for each place of a stack; axes of size 1 stretch where they meet others."""
    ones = broadcast_in_dim(typed_scalar(1, np.dtype(dtype)), (*lead, size, size), ())
    return on_diagonal(ones)


def as_columns(v: Any) -> Any:
    """Vectors along the rows, for each column: (…, m) as (…, m, 1)."""
    return expand_dims(v, (len(aval(v).shape),))


def as_rows(v: Any) -> Any:
    """Vectors along the columns, for each row: (…, n) as (…, 1, n)."""
    return expand_dims(v, (len(aval(v).shape) - 1,))
