"""The singular value decomposition."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ...dtypes import dtype_kind
from ...ir.avals import ShapedArray, make_aval
from ...ir.markers import ZERO
from ...trace.bind import bind
from ...trace.source import here
from ...xla.mlir import lapack
from ...xla.mlir.solver_calls import call_column_major
from ..arithmetic import add, integer_pow, mul, sub
from ..comparisons import eq
from ..complex_numbers import real, real_dtype
from ..conversion import to_dtype
from ..operand_values import aval, typed_scalar
from ..slicing import slice_in_dim
from ..tangent_arithmetic import sum_tangents
from .matrices import adjoint, as_columns, as_rows, diagonal, identity, product
from .matrix_stacks import (
    INT32,
    LETTER_ATTRIBUTES,
    MatrixStackOperation,
    emit_function,
    emit_identities,
    emit_leading_part,
    emit_nan_where_failed,
    emit_zeros,
    parse_subset,
    require_matrices,
)
from .polar_svd import svd_by_polar


class SvdAlgorithm(enum.Enum):
    """Algorithm for singular values.

    On the CPU: divide and conquer (DEFAULT) or QR steps; on a GPU: rotations (JACOBI, the default of small
    matrices), QR steps or a polar decomposition; on a TPU: a polar decomposition.
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


#: LAPACK's routines for the algorithms available on the CPU.
_ROUTINES = {
    SvdAlgorithm.DEFAULT: "gesdd",
    SvdAlgorithm.DIVIDE_AND_CONQUER: "gesdd",
    SvdAlgorithm.QR: "gesvd",
}


#: The most rows and columns for which a GPU uses Jacobi rotations by default, and for which it computes all vectors.
_MAX_JACOBI_SIZE, _MAX_FULL_JACOBI_SIZE = 1024, 32


