"""Rank-one updates of Cholesky factors, and symmetric products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..control.flow.fori_loop import fori_loop
from ..dtypes import dtype_kind
from ..operations.arithmetic import add, mul
from ..operations.comparisons import eq
from ..operations.conversion import convert_element_type
from ..operations.dynamic_slicing import dynamic_slice, dynamic_update_slice
from ..operations.exponentials import sqrt
from ..operations.linalg.matrices import lower, product, transpose_matrices, upper
from ..operations.operand_values import typed_scalar
from ..operations.selection import select
from ..operations.shapes import expand_dims, squeeze
from ..trace.values import aval_of


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """Return the upper triangular R with ``R.T @ R = r_matrix.T @ r_matrix + outer(w_vector, w_vector)``.

    It takes O(n²) steps. The diagonal of the result is not negative. ``r_matrix`` is upper triangular and real, shape
    (n, n); ``w_vector`` has the shape (n,) and the same dtype. The vector is rotated into the matrix, row by row (G.
    H. Golub, C. F. Van Loan: "Matrix computations", 6.5.4). Raises ValueError for shapes, TypeError for dtypes that
    do not fit.

    >>> import xlascope.numpy as jnp
    >>> print(cholesky_update(jnp.array([[3.0]]), jnp.array([4.0])))
    [[5.]]
    """
    r_type, w_type = aval_of(r_matrix), aval_of(w_vector)
    if len(r_type.shape) != 2 or r_type.shape[0] != r_type.shape[1] or w_type.shape != r_type.shape[:1]:
        raise ValueError(
            f"cholesky_update takes a square matrix and a vector of its size, got {r_type.str_short()} and "
            f"{w_type.str_short()}; for stacks use vmap"
        )
    if dtype_kind(r_type.dtype) != "f" or r_type.dtype != w_type.dtype:
        raise TypeError(
            f"cholesky_update takes a matrix and a vector of one floating-point dtype, got {r_type.str_short()} and "
            f"{w_type.str_short()}"
        )
    size, zero = r_type.shape[0], np.int32(0)

    def rotate(i: Any, state: Any) -> Any:
        (r, w), i = state, convert_element_type(i, np.int32)
        row = squeeze(dynamic_slice(r, (i, zero), (1, size)), (0,))
        x, y = (squeeze(dynamic_slice(v, (i,), (1,)), (0,)) for v in (row, w))
        unit, length = typed_scalar(1, r_type.dtype), sqrt(x * x + y * y)
        is_zero = eq(length, 0.0)
        safe = select(is_zero, unit, length)
        cosine, sine = select(is_zero, unit, x / safe), y / safe
        rotated = expand_dims(cosine * row + sine * w, (0,))
        return dynamic_update_slice(r, rotated, (i, zero)), cosine * w - sine * row

    return upper(fori_loop(0, size, rotate, (r_matrix, w_vector))[0])


def symmetric_product(
    a_matrix: Any, c_matrix: Any, *, alpha: Any = 1.0, beta: Any = 0.0, symmetrize_output: bool = False
) -> Any:
    """Return ``alpha * a_matrix @ a_matrix.T + beta * c_matrix`` for stacks of matrices.

    ``a_matrix`` has shape (…, m, n), ``c_matrix`` is symmetric of shape (…, m, m).

    Only the lower triangle of the result is sure to be right on every platform; ``symmetrize_output`` copies it to the
    upper one. Raises ValueError for shapes, TypeError for dtypes that do not fit.

    >>> import xlascope.numpy as jnp
    >>> print(symmetric_product(jnp.array([[1.0, 2.0]]), jnp.array([[10.0]]), alpha=2.0, beta=3.0))
    [[40.]]
    """
    a, c = aval_of(a_matrix), aval_of(c_matrix)
    if len(a.shape) < 2 or c.shape != (*a.shape[:-1], a.shape[-2]):
        raise ValueError(
            f"symmetric_product takes matrices (…, m, n) and (…, m, m), got {a.str_short()} and {c.str_short()}"
        )
    if a.dtype != c.dtype:
        raise TypeError(f"symmetric_product takes matrices of one dtype, got {a.str_short()} and {c.str_short()}")
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if not isinstance(factor, (int, float, np.generic)):
            raise TypeError(f"symmetric_product takes {name} as a number, got {factor!r}")
    square = product(a_matrix, transpose_matrices(a_matrix))
    combined = add(mul(typed_scalar(alpha, a.dtype), square), mul(typed_scalar(beta, a.dtype), c_matrix))
    return add(lower(combined), transpose_matrices(lower(combined, strictly=True))) if symmetrize_output else combined
