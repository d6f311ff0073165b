"""Determinants, and their signs and logarithms."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...control.rules.custom_jvp import custom_jvp
from ...dtypes import dtype_kind
from ...operations.linalg import householder, lu, qr
from ...operations.linalg.matrices import adjoint, diagonal, product, transpose_matrices
from ...operations.linalg.triangular import triangular_solve
from ...trace.values import aval_of
from .. import logic, reductions, ufuncs
from ..creation import zeros_like
from ..jit_wrapped import jit_wrapped
from ..matrices import eye
from ..promotion import as_dtype, promote_inexact
from ..ranges import arange
from ..shaping import expand_dims, matrix_transpose, shape_of
from ..transcendental import log
from .solving import require_square, solve


class SlogdetResult(NamedTuple):
    """Result of :func:`slogdet`: the sign of a determinant, and the logarithm of its absolute value.

    The sign of a complex determinant is a number of absolute value 1.
    """

    sign: Any
    logabsdet: Any


@jit_wrapped()
def det(a: Any) -> Any:
    """Return the determinants of square matrices, shape ``(…, n, n)``; raise ValueError for others.

    Its derivative, the adjugate, is correct for singular matrices as well.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]])))
    -2.0
    """
    require_square("det", a)
    x = promote_inexact(a)
    size = shape_of(x)[-1]
    if size == 2:
        return x[..., 0, 0] * x[..., 1, 1] - x[..., 0, 1] * x[..., 1, 0]
    if size == 3:
        return _det_3x3(x)
    return _det(x)


def _det_3x3(x: Any) -> Any:
    rows = [[x[..., i, j] for j in range(3)] for i in range(3)]
    (a, b, c), (d, e, f), (g, h, i) = rows
    return a * e * i + b * f * g + c * d * h - c * e * g - b * d * i - a * f * h


@custom_jvp
def _det(a: Any) -> Any:
    factors, pivots, _ = lu.lu(a)
    return _permutation_sign(pivots, aval_of(a).dtype) * reductions.prod(diagonal(factors), -1)


@_det.defjvp
def _det_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    (a,), (t,) = primals, tangents
    determinant, adjugate_tangent = _adjugate_times(a, t)
    return determinant, reductions.sum(diagonal(adjugate_tangent), -1)


def _permutation_sign(pivots: Any, dtype: Any) -> Any:
    """Return the sign of a permutation in ``dtype``: -1 to the number of exchanged rows.

    ``pivots`` has for each row of a factorization by LU the row with which it is exchanged.
    """
    exchange_count = reductions.sum(logic.not_equal(pivots, arange(shape_of(pivots)[-1])), -1)
    return as_dtype(1 - 2 * (exchange_count % 2), dtype)


def _adjugate_times(a: Any, b: Any) -> tuple[Any, Any]:
    """Return det(A) and det(A) A⁻¹ B, the product of A's adjugate and B, which also exists for a singular A.

    With A P = Q R, where P is a permutation and the diagonal of R decreases in absolute value, the product is P Y for
    the solution Y of R Y = det(A) X, where X = Qᴴ B. Its last row is R[n, n] Y[n] = det(A) X[n]. As det(A) = d R[n, n],
    where d is det(Q) det(P) times the other diagonal elements, that is (1 / d) Y[n] = X[n]: with 1 / d in place of R[n,
    n], and without the factor det(A) in that row, the system can be solved as long as d is not zero. If it is, A has a
    rank below n - 1, and the adjugate is zero.
    """
    size, dtype = shape_of(a)[-1], aval_of(a).dtype
    if not size:
        return _det(a), b
    q, r, order = qr.qr(a, pivoting=True)
    exchanges = lu.permutation_matrices(order, dtype)
    on_diagonal = diagonal(r)
    but_last = _det(product(q, exchanges)) * reductions.prod(on_diagonal[..., :-1], -1)
    determinant = but_last * on_diagonal[..., -1]
    inverse = expand_dims(ufuncs.reciprocal(but_last), (-2, -1))
    is_finite = logic.logical_not(logic.isinf(inverse))
    is_last = expand_dims(logic.equal(arange(size), size - 1), -1)
    x = product(adjoint(q), b)
    x = logic.where(is_last, x, ufuncs.multiply(x, expand_dims(determinant, (-2, -1))))
    modified_r = logic.where(logic.logical_and(is_last, matrix_transpose(is_last)), inverse, r)
    modified_r = logic.where(is_finite, modified_r, eye(size, dtype=dtype))
    y = triangular_solve(modified_r, logic.where(is_finite, x, zeros_like(x)), left_side=True, lower=False)
    return determinant, product(transpose_matrices(exchanges), y)


def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """Return the signs and log absolute values of determinants, which neither overflow nor underflow.

    ``a`` has shape ``(…, n, n)``; the sign of a complex determinant has absolute value 1. A singular matrix has
    the sign 0 and the logarithm -inf, whose derivatives are infinite or NaN. ``method`` is "lu" (None) or "qr".
    Raises ValueError for matrices that are not square, and for another method.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.slogdet(jnp.array([[0.0, 1.0], [1.0, 0.0]])).sign)
    -1.0
    """
    if method not in (None, "lu", "qr"):
        raise ValueError(f"Unknown slogdet method {method!r}: it is 'lu' or 'qr'")
    return SlogdetResult(*_slogdet(a, by_qr=method == "qr"))


@jit_wrapped("by_qr")
def _slogdet(a: Any, by_qr: bool) -> tuple[Any, Any]:
    require_square("slogdet", a)
    sign, size = (_slogdet_by_qr if by_qr else _slogdet_by_lu)(promote_inexact(a))
    return sign, size


@custom_jvp
def _slogdet_by_lu(a: Any) -> tuple[Any, Any]:
    factors, pivots, _ = lu.lu(a)
    return _sign_and_log(diagonal(factors), _permutation_sign(pivots, aval_of(a).dtype))


@custom_jvp
def _slogdet_by_qr(a: Any) -> tuple[Any, Any]:
    reflectors, taus = householder.geqrf(a)
    # A reflection 1 - tau v vᴴ is unitary: its determinant 1 - tau vᴴ v is -tau / conj(tau), and 1 if tau is zero.
    phases = logic.where(logic.equal(taus, 0), 1, -taus / ufuncs.conjugate(logic.where(logic.equal(taus, 0), 1, taus)))
    return _sign_and_log(diagonal(reflectors), reductions.prod(as_dtype(phases, aval_of(a).dtype), -1))


def _sign_and_log(on_diagonal: Any, sign: Any) -> tuple[Any, Any]:
    """Return the sign and the log absolute value of the product of ``sign`` and the diagonal elements.

    ``on_diagonal`` has the elements of each matrix along its last axis.
    """
    signs = sign * reductions.prod(ufuncs.sign(on_diagonal), -1)
    return signs + 0, reductions.sum(log(ufuncs.abs(on_diagonal)), -1)  # + 0 turns -0 into 0


def _slogdet_jvp(function: Any, primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    (a,), (t,) = primals, tangents
    sign, size = function(a)
    log_tangent = reductions.sum(diagonal(solve(a, t)), -1)
    if dtype_kind(aval_of(sign).dtype) == "c":
        rotation = log_tangent - as_dtype(ufuncs.real(log_tangent), aval_of(log_tangent).dtype)
        return (sign, size), (sign * rotation, ufuncs.real(log_tangent))
    return (sign, size), (zeros_like(sign), log_tangent)


_slogdet_by_lu.defjvp(lambda primals, tangents: _slogdet_jvp(_slogdet_by_lu, primals, tangents))
_slogdet_by_qr.defjvp(lambda primals, tangents: _slogdet_jvp(_slogdet_by_qr, primals, tangents))