class Svd(MatrixStackOperation, name="svd"):
    """Singular values s, and U and Vᴴ with A = U S Vᴴ if they are requested.

    With D = Uᴴ A' V the tangent of s is the real part of the diagonal of D. Within the spaces of U and V the tangents
    of the vectors are U (F ∘ (D S + S Dᴴ)) and V (F ∘ (S D + Dᴴ S)) with F[i, j] = 1 / (s[j]² - s[i]²); that of U has
    in addition the part of A' V S⁻¹ outside of U, and likewise for V (J. Townsend, "Differentiating the singular value
    decomposition", 2016). F is infinite for equal singular values, whose vectors have no derivative; S⁻¹ is zero for
    zero.
    """

    full_matrices: bool
    compute_uv: bool
    algorithm: SvdAlgorithm
    subset_by_index: tuple[int, int] | None = None

    multiple_results: ClassVar[bool] = True

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a)
        (*lead, m, n) = a.shape
        first, end = self.subset_by_index or (0, min(m, n))
        k = end - first
        values = make_aval((*lead, k), real_dtype(a.dtype))
        if not self.compute_uv:
            return [values]
        of_u, of_v = ((m, m), (n, n)) if self.full_matrices else ((m, k), (k, n))
        return [values, make_aval((*lead, *of_u), a.dtype), make_aval((*lead, *of_v), a.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        if not a.size:
            return [emit_zeros(builder, outs[0]), *(emit_identities(builder, out) for out in outs[1:])]
        if self.subset_by_index is not None and builder.platform != "tpu":
            raise NotImplementedError(
                f"subset_by_index={self.subset_by_index!r} of svd is there on a TPU, not on {builder.platform!r}: "
                "slice what svd returns"
            )
        return self.on_platform(builder, operands)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        if self.algorithm not in _ROUTINES:
            raise self.unsupported_error(builder, f" by {self.algorithm}")
        (a,), outs = builder.in_avals, builder.out_avals
        mode = "N" if not self.compute_uv else "A" if self.full_matrices else "S"
        (of_u, of_v), lead = self._vector_avals(a, self.full_matrices or not self.compute_uv), a.ndim - 2
        types = [make_aval(a.shape, a.dtype), outs[0], of_u, of_v, make_aval(a.shape[:-2], INT32)]
        routine, options = _ROUTINES[self.algorithm], {"mode": LETTER_ATTRIBUTES[mode]}
        _, s, u, vh, info = lapack.call_lapack(builder, routine, operands, [a], types, lead, options, {0: 0})
        return self._mask_failures(builder, info, [s, u, vh])

    def on_gpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        kind = self.algorithm
        if kind is SvdAlgorithm.DEFAULT:
            is_small = max(builder.in_avals[0].shape[-2:]) <= _MAX_JACOBI_SIZE
            kind = SvdAlgorithm.JACOBI if is_small else SvdAlgorithm.QR
        if kind is SvdAlgorithm.QR:
            return self._by_qr(builder, operands)
        if kind is SvdAlgorithm.DIVIDE_AND_CONQUER:
            raise self.unsupported_error(builder, f" by {self.algorithm}")
        return self._by_v_routine(builder, operands, kind)

    def _by_qr(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Emit cuSOLVER's gesvd, which supports no more columns than rows: a wide matrix is passed transposed."""
        (a,), outs = builder.in_avals, builder.out_avals
        m, n = a.shape[-2:]
        sides = self._vector_avals(a, self.full_matrices) if self.compute_uv else [make_aval((), a.dtype)] * 2
        sides = list(reversed(sides)) if m < n else sides
        flags = {
            "compute_uv": self.compute_uv,
            "full_matrices": self.full_matrices or not self.compute_uv,
            "transposed": m < n,
        }
        types = [make_aval(a.shape, a.dtype), outs[0], *sides, make_aval(a.shape[:-2], INT32)]
        options, lead = _format_flags(flags), a.ndim - 2
        name = "cusolver_gesvd_ffi"
        _, s, *both, info = call_column_major(builder, name, operands, [a], types, lead, options, {0: 0}, m < n)
        return self._mask_failures(builder, info, [s, *(reversed(both) if m < n else both)])

    def _by_v_routine(self, builder: Any, operands: Sequence[Any], kind: SvdAlgorithm) -> list[Any]:
        """Emit the cuSOLVER routine of algorithm ``kind`` (JACOBI or POLAR), which returns V, not its adjoint."""
        (a,), outs = builder.in_avals, builder.out_avals
        full = self.full_matrices or not self.compute_uv
        if kind is SvdAlgorithm.JACOBI:
            full = full or min(a.shape[-2:]) <= _MAX_FULL_JACOBI_SIZE
        of_u, of_vh = self._vector_avals(a, full)
        of_v = make_aval((*a.shape[:-2], *reversed(of_vh.shape[-2:])), a.dtype)
        name = "cusolver_gesvdj_ffi" if kind is SvdAlgorithm.JACOBI else "cusolver_gesvdp_ffi"
        types = [make_aval(a.shape, a.dtype), outs[0], of_u, of_v, make_aval(a.shape[:-2], INT32)]
        options = _format_flags({"compute_uv": self.compute_uv, "full_matrices": full})
        _, s, u, v, info = call_column_major(builder, name, operands, [a], types, a.ndim - 2, options, {0: 0})
        if not self.compute_uv:
            return self._mask_failures(builder, info, [s])
        (vh,) = emit_function(builder, _adjoints, [v], [of_v])
        parts = [emit_leading_part(builder, u, of_u, outs[1]), emit_leading_part(builder, vh, of_vh, outs[2])]
        return self._mask_failures(builder, info, [s, *parts])

    def on_tpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        if self.algorithm not in (SvdAlgorithm.DEFAULT, SvdAlgorithm.POLAR):
            raise self.unsupported_error(builder, f" by {self.algorithm}")
        return emit_function(builder, self.by_polar, operands, builder.in_avals)

    def by_polar(self, x: Any) -> list[Any]:
        """Return the results of the operation, computed by a polar decomposition of ``x``."""
        u, s, vh = svd_by_polar(x, self.full_matrices and self.compute_uv)
        if self.subset_by_index is not None:
            first, end = self.subset_by_index
            rank = len(aval(x).shape)
            u, s = slice_in_dim(u, first, end, axis=rank - 1), slice_in_dim(s, first, end, axis=rank - 2)
            vh = slice_in_dim(vh, first, end, axis=rank - 2)
        return [s, u, vh] if self.compute_uv else [s]

    def _vector_avals(self, a: ShapedArray, full: bool) -> list[ShapedArray]:
        """Return the types of U and Vᴴ for an operand of type ``a``; square if ``full``."""
        (*lead, m, n) = a.shape
        k = min(m, n)
        return [make_aval((*lead, *size), a.dtype) for size in (((m, m), (n, n)) if full else ((m, k), (k, n)))]

    def _mask_failures(self, builder: Any, info: Any, values: Sequence[Any]) -> list[Any]:
        lead = builder.in_avals[0].shape[:-2]
        outs = builder.out_avals
        return [
            emit_nan_where_failed(builder, info, lead, y, out) for y, out in zip(values[: len(outs)], outs, strict=True)
        ]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return 14 * operands[0].size * min(operands[0].shape[-2:])

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (a,), (t,) = primals, tangents
        m, n = aval(a).shape[-2:]
        if t is ZERO:
            results = bind(self, a)
            return results, [ZERO] * len(results)
        if self.subset_by_index is not None:
            raise NotImplementedError(f"svd with subset_by_index has no derivative{here()}: slice what svd returns")
        if self.compute_uv and self.full_matrices and m != n:
            raise NotImplementedError(
                "Singular value decomposition JVP not implemented for full matrices: the vectors beyond the shape "
                f"{aval(a).shape} are not determined{here()}; use full_matrices=False"
            )
        s, u, vh = bind(Svd(False, True, self.algorithm), a)
        v, uh = adjoint(vh), adjoint(u)
        rotated = product(product(uh, t), v)
        of_values = diagonal(rotated)
        of_values = real(of_values) if dtype_kind(aval(of_values).dtype) == "c" else of_values
        if not self.compute_uv:
            return [s], [of_values]
        return [s, u, vh], [of_values, *_vector_tangents(s, u, v, rotated, t)]


def _vector_tangents(s: Any, u: Any, v: Any, rotated: Any, t: Any) -> tuple[Any, Any]:
    """Return the tangents of U and of Vᴴ.

    ``s``, ``u`` and ``v`` are the factors, ``t`` is the tangent of the operand and ``rotated`` is Uᴴ t V.
    """
    dtype, rank = aval(u).dtype, len(aval(u).shape)
    m, n, k = aval(u).shape[-2], aval(v).shape[-2], aval(s).shape[-1]
    s = to_dtype(s, dtype)
    ones = identity(k, dtype, (1,) * (rank - 2))
    gaps = mul(add(as_rows(s), as_columns(s)), sub(as_rows(s), as_columns(s)))
    factors = sub(integer_pow(add(gaps, ones), -1), ones)
    inverse = _inverse_or_zero(s)
    right_scaled, left_scaled = mul(rotated, as_rows(s)), mul(as_columns(s), rotated)
    back = adjoint(rotated)
    half_difference = mul(mul(sub(rotated, back), mul(ones, as_rows(inverse))), typed_scalar(0.5, dtype))
    of_u = product(u, add(mul(factors, add(right_scaled, adjoint(right_scaled))), half_difference))
    of_v = product(v, mul(factors, add(left_scaled, adjoint(left_scaled))))
    if m > n:
        of_u = sum_tangents([of_u, mul(_project_out(u, product(t, v)), as_rows(inverse))])
    if n > m:
        of_v = sum_tangents([of_v, mul(_project_out(v, product(adjoint(t), u)), as_rows(inverse))])
    return of_u, adjoint(of_v)


def _inverse_or_zero(x: Any) -> Any:
    is_zero = to_dtype(eq(x, typed_scalar(0, aval(x).dtype)), aval(x).dtype)
    return sub(integer_pow(add(x, is_zero), -1), is_zero)


def _project_out(basis: Any, x: Any) -> Any:
    """Project the columns of ``x`` onto the orthogonal complement of an orthonormal basis."""
    return sub(x, product(basis, product(adjoint(basis), x)))


def _adjoints(x: Any) -> list[Any]:
    return [adjoint(x)]


def _format_flags(flags: Mapping[str, bool]) -> dict[str, str]:
    return {name: "true" if flag else "false" for name, flag in flags.items()}


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """Return the singular value decomposition of stacks of matrices, ``x = U S Vᴴ``, shape ``(…, m, n)``.

    Returns U, ``(…, m, k)``, the singular values, real and in descending order, ``(…, min(m, n))``, and Vᴴ, ``(…, k',
    n)``, with k = m and k' = n for ``full_matrices``, else both ``min(m, n)``; without ``compute_uv`` the singular
    values alone. ``subset_by_index`` (first, end) selects among them on a TPU; elsewhere it can only be the whole
    range. ``algorithm`` is one that the platform supports (:class:`SvdAlgorithm`). A matrix with NaN gives NaN. Raises
    ValueError for arrays without rows and columns or an invalid subset, NotImplementedError for derivatives of full
    matrices that are not square, and for a subset or algorithm that the platform does not support.

    >>> from xlascope import lax, numpy as jnp
    >>> u, s, vh = lax.linalg.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]))
    >>> print(s)
    [4. 3.]
    """
    kind = SvdAlgorithm.DEFAULT if algorithm is None else algorithm
    if not isinstance(kind, SvdAlgorithm):
        raise TypeError(f"algorithm of svd is one of SvdAlgorithm, got {algorithm!r}{here()}")
    require_matrices("svd", aval(x))
    subset = None if subset_by_index is None else parse_subset("svd", subset_by_index, min(aval(x).shape[-2:]))
    if subset is not None and full_matrices and compute_uv:
        raise ValueError("full_matrices and subset_by_index cannot both be set")
    results = bind(Svd(bool(full_matrices), bool(compute_uv), kind, subset), x)
    return (results[1], results[0], results[2]) if compute_uv else results[0]
