"""The QR factorization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ...dtypes import kind_of
from ...ir.avals import ShapedArray, shaped
from ...ir.markers import ZERO
from ...trace.bind import bind
from ...trace.source import here
from ...xla.mlir import lapack
from ...xla.mlir.builder import attribute, integers
from ...xla.mlir.solver_calls import by_columns
from ..arithmetic import mul, sub
from ..complex_numbers import imag
from ..conversion import convert_element_type
from ..sums import sum_tangents
from ..values import aval, typed_scalar
from .lu import one_hot
from .matrices import adjoint, lower, on_diagonal, product, transposed
from .reflections import first_columns, product_of, reflections, types_of_reflections
from .stacks import INT32, MAGMA, OfStacks, counted_from_zero, identities, require_matrices, upper_triangle, zeros
from .triangular import triangular_solve


class Qr(OfStacks, name="qr"):
    """A = Q R with orthonormal columns in Q and a triangular R; ``pivoting`` permutes the columns of A first.

    For A of full rank and D = Qᴴ A' R⁻¹ with the square parts of A' and R: Q' = Q (W - D) + A' R⁻¹ and R' = Qᴴ A' -
    W R with the skew W that has the lower part of D, and of a complex D the imaginary part of its diagonal (S. F.
    Walter and L. Lehmann, arXiv:1009.6112, section 4).
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
        order = [shaped((*lead, n), INT32)] if self.pivoting else []
        return [shaped((*lead, m, k), a.dtype), shaped((*lead, k, n), a.dtype), *order]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), (q, r, *order) = builder.in_avals, builder.out_avals
        if not a.size:
            return [identities(builder, q), zeros(builder, r), *(self._first_order(builder, type_) for type_ in order)]
        self.require_library(builder)
        if self.pivoting:
            packed, positions, taus = self._with_exchanges(builder, operands, order[0])
            column_order = [counted_from_zero(builder, positions, order[0])]
        else:
            packed, taus = reflections(builder, operands[0], a)
            column_order = []
        vectors = _with_columns(builder, packed, a, q)
        basis = product_of(builder, [vectors, taus], [q, types_of_reflections(a)[1]], q)
        return [*basis, upper_triangle(builder, _with_rows(builder, packed, a, r), r), *column_order]

    def _with_exchanges(self, builder: Any, operands: Sequence[Any], order: ShapedArray) -> list[Any]:
        (a,) = builder.in_avals
        inputs, in_place = [*operands, zeros(builder, order)], {0: 0, 1: 1}
        matrix, taus = types_of_reflections(a)
        types, results, lead = [a, order], [matrix, order, taus], a.ndim - 2
        if builder.platform == "cpu":
            return lapack.call(builder, "geqp3", inputs, types, results, lead, None, in_place)
        if builder.platform == "tpu":
            raise self.not_there(builder, " with pivoting")
        options = {"magma": MAGMA[self.use_magma]}
        return by_columns(builder, "cuhybrid_geqp3", inputs, types, results, lead, options, in_place)

    def _first_order(self, builder: Any, out: ShapedArray) -> Any:
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
            t = product(t, transposed(one_hot(order[0], aval(a).dtype)))
        moved = triangular_solve(first_columns(r, min(m, n)), first_columns(t, min(m, n)))
        inner = product(adjoint(q), moved)
        below = lower(inner, strictly=True)
        skew = sub(below, adjoint(below))
        if kind_of(aval(a).dtype) == "c":
            skew = sum_tangents([skew, _imaginary_diagonal(inner)])
        difference = sub(skew, inner)
        return results, [
            sum_tangents([product(q, difference), moved]),
            sub(product(adjoint(q), t), product(skew, r)),
            *[ZERO] * len(order),
        ]


def _imaginary_diagonal(x: Any) -> Any:
    dtype = aval(x).dtype
    parts = convert_element_type(imag(on_diagonal(x)), dtype)
    return mul(parts, typed_scalar(1j, dtype))


def _with_columns(builder: Any, value: Any, have: ShapedArray, out: ShapedArray) -> Any:
    """Cut or zero-pad the reflections to the number of columns of Q."""
    return _resized(builder, value, have, out, have.ndim - 1)


def _with_rows(builder: Any, value: Any, have: ShapedArray, out: ShapedArray) -> Any:
    return _resized(builder, value, have, out, have.ndim - 2)


def _resized(builder: Any, value: Any, have: ShapedArray, out: ShapedArray, axis: int) -> Any:
    size, wanted = have.shape[axis], out.shape[axis]
    if size == wanted:
        return value
    rank, none = have.ndim, [0] * have.ndim
    if wanted < size:
        attributes = {
            "start_indices": integers(none),
            "limit_indices": integers(out.shape),
            "strides": integers([1] * rank),
        }
        return builder.emit1("stablehlo.slice", [value], out, attributes)
    more = [wanted - size if i == axis else 0 for i in range(rank)]
    attributes = {
        "edge_padding_low": integers(none),
        "edge_padding_high": integers(more),
        "interior_padding": integers(none),
    }
    zero = builder.constant(0, shaped((), have.dtype))
    return builder.emit1("stablehlo.pad", [value, zero], out, attributes)


def qr(x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None) -> Any:
    """Return the QR factorization of stacks of matrices, shape ``(…, m, n)``.

    Returns Q, ``(…, m, k)`` with orthonormal columns, and R, ``(…, k, n)``, upper triangular; k is m with
    ``full_matrices``, else ``min(m, n)``. With ``pivoting`` also the order of columns, int32 ``(…, n)``:
    ``x[:, order] = Q R`` with a diagonal of R that falls in size. ``use_magma`` says whether a GPU uses MAGMA for that
    (None: if it is installed). Derivatives are there for full rank, with ``full_matrices`` for at most as many rows as
    columns. Raises ValueError for arrays without rows and columns, NotImplementedError for ``pivoting`` on a TPU.

    >>> from xlascope import lax, numpy as jnp
    >>> q, r = lax.linalg.qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]), full_matrices=False)
    >>> print(jnp.abs(r).round(3))
    [[5.  2.2]
     [0.  0.4]]
    """
    magma = None if use_magma is None or not pivoting else bool(use_magma)
    return tuple(bind(Qr(bool(pivoting), bool(full_matrices), magma), x))
