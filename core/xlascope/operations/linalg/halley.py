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
from ..conversion import convert_element_type
from ..exponentials import rsqrt, sqrt
from ..reductions import reduce_max
from ..selection import select
from ..shapes import broadcast_in_dim, expand_dims, reduce_sum
from ..slicing import concatenate, slice_in_dim
from ..values import aval, typed_scalar
from .cholesky import Cholesky
from .matrices import adjoint, identity, product
from .qr import qr
from .triangular import triangular_solve

#: For larger weights c a Cholesky factorization of I + c XᴴX would lose too much precision.
_LARGEST_FOR_CHOLESKY = 100.0


class Weights(NamedTuple):
    """Weights of one step."""

    a: float
    b: float
    c: float

    @property
    def by_qr(self) -> bool:
        """Return whether the step needs a QR factorization."""
        return self.c > _LARGEST_FOR_CHOLESKY


#: The limit of the weights: those of Halley's unweighted iteration.
LAST = Weights(3.0, 1.0, 3.0)


def weights(epsilon: float, most: int) -> list[Weights]:
    """Return the weights of the steps that bring singular values from [``epsilon``, 1] to 1, ``most`` at most."""
    steps: list[Weights] = []
    least = epsilon
    while least + 5.0 * epsilon < 1.0 and len(steps) < most:
        squared = least * least
        inner = (4.0 * (1.0 / squared - 1.0) / squared) ** (1.0 / 3.0)
        root = math.sqrt(1.0 + inner)
        a = root + math.sqrt(8.0 - 4.0 * inner + 8.0 * (2.0 - squared) / (squared * root)) / 2.0
        b = (a - 1.0) ** 2 / 4.0
        c = a + b - 1.0
        steps.append(Weights(a, b, c))
        least *= (a + b * squared) / (1.0 + c * squared)
    return steps


def scaled(x: Any) -> Any:
    """Scale matrices to singular values of at most 1: divide by the geometric mean of two norms."""
    rank = len(aval(x).shape)
    rows, columns = (reduce_max(reduce_sum(abs(x), (axis,)), (rank - 2,)) for axis in (rank - 2, rank - 1))
    ones = broadcast_in_dim(typed_scalar(1, aval(rows).dtype), aval(rows).shape, ())
    is_zero = eq(rows, typed_scalar(0, aval(rows).dtype))
    factor = select(is_zero, ones, mul(rsqrt(rows), rsqrt(columns)))
    return mul(x, convert_element_type(expand_dims(factor, (rank - 2, rank - 1)), aval(x).dtype))


def step(x: Any, by: Weights) -> Any:
    """Return the matrices after one step."""
    a, b, c = by
    inverse_term = _last_by_qr(x, c) if by.by_qr else _last_by_cholesky(x, c)
    return add(_times(x, b / c), _times(inverse_term, (a - b / c) / (math.sqrt(c) if by.by_qr else 1.0)))


def _last_by_qr(x: Any, c: float) -> Any:
    """Return √c X (I + c XᴴX)⁻¹, as Q₁ Q₂ᴴ of the QR factorization of √c X above I."""
    (*lead, m, n), rank = aval(x).shape, len(aval(x).shape)
    below = broadcast_in_dim(identity(n, aval(x).dtype, (1,) * len(lead)), (*lead, n, n), range(rank))
    q, _ = qr(concatenate([_times(x, math.sqrt(c)), below], rank - 2), full_matrices=False)
    above, beneath = slice_in_dim(q, 0, m, axis=rank - 2), slice_in_dim(q, m, m + n, axis=rank - 2)
    return product(above, adjoint(beneath))


def _last_by_cholesky(x: Any, c: float) -> Any:
    """Return X (I + c XᴴX)⁻¹."""
    eye = identity(aval(x).shape[-1], aval(x).dtype, (1,) * (len(aval(x).shape) - 2))
    factor = bind1(Cholesky.instance, add(_times(product(adjoint(x), x), c), eye))
    half = triangular_solve(factor, adjoint(x), left_side=True, lower=True)
    solution = triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True, conjugate_a=True)
    return adjoint(solution)


def polished(u: Any) -> Any:
    """Improve matrices with nearly orthonormal columns by one step of Newton and Schulz."""
    return sub(_times(u, 1.5), product(_times(u, 0.5), product(adjoint(u), u)))


def positive(u: Any, x: Any) -> Any:
    """Return the Hermitian factor H = UᴴX."""
    return hermitian(product(adjoint(u), x))


def hermitian(x: Any) -> Any:
    """Return the means of matrices and their adjoints."""
    return _times(add(x, adjoint(x)), 0.5)


def length(x: Any) -> Any:
    """Return the Frobenius norms."""
    rank = len(aval(x).shape)
    size = abs(x)
    return sqrt(reduce_sum(mul(size, size), (rank - 2, rank - 1)))


def unitary(x: Any) -> Any:
    """Return the U of X = U H, with as many steps as the precision may need; X has at least as many rows as columns."""
    epsilon = 2.0 ** (-52 if real_dtype(aval(x).dtype).itemsize == 8 else -23)
    u = scaled(x)
    for weight in weights(epsilon, 10):
        u = step(u, weight)
    return polished(u)


def _times(x: Any, factor: float) -> Any:
    return mul(x, typed_scalar(factor, aval(x).dtype))
