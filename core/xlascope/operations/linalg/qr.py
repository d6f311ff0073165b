"""The QR factorization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ...dtypes import dtype_kind
from ...ir.avals import ShapedArray, make_aval
from ...ir.markers import ZERO
from ...trace.bind import bind
from ...trace.source import here
from ...xla.mlir import lapack
from ...xla.mlir.builder import attribute, int64_array
from ...xla.mlir.solver_calls import call_column_major
from ..arithmetic import mul, sub
from ..complex_numbers import imag
from ..conversion import to_dtype
from ..operand_values import aval, typed_scalar
from ..tangent_arithmetic import sum_tangents
from .householder import emit_geqrf, emit_householder_product, first_columns, reflection_avals
from .matrices import adjoint, lower, on_diagonal, product, transpose_matrices
from .matrix_stacks import (
    INT32,
    MAGMA_ATTRIBUTES,
    MatrixStackOperation,
    emit_identities,
    emit_upper_triangle,
    emit_zero_based,
    emit_zeros,
    require_matrices,
)
from .row_permutations import exchange_rows
from .triangular import triangular_solve


class Qr(MatrixStackOperation, name="qr"):
    """A = Q R with orthonormal columns in Q and a triangular R; ``pivoting`` permutes the columns of A first.

    For A of full rank and D = Qᴴ A' R⁻¹ with the square parts of A' and R: Q' = Q (W - D) + A' R⁻¹ and R' = Qᴴ A' - W R
    with the skew W that has the lower part of D, and of a complex D the imaginary part of its diagonal (S. F. Walter
    and L. Lehmann, arXiv:1009.6112, section 4).
    """

    pivoting: bool
    full_matrices: bool
    use_magma: bool | None = None

    multiple_results: ClassVar[bool] = True

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a)
        (*lead, m, n) = a.shape
        k = m if self.full_matrices else min(m, n)
        order = [make_aval((*lead, n), INT32)] if self.pivoting else []
        return [make_aval((*lead, m, k), a.dtype), make_aval((*lead, k, n), a.dtype), *order]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), (q, r, *order) = builder.in_avals, builder.out_avals
        if not a.size:
            return [
                emit_identities(builder, q),
                emit_zeros(builder, r),
                *(self._initial_order(builder, type_) for type_ in order),
            ]
        self.require_library(builder)
        if self.pivoting:
            packed, positions, taus = self._emit_pivoted(builder, operands, order[0])
            column_order = [emit_zero_based(builder, positions, order[0])]
        else:
            packed, taus = emit_geqrf(builder, operands[0], a)
            column_order = []
        vectors = _resize_columns(builder, packed, a, q)
        basis = emit_householder_product(builder, [vectors, taus], [q, reflection_avals(a)[1]], q)
        return [*basis, emit_upper_triangle(builder, _resize_rows(builder, packed, a, r), r), *column_order]

    def _emit_pivoted(self, builder: Any, operands: Sequence[Any], order: ShapedArray) -> list[Any]:
        """Emit the pivoted factorization and return packed factors, column order and scalar factors.

        The column order, of the type ``order``, counts from 1. Raises NotImplementedError on a TPU.
        """
        (a,) = builder.in_avals
        inputs, in_place = [*operands, emit_zeros(builder, order)], {0: 0, 1: 1}
        matrix, taus = reflection_avals(a)
        types, results, lead = [a, order], [matrix, order, taus], a.ndim - 2
        if builder.platform == "cpu":
            return lapack.call_lapack(builder, "geqp3", inputs, types, results, lead, None, in_place)
        if builder.platform == "tpu":
            raise self.unsupported_error(builder, " with pivoting")
        options = {"magma": MAGMA_ATTRIBUTES[self.use_magma]}
        return call_column_major(builder, "cuhybrid_geqp3", inputs, types, results, lead, options, in_place)

    def _initial_order(self, builder: Any, out: ShapedArray) -> Any:
        return builder.emit1("stablehlo.iota", [], out, {"iota_dimension": attribute(f"{out.ndim - 1} : i64")})

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return 4 * operands[0].size * min(operands[0].shape[-2:])

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (a,), (t,) = primals, tangents
        results = bind(self, a)
        if t is ZERO:
            return results, [ZERO] * len(results)
        m, n = aval(a).shape[-2:]
        if self.full_matrices and m > n:
            raise NotImplementedError(
                "Unimplemented case of QR decomposition derivative: with full_matrices=True the matrix has at most as "
                f"many rows as columns; got shape {aval(a).shape}{here()}. Use full_matrices=False"
            )
        q, r, *order = results
        if order:  # the tangent of the columns in their order
            t = transpose_matrices(exchange_rows(transpose_matrices(t), order[0]))
        solution = triangular_solve(first_columns(r, min(m, n)), first_columns(t, min(m, n)))
        inner = product(adjoint(q), solution)
        below = lower(inner, strictly=True)
        skew = sub(below, adjoint(below))
        if dtype_kind(aval(a).dtype) == "c":
            skew = sum_tangents([skew, _imaginary_diagonal(inner)])
        difference = sub(skew, inner)
        return results, [
            sum_tangents([product(q, difference), solution]),
            sub(product(adjoint(q), t), product(skew, r)),
            *[ZERO] * len(order),
        ]


def _imaginary_diagonal(x: Any) -> Any:
    dtype = aval(x).dtype
    parts = to_dtype(imag(on_diagonal(x)), dtype)
    return mul(parts, typed_scalar(1j, dtype))


def _resize_columns(builder: Any, value: Any, have: ShapedArray, out: ShapedArray) -> Any:
    """Cut or zero-pad a value of type ``have`` to the number of columns of the type ``out``."""
    return _resize_axis(builder, value, have, out, have.ndim - 1)


def _resize_rows(builder: Any, value: Any, have: ShapedArray, out: ShapedArray) -> Any:
    return _resize_axis(builder, value, have, out, have.ndim - 2)


def _resize_axis(builder: Any, value: Any, have: ShapedArray, out: ShapedArray, axis: int) -> Any:
    """Cut or zero-pad a value of type ``have`` along an axis to its size in the type ``out``."""
    size, new_size = have.shape[axis], out.shape[axis]
    if size == new_size:
        return value
    rank, none = have.ndim, [0] * have.ndim
    if new_size < size:
        attributes = {
            "start_indices": int64_array(none),
            "limit_indices": int64_array(out.shape),
            "strides": int64_array([1] * rank),
        }
        return builder.emit1("stablehlo.slice", [value], out, attributes)
    more = [new_size - size if i == axis else 0 for i in range(rank)]
    attributes = {
        "edge_padding_low": int64_array(none),
        "edge_padding_high": int64_array(more),
        "interior_padding": int64_array(none),
    }
    zero = builder.constant(0, make_aval((), have.dtype))
    return builder.emit1("stablehlo.pad", [value, zero], out, attributes)


def qr(x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None) -> Any:
    """Return the QR factorization of stacks of matrices, shape ``(…, m, n)``.

    Returns Q, ``(…, m, k)`` with orthonormal columns, and R, ``(…, k, n)``, upper triangular; k is m with
    ``full_matrices``, else ``min(m, n)``. With ``pivoting`` it also returns the order of columns, int32 ``(…, n)``:
    ``x[:, order] = Q R``, where the diagonal elements of R have non-increasing magnitudes. ``use_magma`` says whether a
    GPU uses MAGMA for pivoting (None: if it is installed). Derivatives are defined for matrices of full rank, and with
    ``full_matrices`` only if m <= n. Raises ValueError for arrays without rows and columns, NotImplementedError for
    ``pivoting`` on a TPU.

    >>> from xlascope import lax, numpy as jnp
    >>> q, r = lax.linalg.qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]), full_matrices=False)
    >>> print(jnp.abs(r).round(3))
    [[5.  2.2]
     [0.  0.4]]
    """
    magma = None if use_magma is None or not pivoting else bool(use_magma)
    return tuple(bind(Qr(bool(pivoting), bool(full_matrices), magma), x))
