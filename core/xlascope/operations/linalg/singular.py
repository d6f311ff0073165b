"""The singular value decomposition."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, ClassVar

from ...dtypes import kind_of
from ...ir.avals import ShapedArray, shaped
from ...ir.markers import ZERO
from ...trace.bind import bind
from ...trace.source import here
from ...xla import lapack
from ..arithmetic import add, integer_pow, mul, sub
from ..comparisons import eq
from ..complex_numbers import real, real_dtype
from ..conversion import convert_element_type
from ..sums import sum_tangents
from ..values import aval, typed_scalar
from .matrices import adjoint, as_columns, as_rows, diagonal, identity, product
from .stacks import INT32, LETTER, OfStacks, identities, nan_where_failed, require_cpu, require_matrices, zeros


class SvdAlgorithm(enum.Enum):
    """How singular values are found: on the CPU by dividing and conquering (DEFAULT), or by QR steps."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


#: LAPACK's routines for the algorithms that there are on the CPU.
_ROUTINES = {
    SvdAlgorithm.DEFAULT: "gesdd",
    SvdAlgorithm.DIVIDE_AND_CONQUER: "gesdd",
    SvdAlgorithm.QR: "gesvd",
}


class Svd(OfStacks, name="svd"):
    """The singular values s, and U and Vᴴ with A = U S Vᴴ if they are asked for.

    With D = Uᴴ A' V: s' is the real part of its diagonal, and the vectors move within their space by
    U (F ∘ (D S + S Dᴴ)) and V (F ∘ (S D + Dᴴ S)) with F[i, j] = 1 / (s[j]² - s[i]²), and out of it by what A' V S⁻¹ has
    outside of U (J. Townsend, "Differentiating the singular value decomposition", 2016). F is infinite for equal
    singular values, whose vectors have no derivative; S⁻¹ is zero for zero.
    """

    full_matrices: bool
    compute_uv: bool
    algorithm: SvdAlgorithm

    multiple_results: ClassVar[bool] = True

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a)
        (*lead, m, n) = a.shape
        k = min(m, n)
        values = shaped((*lead, k), real_dtype(a.dtype))
        if not self.compute_uv:
            return [values]
        of_u, of_v = ((m, m), (n, n)) if self.full_matrices else ((m, k), (k, n))
        return [values, shaped((*lead, *of_u), a.dtype), shaped((*lead, *of_v), a.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        if not a.size:
            return [zeros(builder, outs[0]), *(identities(builder, out) for out in outs[1:])]
        require_cpu(self.name, builder)
        (*lead, m, n) = a.shape
        mode = "N" if not self.compute_uv else "A" if self.full_matrices else "S"
        k = min(m, n)
        wide = self.full_matrices or not self.compute_uv
        sides = [shaped((*lead, *s), a.dtype) for s in (((m, m), (n, n)) if wide else ((m, k), (k, n)))]
        types = [shaped(a.shape, a.dtype), outs[0], *sides, shaped(tuple(lead), INT32)]
        routine, options = _ROUTINES[self.algorithm], {"mode": LETTER[mode]}
        _, s, u, vh, info = lapack.call(builder, routine, operands, [a], types, len(lead), options, {0: 0})
        made = [s, u, vh][: len(outs)]
        return [nan_where_failed(builder, info, tuple(lead), y, out) for y, out in zip(made, outs, strict=True)]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return 14 * operands[0].size * min(operands[0].shape[-2:])

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (a,), (t,) = primals, tangents
        m, n = aval(a).shape[-2:]
        if t is ZERO:
            results = bind(self, a)
            return results, [ZERO] * len(results)
        if self.compute_uv and self.full_matrices and m != n:
            raise NotImplementedError(
                "Singular value decomposition JVP not implemented for full matrices: the vectors beyond the shape "
                f"{aval(a).shape} are not determined{here()}; use full_matrices=False"
            )
        s, u, vh = bind(Svd(False, True, self.algorithm), a)
        v, uh = adjoint(vh), adjoint(u)
        moved = product(product(uh, t), v)
        of_values = diagonal(moved)
        of_values = real(of_values) if kind_of(aval(of_values).dtype) == "c" else of_values
        if not self.compute_uv:
            return [s], [of_values]
        return [s, u, vh], [of_values, *_of_vectors(s, u, v, moved, t)]


def _of_vectors(s: Any, u: Any, v: Any, moved: Any, t: Any) -> tuple[Any, Any]:
    """The tangents of U and of Vᴴ."""
    dtype, rank = aval(u).dtype, len(aval(u).shape)
    m, n, k = aval(u).shape[-2], aval(v).shape[-2], aval(s).shape[-1]
    s = convert_element_type(s, dtype)
    ones = identity(k, dtype, (1,) * (rank - 2))
    apart = mul(add(as_rows(s), as_columns(s)), sub(as_rows(s), as_columns(s)))
    factors = sub(integer_pow(add(apart, ones), -1), ones)
    inverse = _inverse_or_zero(s)
    right, left = mul(moved, as_rows(s)), mul(as_columns(s), moved)
    back = adjoint(moved)
    turned = mul(mul(sub(moved, back), mul(ones, as_rows(inverse))), typed_scalar(0.5, dtype))
    of_u = product(u, add(mul(factors, add(right, adjoint(right))), turned))
    of_v = product(v, mul(factors, add(left, adjoint(left))))
    if m > n:
        of_u = sum_tangents([of_u, mul(_outside(u, product(t, v)), as_rows(inverse))])
    if n > m:
        of_v = sum_tangents([of_v, mul(_outside(v, product(adjoint(t), u)), as_rows(inverse))])
    return of_u, adjoint(of_v)


def _inverse_or_zero(x: Any) -> Any:
    is_zero = convert_element_type(eq(x, typed_scalar(0, aval(x).dtype)), aval(x).dtype)
    return sub(integer_pow(add(x, is_zero), -1), is_zero)


def _outside(basis: Any, x: Any) -> Any:
    """What of the columns lies outside of the space of an orthonormal basis."""
    return sub(x, product(basis, product(adjoint(basis), x)))


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """The singular value decomposition of stacks of matrices, ``x = U S Vᴴ``, shape ``(…, m, n)``.

    Returns U, ``(…, m, k)``, the singular values, real and falling, ``(…, min(m, n))``, and Vᴴ, ``(…, k', n)``, with
    k = m and k' = n for ``full_matrices``, else both ``min(m, n)``; without ``compute_uv`` the singular values alone.
    ``subset_by_index`` (first, end) chooses among them. ``algorithm`` is DEFAULT, DIVIDE_AND_CONQUER or QR on the CPU.
    A matrix with NaN gives NaN. Raises ValueError for arrays without rows and columns or a subset that is not there,
    NotImplementedError for derivatives of full matrices that are not square, for other algorithms, and off the CPU.

    >>> from xlascope import lax, numpy as jnp
    >>> u, s, vh = lax.linalg.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]))
    >>> print(s)
    [4. 3.]
    """
    kind = SvdAlgorithm.DEFAULT if algorithm is None else algorithm
    if kind not in _ROUTINES:
        raise NotImplementedError(f"svd by {kind}, on the CPU: there are DEFAULT, DIVIDE_AND_CONQUER and QR")
    require_matrices("svd", aval(x))
    rank = min(aval(x).shape[-2:])
    if subset_by_index is not None:
        first, end = subset_by_index
        if not 0 <= first < end <= rank:
            raise ValueError(f"subset_by_index is (first, end) with 0 <= first < end <= {rank}, got {subset_by_index}")
        if (first, end) != (0, rank):
            if full_matrices and compute_uv:
                raise ValueError("full_matrices and subset_by_index cannot both be set")
            raise NotImplementedError(f"subset_by_index={subset_by_index!r} of svd, on the CPU: slice what svd returns")
    results = bind(Svd(bool(full_matrices), bool(compute_uv), kind), x)
    return (results[1], results[0], results[2]) if compute_uv else results[0]
