"""The polar decomposition by dynamically weighted Halley iterations (QDWH).

Each step takes X to X (a I + b XᴴX) (I + c XᴴX)⁻¹, whose weights a, b and c are optimal for singular values between l
and 1. It is computed by a QR factorization, or, where c is small enough for it, by a Cholesky factorization. (Y.
Nakatsukasa, Z. Bai, F. Gygi: "Optimizing Halley's iteration for computing the matrix polar decomposition", SIAM J.
Matrix Anal. Appl. 31, 2010.)
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...trace.bind import bind1
from ..arithmetic import abs, add, mul, sub
from ..comparisons import eq
from ..complex_numbers import real_dtype
from ..conversion import to_dtype
from ..exponentials import rsqrt, sqrt
from ..operand_values import aval, typed_scalar
from ..reductions import reduce_max
from ..selection import select
from ..shapes import broadcast_in_dim, expand_dims, reduce_sum
from ..slicing import concatenate, slice_in_dim
from .cholesky import Cholesky
from .matrices import adjoint, identity, product
from .qr import qr
from .triangular import triangular_solve

#: For larger weights c a Cholesky factorization of I + c XᴴX would lose too much precision.
_MAX_CHOLESKY_WEIGHT = 100.0


class HalleyWeights(NamedTuple):
    """Weights a, b and c of one step of the iteration; the module docstring explains them."""

    a: float
    b: float
    c: float

    @property
    def needs_qr(self) -> bool:
        """Return whether the step needs a QR factorization, because a Cholesky factorization is too inaccurate."""
        return self.c > _MAX_CHOLESKY_WEIGHT


#: The limit of the weights: those of Halley's unweighted iteration.
LIMIT_WEIGHTS = HalleyWeights(3.0, 1.0, 3.0)


def step_weights(epsilon: float, most: int) -> list[HalleyWeights]:
    """Return the weights of the steps that bring singular values from [``epsilon``, 1] to 1.

    ``most`` is the maximum number of steps.
    """
    steps: list[HalleyWeights] = []
    least = epsilon
    while least + 5.0 * epsilon < 1.0 and len(steps) < most:
        squared = least * least
        inner = (4.0 * (1.0 / squared - 1.0) / squared) ** (1.0 / 3.0)
        root = math.sqrt(1.0 + inner)
        a = root + math.sqrt(8.0 - 4.0 * inner + 8.0 * (2.0 - squared) / (squared * root)) / 2.0
        b = (a - 1.0) ** 2 / 4.0
        c = a + b - 1.0
        steps.append(HalleyWeights(a, b, c))
        least *= (a + b * squared) / (1.0 + c * squared)
    return steps


def scale_to_unit_norm(x: Any) -> Any:
    """Scale matrices so that their singular values are at most 1.

    They are divided by the geometric mean of two norms: the largest row sum and the largest column sum of magnitudes.
    """
    rank = len(aval(x).shape)
    rows, columns = (reduce_max(reduce_sum(abs(x), (axis,)), (rank - 2,)) for axis in (rank - 2, rank - 1))
    ones = broadcast_in_dim(typed_scalar(1, aval(rows).dtype), aval(rows).shape, ())
    is_zero = eq(rows, typed_scalar(0, aval(rows).dtype))
    factor = select(is_zero, ones, mul(rsqrt(rows), rsqrt(columns)))
    return mul(x, to_dtype(expand_dims(factor, (rank - 2, rank - 1)), aval(x).dtype))


def halley_step(x: Any, by: HalleyWeights) -> Any:
    """Return the matrices ``x`` after one step with the weights ``by``."""
    a, b, c = by
    inverse_term = _inverse_term_by_qr(x, c) if by.needs_qr else _inverse_term_by_cholesky(x, c)
    return add(_scale(x, b / c), _scale(inverse_term, (a - b / c) / (math.sqrt(c) if by.needs_qr else 1.0)))


def _inverse_term_by_qr(x: Any, c: float) -> Any:
    """Return √c X (I + c XᴴX)⁻¹, as Q₁ Q₂ᴴ of the QR factorization of √c X above I."""
    (*lead, m, n), rank = aval(x).shape, len(aval(x).shape)
    below = broadcast_in_dim(identity(n, aval(x).dtype, (1,) * len(lead)), (*lead, n, n), range(rank))
    q, _ = qr(concatenate([_scale(x, math.sqrt(c)), below], rank - 2), full_matrices=False)
    above, beneath = slice_in_dim(q, 0, m, axis=rank - 2), slice_in_dim(q, m, m + n, axis=rank - 2)
    return product(above, adjoint(beneath))


def _inverse_term_by_cholesky(x: Any, c: float) -> Any:
    """Return X (I + c XᴴX)⁻¹."""
    eye = identity(aval(x).shape[-1], aval(x).dtype, (1,) * (len(aval(x).shape) - 2))
    factor = bind1(Cholesky.instance, add(_scale(product(adjoint(x), x), c), eye))
    half = triangular_solve(factor, adjoint(x), left_side=True, lower=True)
    solution = triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True, conjugate_a=True)
    return adjoint(solution)


def newton_schulz_step(u: Any) -> Any:
    """Return matrices with nearly orthonormal columns after one Newton-Schulz step, which improves them."""
    return sub(_scale(u, 1.5), product(_scale(u, 0.5), product(adjoint(u), u)))


def positive_factor(u: Any, x: Any) -> Any:
    """Return the Hermitian factor H = UᴴX of X = U H, given its unitary factor U."""
    return hermitian_part(product(adjoint(u), x))


def hermitian_part(x: Any) -> Any:
    """Return the means of square matrices and their adjoints."""
    return _scale(add(x, adjoint(x)), 0.5)


def frobenius_norm(x: Any) -> Any:
    """Return the Frobenius norms of a stack of matrices."""
    rank = len(aval(x).shape)
    size = abs(x)
    return sqrt(reduce_sum(mul(size, size), (rank - 2, rank - 1)))


def unitary_factor(x: Any) -> Any:
    """Return the factor U, with orthonormal columns, of X = U H.

    X has at least as many rows as columns. The number of steps is enough for any matrix in its precision.
    """
    epsilon = 2.0 ** (-52 if real_dtype(aval(x).dtype).itemsize == 8 else -23)
    u = scale_to_unit_norm(x)
    for weight in step_weights(epsilon, 10):
        u = halley_step(u, weight)
    return newton_schulz_step(u)


def _scale(x: Any, factor: float) -> Any:
    return mul(x, typed_scalar(factor, aval(x).dtype))
