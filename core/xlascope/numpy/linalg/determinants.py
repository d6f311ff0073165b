"""Determinants, and their signs and logarithms."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...api import jit, jvp
from ...control.rules.custom_jvp import custom_jvp
from ...control.rules.linear_solve import custom_linear_solve
from ...dtypes import dtype_kind
from ...operations.barriers import stop_gradient
from ...operations.linalg import householder, lu, qr, row_permutations
from ...operations.linalg.matrices import adjoint, diagonal, product, transpose_matrices
from ...operations.linalg.triangular import triangular_solve
from ...trace.values import aval_of
from .. import logic, reductions, ufuncs
from ..creation import zeros_like
from ..jit_wrapped import jit_wrapped
from ..matrices import eye_in_dtype
from ..promotion import as_dtype, promote_inexact
from ..ranges import arange
from ..shaping import expand_dims, shape_of
from ..transcendental import log
from .solving import require_square, solve


class SlogdetResult(NamedTuple):
    """Result of :func:`slogdet`: the sign of a determinant, and the logarithm of its absolute value.

    The sign of a complex determinant is a number of absolute value 1.
    """

    sign: Any
    logabsdet: Any


#: Determinants of so many rows or fewer are written out: their derivatives are those of products.
_MAX_WRITTEN_OUT = 3


@jit_wrapped()
def det(a: Any) -> Any:
    """Return the determinants of square matrices, shape ``(…, n, n)``; raise ValueError for others.

    Its derivative is the adjugate, which singular matrices have as well. Derivatives of higher order are correct for
    matrices of rank n - 3 or more. Those of lower rank have the correct first to third derivatives, which are zero
    but for the rank n - 3, and zero for those of higher order.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]])))
    -2.0
    """
    require_square("det", a)
    x = promote_inexact(a)
    return _det(x) if shape_of(x)[-1] > _MAX_WRITTEN_OUT else _det_written_out(x)


def _det_written_out(x: Any) -> Any:
    size = shape_of(x)[-1]
    if size < 2:
        return reductions.prod(diagonal(x), -1)
    if size == 2:
        return x[..., 0, 0] * x[..., 1, 1] - x[..., 0, 1] * x[..., 1, 0]
    rows = [[x[..., i, j] for j in range(3)] for i in range(3)]
    (a, b, c), (d, e, f), (g, h, i) = rows
    return a * e * i + b * f * g + c * d * h - c * e * g - b * d * i - a * f * h


@custom_jvp
def _det(a: Any) -> Any:
    factors, pivots, _ = lu.lu(a)
    return _permutation_sign(pivots, aval_of(a).dtype) * reductions.prod(diagonal(factors), -1)


@_det.defjvp
def _det_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    return jvp(_det_by_blocks, primals, tangents)  # type: ignore[no-any-return]


def _permutation_sign(pivots: Any, dtype: Any) -> Any:
    """Return the sign of a permutation in ``dtype``: -1 to the number of exchanged rows.

    ``pivots`` has for each row of a factorization by LU the row with which it is exchanged.
    """
    exchange_count = reductions.sum(logic.not_equal(pivots, arange(shape_of(pivots)[-1])), -1)
    return as_dtype(1 - 2 * (exchange_count % 2), dtype)


@jit
def _det_by_blocks(a: Any) -> Any:
    """Return the determinants of matrices of more than three rows, by steps that can be differentiated at any rank.

    Let A P = Q R, where P is a permutation and the diagonal of R decreases in absolute value, and let Q and P be
    constants. B = Qᴴ A P is R, with the tangents Qᴴ A' P. Its determinant is that of the block B₁₁, which is regular
    as long as the rank of A is at least n - 3, times that of the Schur complement B₂₂ - B₂₁ B₁₁⁻¹ B₁₂ of three rows.
    The latter is a polynomial, and has its derivatives where it is singular. For lower ranks both are zero.
    """
    dtype, size = aval_of(a).dtype, shape_of(a)[-1] - _MAX_WRITTEN_OUT
    q, r, order = qr.qr(stop_gradient(a), pivoting=True)
    exchanges = row_permutations.permutation_matrices(order, dtype)
    sign = _det(product(q, exchanges))
    b = _with_tangent(r, a, adjoint(q), transpose_matrices(exchanges))
    inverses = ufuncs.reciprocal(diagonal(r)[..., :size])
    is_regular = logic.logical_not(reductions.any(logic.isinf(inverses), -1))
    regular = logic.where(expand_dims(is_regular, (-2, -1)), b[..., :size, :size], eye_in_dtype(size, dtype))
    eliminated = product(b[..., size:, :size], _solve_upper(regular, b[..., :size, size:]))
    rest = _det_written_out(b[..., size:, size:] - eliminated)
    return sign * logic.where(is_regular, _det_upper(regular) * rest, 0)


@custom_jvp
def _with_tangent(value: Any, a: Any, left: Any, right: Any) -> Any:
    """Return ``value``, with ``left`` A' ``right`` for its tangent."""
    return value


@_with_tangent.defjvp
def _with_tangent_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    _, _, left, right = primals
    return _with_tangent(*primals), product(product(left, tangents[1]), right)


@custom_jvp
def _det_upper(b: Any) -> Any:
    """Return the determinants of matrices that are upper triangular; their tangents may be any."""
    return reductions.prod(diagonal(b), -1)


@_det_upper.defjvp
def _det_upper_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    (b,), (t,) = primals, tangents
    determinant = _det_upper(b)
    return determinant, determinant * reductions.sum(diagonal(_solve_upper(b, t)), -1)


def _solve_upper(b: Any, y: Any) -> Any:
    """Return B⁻¹ Y for matrices B that are upper triangular; their tangents may be any."""
    triangle = stop_gradient(b)

    def forward(_: Any, y: Any) -> Any:
        return triangular_solve(triangle, y, left_side=True, lower=False)

    def backward(_: Any, y: Any) -> Any:
        return triangular_solve(triangle, y, left_side=True, lower=False, transpose_a=True)

    return custom_linear_solve(lambda x: product(b, x), y, forward, backward)


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
    unsigned_zero = logic.where(logic.equal(signs, 0), 0, signs)  # XLA leaves out the addition of 0
    return unsigned_zero, reductions.sum(log(ufuncs.abs(on_diagonal)), -1)


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
