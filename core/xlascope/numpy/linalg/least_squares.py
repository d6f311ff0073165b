"""Pseudoinverses, least squares, ranks and condition numbers, by singular values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...control.rules.custom_jvp import custom_jvp
from ...dtypes import finfo, to_canonical_dtype
from ...ir.avals import make_aval
from ...operations.linalg import singular_values
from ...operations.linalg.matrices import adjoint, product
from ...operations.shapes import zeros_of
from ...trace.source import here
from ...trace.values import aval_of
from .. import logic, reductions, ufuncs
from ..jit_wrapped import jit_wrapped
from ..promotion import as_dtype, promote_inexact
from ..shaping import expand_dims, shape_of, squeeze
from .decompositions import svd
from .norms import norm
from .solving import inexact_pair_of_any_rank, inv, require_square


def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """Return the Moore-Penrose pseudoinverses of matrices of shape ``(…, m, n)``: ``(…, n, m)``.

    Singular values up to ``rtol`` times the largest are treated as zero; the default is 10 max(m, n) times the
    machine epsilon. ``rcond`` is an older name for it; ``hermitian`` says that ``a`` is Hermitian. The derivative
    assumes constant rank. Raises ValueError for both names at once, and for arrays without rows and columns.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.pinv(jnp.array([[2.0], [0.0]])))
    [[0.5 0. ]]
    """
    if rtol is not None and rcond is not None:
        raise ValueError("pinv: only one of rtol and rcond may be specified; they mean the same")
    threshold = rcond if rtol is None else rtol
    if len(shape_of(a)) < 2:
        raise ValueError(f"linalg.pinv takes matrices, of at least two axes, got shape {shape_of(a)}{here()}")
    return _pinv(a, threshold, hermitian=bool(hermitian))


@jit_wrapped("hermitian")
def _pinv(a: Any, rtol: Any, hermitian: bool) -> Any:
    a = promote_inexact(a)
    if rtol is None:
        rtol = 10.0 * max(shape_of(a)[-2:]) * float(finfo(aval_of(a).dtype).eps)
    return (_pinv_hermitian if hermitian else _pinv_general)(a, rtol)


def _pseudoinverse(a: Any, rtol: Any, hermitian: bool) -> Any:
    (*lead, m, n) = shape_of(a)
    if not m or not n:
        return zeros_of(make_aval((*lead, n, m), aval_of(a).dtype))
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    cutoff = ufuncs.multiply(expand_dims(as_dtype(rtol, aval_of(s).dtype), -1), s[..., :1])
    s = logic.where(logic.greater(s, cutoff), s, math.inf)
    return product(adjoint(vh), ufuncs.true_divide(adjoint(u), expand_dims(s, -1)))


@custom_jvp
def _pinv_general(a: Any, rtol: Any) -> Any:
    return _pseudoinverse(a, rtol, False)


@custom_jvp
def _pinv_hermitian(a: Any, rtol: Any) -> Any:
    return _pseudoinverse(a, rtol, True)


def _pinv_jvp(function: Any, primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    # G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose
    # variables separate", SIAM J. Numer. Anal. 10(2), 1973, equation 4.12
    (a, rtol), (t, _) = primals, tangents
    p = function(a, rtol)
    inside = -product(product(p, t), p)
    back = adjoint(t)
    rows = product(product(p, adjoint(p)), back)
    rows = rows - product(product(rows, a), p)
    columns = product(product(back, adjoint(p)), p)
    columns = columns - product(product(p, a), columns)
    return p, inside + rows + columns


_pinv_general.defjvp(lambda primals, tangents: _pinv_jvp(_pinv_general, primals, tangents))
_pinv_hermitian.defjvp(lambda primals, tangents: _pinv_jvp(_pinv_hermitian, primals, tangents))


def lstsq(a: Any, b: Any, rcond: float | None = None, *, numpy_resid: bool = False) -> tuple[Any, Any, Any, Any]:
    """Return the least-squares solution of ``a @ x = b`` with the smallest norm, for one matrix of shape ``(m, n)``.

    ``b`` is a vector, ``(m,)``, or the columns of ``(m, k)``. Returns x, the sums of squared residuals, ``(k,)``,
    the rank, and the singular values. Singular values below ``rcond`` times the largest are treated as zero; the
    default is max(m, n) times the machine epsilon. With ``numpy_resid`` the sums are empty, as in NumPy, for a
    rank below n or m ≤ n; that needs the rank's value, so it does not work under jit. Raises TypeError and
    ValueError for shapes that do not fit.

    >>> import xlascope.numpy as jnp
    >>> x, residuals, rank, values = jnp.linalg.lstsq(jnp.array([[1.0], [1.0]]), jnp.array([1.0, 3.0]))
    >>> print(x.round(3), residuals.round(3), rank)
    [2.] [2.] 1
    """
    shape_a, shape_b = shape_of(a), shape_of(b)
    if len(shape_a) != 2:
        raise TypeError(f"linalg.lstsq takes a matrix of two axes, got shape {shape_a}{here()}; use vmap for stacks")
    if len(shape_b) not in (1, 2):
        raise TypeError(f"linalg.lstsq takes a right side of one or two axes, got shape {shape_b}{here()}")
    if shape_a[0] != shape_b[0]:
        raise ValueError(f"linalg.lstsq: Leading dimensions of input arrays must match, got {shape_a} and {shape_b}")
    x, residuals, rank, values = _lstsq(a, b, rcond)
    if numpy_resid and (int(rank) < shape_a[1] or shape_a[0] <= shape_a[1]):
        residuals = residuals[:0]
    return x, residuals, rank, values


@jit_wrapped()
def _lstsq(a: Any, b: Any, rcond: Any) -> tuple[Any, Any, Any, Any]:
    a, b = inexact_pair_of_any_rank(a, b)
    is_vector = len(shape_of(b)) == 1
    b = expand_dims(b, -1) if is_vector else b
    (m, n), k = shape_of(a), shape_of(b)[-1]
    dtype = aval_of(a).dtype
    eps = float(finfo(dtype).eps)
    u, s, vh = singular_values.svd(a, full_matrices=False)
    if not m or not n:
        x, rank = zeros_of(make_aval((n, k), dtype)), zeros_of(make_aval((), to_canonical_dtype(int)))
    else:
        threshold = eps * max(m, n) if rcond is None else logic.where(logic.less(rcond, 0), eps, rcond)
        significant = logic.logical_and(logic.greater(s, 0), logic.greater_equal(s, ufuncs.multiply(threshold, s[0])))
        rank = reductions.sum(as_dtype(significant, to_canonical_dtype(int)), dtype=to_canonical_dtype(int))
        inverse = logic.where(significant, 1 / logic.where(significant, s, 1), 0)
        x = product(adjoint(vh), ufuncs.multiply(expand_dims(inverse, -1), product(adjoint(u), b)))
    residual = b - product(a, x)
    squared_residuals = reductions.sum(ufuncs.real(ufuncs.multiply(residual, ufuncs.conjugate(residual))), 0)
    return squeeze(x, -1) if is_vector else x, squared_residuals, rank, s


def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Any:
    """Return the number of singular values of matrices ``(…, m, n)`` above ``rtol`` times the largest.

    The result holds integers of shape ``(…)``. By default ``rtol`` is max(m, n) times the machine epsilon; ``tol`` is
    an absolute threshold to use instead. The rank of an array with fewer than two axes is 1, or 0 if all of its
    elements are zero. ``hermitian`` says that the matrices are Hermitian. Raises ValueError if both thresholds are
    given.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.matrix_rank(jnp.array([[1.0, 2.0], [2.0, 4.0]])))
    1
    """
    if rtol is not None and tol is not None:
        raise ValueError("matrix_rank: only one of tol or rtol may be specified")
    return _matrix_rank(M, rtol, tol, hermitian=bool(hermitian))


@jit_wrapped("hermitian")
def _matrix_rank(a: Any, rtol: Any, tol: Any, hermitian: bool) -> Any:
    a = promote_inexact(a)
    shape = shape_of(a)
    if len(shape) < 2:
        return as_dtype(reductions.any(logic.not_equal(a, 0)), np.dtype("int32"))
    if not min(shape[-2:]):
        return zeros_of(make_aval(shape[:-2], to_canonical_dtype(int)))
    s = svd(a, full_matrices=False, compute_uv=False, hermitian=hermitian)
    if tol is None:
        factor = max(shape[-2:]) * float(finfo(aval_of(a).dtype).eps) if rtol is None else rtol
        tol = ufuncs.multiply(factor, reductions.max(s, -1))
    above = logic.greater(s, expand_dims(tol, -1))
    return reductions.sum(as_dtype(above, to_canonical_dtype(int)), -1, dtype=to_canonical_dtype(int))


@jit_wrapped("p")
def cond(x: Any, p: Any = None) -> Any:
    """Return the condition numbers of matrices: the norm of each times that of its inverse.

    ``p`` names the norm, as ``ord`` in :func:`norm`; by default (and for 2) it is the largest singular value
    divided by the smallest, also of matrices that are not square. A singular matrix has an infinite one. Raises
    ValueError for arrays without rows and columns, or other norms of matrices that are not square.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.cond(jnp.array([[4.0, 0.0], [0.0, 2.0]])))
    2.0
    """
    x = promote_inexact(x)
    if len(shape_of(x)) < 2:
        raise ValueError(f"linalg.cond takes matrices, of at least two axes, got shape {shape_of(x)}{here()}")
    if not min(shape_of(x)[-2:]):
        raise ValueError(f"linalg.cond is not defined on empty arrays, got shape {shape_of(x)}{here()}")
    if p in (None, 2, -2):
        s = svd(x, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    require_square("cond", x)
    result = norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))
    had_nan = reductions.any(logic.isnan(x), (-2, -1))
    return logic.where(logic.logical_and(logic.isnan(result), logic.logical_not(had_nan)), math.inf, result)
