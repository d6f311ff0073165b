"""Matrices of ones and zeros, diagonals and triangles."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..ir.requested_dtypes import resolve_requested_dtype
from ..key_types import is_key
from ..lax.device_argument import with_device
from ..operations.arithmetic import add
from ..operations.bits import bitwise_and
from ..operations.comparisons import eq, ge
from ..operations.conversion import to_dtype
from ..operations.random_keys import zero_of
from ..operations.selection import select
from ..operations.shapes import broadcast_in_dim, broadcasted_iota
from ..operations.slicing import concatenate, pad
from ..trace.values import aval_of
from . import repeating, shaping
from .axes import number_or_traced, whole_number
from .creation import as_shape
from .jit_wrapped import Conversion, jit_wrapped
from .promotion import as_dtype


@with_device
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """Return a matrix with ones on diagonal ``k`` and zeros elsewhere.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.eye(2))
    [[1. 0.]
     [0. 1.]]
    """
    rows, columns, number = whole_number(N, "N"), whole_number(N if M is None else M, "M"), number_or_traced(k, "k")
    requested = resolve_requested_dtype(float if dtype is None else dtype)
    make = _eye if number.__class__ is int else _fill_diagonal_of_ones
    return make(rows=rows, columns=columns, k=number, dtype=requested)


def identity_like(a: Any) -> Any:
    """Return the identity matrix of the size and dtype of square matrices, whatever enable_x64 is."""
    aval = aval_of(a)
    return eye_in_dtype(aval.shape[-1], aval.dtype)


def eye_in_dtype(rows: int, dtype: np.dtype[Any], k: int = 0, columns: int | None = None) -> Any:
    """Return a matrix like :func:`eye`, in the dtype of an operand, whatever enable_x64 is."""
    return _eye(rows=rows, columns=rows if columns is None else columns, k=k, dtype=dtype)


@jit_wrapped("rows", "columns", "k", "dtype")
def _eye(rows: int, columns: int, k: int, dtype: Any) -> Any:
    return _fill_diagonal_of_ones(rows, columns, k, dtype)


def _fill_diagonal_of_ones(rows: int, columns: int, k: Any, dtype: Any) -> Any:
    return to_dtype(eq(*_row_and_column_indices(rows, columns, k)), dtype)


def _row_and_column_indices(rows: int, columns: int, k: Any) -> tuple[Any, Any]:
    """Return the row indices plus ``k``, and the column indices, of all elements of a matrix, as two matrices.

    ``k`` is an int, or a traced integer.
    """
    row, column = (broadcasted_iota(np.int32, (rows, columns), axis) for axis in (0, 1))
    if k.__class__ is int:
        return (add(row, k) if k else row), column
    return add(row, as_dtype(k, np.dtype("int32"))), column


def keep_diagonal(a: Any, k: Any) -> Any:
    """Return matrices with zeros beside diagonal ``k``, which may be traced."""
    shape = aval_of(a).shape
    on_diagonal = eq(*_row_and_column_indices(shape[-2], shape[-1], k))
    return select(shaping.broadcast_to(on_diagonal, shape), a, _zeros_beside(aval_of(a).dtype, shape))


def identity(n: int, dtype: Any = None) -> Any:
    """Return the identity matrix."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Return a matrix with ones on and below diagonal ``k``, zeros above."""
    rows, columns = as_shape((whole_number(N, "N"), whole_number(N if M is None else M, "M")))
    number = number_or_traced(k, "k")
    requested = resolve_requested_dtype(float if dtype is None else dtype)
    make = _tri if number.__class__ is int else _fill_triangle_of_ones
    return make(rows=rows, columns=columns, k=number, dtype=requested)


@jit_wrapped("rows", "columns", "k", "dtype")
def _tri(rows: int, columns: int, k: int, dtype: Any) -> Any:
    return _fill_triangle_of_ones(rows, columns, k, dtype)


def _fill_triangle_of_ones(rows: int, columns: int, k: Any, dtype: Any) -> Any:
    return to_dtype(ge(*_row_and_column_indices(rows, columns, k)), dtype)


