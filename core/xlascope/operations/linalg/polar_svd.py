"""The singular value decomposition by a polar decomposition, for platforms without a routine of their own.

X = U_p H and H = V S Vᴴ give X = (U_p V) S Vᴴ. (Y. Nakatsukasa, N. J. Higham: "Stable and efficient spectral
divide and conquer algorithms for the symmetric eigenvalue decomposition and the SVD", SIAM J. Sci. Comput. 35,
2013.)
"""

from __future__ import annotations

import math
from typing import Any

from ...dtypes import dtype_kind
from ..arithmetic import abs, div, mul
from ..comparisons import eq
from ..conversion import to_dtype
from ..extremes import max
from ..operand_values import aval, typed_scalar
from ..reductions import reduce_and
from ..rounding import is_finite
from ..selection import select
from ..shapes import broadcast_in_dim
from ..slicing import concatenate, rev, slice_in_dim
from .hermitian_eigenvalues import eigh
from .matrices import adjoint, as_rows, diagonal, product
from .polar_decomposition import positive_factor, unitary_factor
from .qr import qr


def svd_by_polar(x: Any, full_matrices: bool) -> tuple[Any, Any, Any]:
    """Return U, the singular values and Vᴴ of stacks of matrices; NaN for a matrix that is not finite.

    ``full_matrices`` returns square U and Vᴴ, otherwise they have min(m, n) columns and rows.
    """
    m, n = aval(x).shape[-2:]
    if m < n:
        v, s, uh = svd_by_polar(adjoint(x), full_matrices)
        return adjoint(uh), s, adjoint(v)
    rank = len(aval(x).shape)
    basis, core = (None, x) if m == n else qr(x, full_matrices=full_matrices)
    u, s, v = _svd_of_square(slice_in_dim(core, 0, n, axis=rank - 2))
    if basis is not None:
        u = product(slice_in_dim(basis, 0, n, axis=rank - 1), u)
        if full_matrices:
            u = concatenate([u, slice_in_dim(basis, n, m, axis=rank - 1)], rank - 1)
    finite = reduce_and(is_finite(abs(x)), (rank - 2, rank - 1))
    u, s, vh = (_nan_unless(finite, array) for array in (u, s, adjoint(v)))
    return u, s, vh


def _svd_of_square(x: Any) -> tuple[Any, Any, Any]:
    """Return U, the singular values in descending order, and V of square matrices."""
    rank = len(aval(x).shape)
    turning = unitary_factor(x)
    v, s = eigh(positive_factor(turning, x), symmetrize_input=False)
    v, s = rev(v, (rank - 1,)), rev(s, (rank - 2,))
    return (
        _orthonormalize(product(turning, v)),
        max(s, broadcast_in_dim(typed_scalar(0, aval(s).dtype), aval(s).shape, ())),
        v,
    )


def _orthonormalize(u: Any) -> Any:
    """Return ``u`` with orthonormal columns.

    Columns that are orthonormal already stay as they are; those that belong to singular values of zero are replaced.
    """
    q, r = qr(u, full_matrices=False)
    entries = diagonal(r)
    sizes = abs(entries)
    nothing = eq(sizes, broadcast_in_dim(typed_scalar(0, aval(sizes).dtype), aval(sizes).shape, ()))
    ones = broadcast_in_dim(typed_scalar(1, aval(entries).dtype), aval(entries).shape, ())
    length = select(nothing, ones, to_dtype(sizes, aval(entries).dtype))
    return mul(q, as_rows(select(nothing, ones, div(entries, length))))


def _nan_unless(finite: Any, x: Any) -> Any:
    type_ = aval(x)
    nan = complex(math.nan, math.nan) if dtype_kind(type_.dtype) == "c" else math.nan
    where = broadcast_in_dim(finite, type_.shape, range(len(aval(finite).shape)))
    return select(where, x, broadcast_in_dim(typed_scalar(nan, type_.dtype), type_.shape, ()))