@jit_wrapped(k=Conversion(whole_number))
def tril(m: Any, k: int = 0) -> Any:
    """Return the elements on and below diagonal ``k``, zeros above."""
    return _mask_triangle(m, number_or_traced(k, "k"), True)


@jit_wrapped(k=Conversion(whole_number))
def triu(m: Any, k: int = 0) -> Any:
    """Return the elements on and above diagonal ``k``, zeros below."""
    return _mask_triangle(m, number_or_traced(k, "k") - 1, False)


def _mask_triangle(m: Any, k: Any, lower: bool) -> Any:
    """Return ``m`` with zeros above diagonal ``k`` if ``lower``, else with zeros on and below it."""
    aval = aval_of(m)
    if aval.ndim < 2:
        raise ValueError(f"tril and triu take arrays of at least two axes, got shape {aval.shape}")
    below = ge(*_row_and_column_indices(aval.shape[-2], aval.shape[-1], k))
    below = shaping.broadcast_to(below, aval.shape)
    zero = _zeros_beside(aval.dtype, aval.shape)
    result = select(below, m, zero) if lower else select(below, zero, m)
    return to_dtype(result, aval.dtype, True) if aval.weak_type else result


@jit_wrapped(k=Conversion(whole_number))
def diag(v: Any, k: int = 0) -> Any:
    """Return the diagonal of a matrix, or the matrix with a vector on its diagonal.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.diag(jnp.array([1, 2])))
    [[1 0]
     [0 2]]
    """
    aval = aval_of(v)
    if aval.ndim == 2:
        return repeating.diagonal(v, k)
    if aval.ndim != 1:
        raise ValueError(f"diag takes one or two axes, got shape {aval.shape}")
    size = aval.shape[0] + abs(k)
    row = _pad_with_zeros(v, max(k, 0), max(-k, 0))
    onto = eq(*_row_and_column_indices(size, size, k))
    return select(onto, shaping.broadcast_to(row, (size, size)), _zeros_beside(aval.dtype, (size, size)))


def _zeros_beside(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """Return the zeros that are selected beside an array: one number, or for keys, which do not broadcast, an array."""
    zero = zero_of(dtype)
    return broadcast_in_dim(zero, shape, ()) if is_key(dtype) else zero


def _pad_with_zeros(v: Any, before: int, after: int) -> Any:
    """Return an array with one axis, with zeros before and after it."""
    zero = zero_of(aval_of(v).dtype)
    if not is_key(aval_of(v).dtype):
        return pad(v, zero, [(before, after, 0)])
    return concatenate([broadcast_in_dim(zero, (before,), ()), v, broadcast_in_dim(zero, (after,), ())], 0)


def diagflat(v: Any, k: int = 0) -> Any:
    """Return the matrix with the flattened elements on a diagonal."""
    return diag(shaping.ravel(v), k)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """Return the array with a value on its diagonal; ``inplace`` has to be False, since arrays are immutable.

    Several values are repeated along the diagonal.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.fill_diagonal(jnp.zeros((3, 2)), jnp.array([1, 2]), inplace=False))
    [[1. 0.]
     [0. 2.]
     [0. 0.]]
    """
    if inplace:
        raise NotImplementedError("arrays cannot be changed in place; pass inplace=False and use the result")
    if wrap:
        raise NotImplementedError("fill_diagonal with wrap=True, where the diagonal of a tall matrix starts again")
    shape = aval_of(a).shape
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ValueError(f"fill_diagonal takes a matrix, or more axes of one size, got shape {shape}")
    if not aval_of(val).size:
        raise ValueError(f"fill_diagonal takes at least one value, got shape {aval_of(val).shape}")
    return _fill_diagonal(a, val)


@jit_wrapped()
def _fill_diagonal(x: Any, value: Any) -> Any:
    aval = aval_of(x)
    first, *remaining_indices = (broadcasted_iota(np.int32, aval.shape, axis) for axis in range(aval.ndim))
    on_diagonal = functools.reduce(bitwise_and, (eq(first, index) for index in remaining_indices))
    value = as_dtype(value, aval.dtype)
    if aval_of(value).shape:
        row = repeating.resize(value, (aval.shape[0],))
        value = broadcast_in_dim(row, aval.shape, [0])
    return select(on_diagonal, value, x)
