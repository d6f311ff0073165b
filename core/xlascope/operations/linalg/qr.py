"""The QR factorization, and products of Householder reflections, of which it consists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ...dtypes import kind_of
from ...ir.avals import ShapedArray, shaped
from ...ir.markers import ZERO
from ...trace.bind import bind, bind1
from ...trace.source import here
from ...xla import lapack
from ...xla.builder import attribute, integers
from ..arithmetic import mul, sub
from ..complex_numbers import imag
from ..conversion import convert_element_type
from ..slicing import slice_in_dim
from ..sums import sum_tangents
from ..values import aval, typed_scalar
from .lu import one_hot
from .matrices import adjoint, lower, on_diagonal, product, transposed
from .stacks import (
    INT32,
    OfStacks,
    counted_from_zero,
    identities,
    require_cpu,
    require_matrices,
    upper_triangle,
    zeros,
)
from .triangular import triangular_solve


def _reflections_types(a: ShapedArray) -> tuple[ShapedArray, ShapedArray]:
    (*lead, m, n) = a.shape
    return shaped(a.shape, a.dtype), shaped((*lead, min(m, n)), a.dtype)


class Geqrf(OfStacks, name="geqrf"):
    """R in the upper triangle, below it the reflections whose product is Q, and their factors."""

    multiple_results: ClassVar[bool] = True

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a)
        return list(_reflections_types(a))

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        if not a.size:
            return [zeros(builder, out) for out in outs]
        require_cpu(self.name, builder)
        return lapack.call(builder, "geqrf", operands, [a], outs, a.ndim - 2, None, {0: 0})


def geqrf(a: Any) -> tuple[Any, Any]:
    """R in the upper triangle, below it the reflections whose product is Q, and their factors."""
    made, factors = bind(Geqrf.instance, a)
    return made, factors


class HouseholderProduct(OfStacks, name="householder_product"):
    """The first columns of the product of Householder reflections."""

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        a, taus = operands
        require_matrices(self.name, a)
        (*lead, m, n) = a.shape
        if m < n:
            raise ValueError(f"householder_product takes matrices of at least as many rows as columns, got {a.shape}")
        if taus.dtype != a.dtype:
            raise TypeError(f"householder_product takes operands of one dtype, got {a.dtype.name}, {taus.dtype.name}")
        if taus.ndim != a.ndim - 1 or taus.shape[:-1] != tuple(lead) or taus.shape[-1] > n:
            raise ValueError(
                f"householder_product takes a factor for each reflection, at most {n} of them for each matrix, got "
                f"shapes {a.shape} and {taus.shape}{here()}"
            )
        return [shaped(a.shape, a.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a, taus), (out,) = builder.in_avals, builder.out_avals
        if not a.size or not taus.size:
            return [identities(builder, out)]
        require_cpu(self.name, builder)
        return lapack.call(builder, "orgqr", operands, [a, taus], [out], a.ndim - 2, None, {0: 0})


def householder_product(a: Any, taus: Any) -> Any:
    """The product of Householder reflections ``I - tau v vᴴ``, whose vectors are below the diagonal of ``a``.

    ``a`` has shape ``(…, m, n)`` with m ≥ n, ``taus`` ``(…, k)``; the result are the first n columns of the product. It
    has no derivative, as in JAX. Raises ValueError for shapes that do not fit, NotImplementedError off the CPU.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.linalg.householder_product(jnp.array([[1.0], [1.0]]), jnp.array([1.0])))
    [[ 0.]
     [-1.]]
    """
    return bind1(HouseholderProduct.instance, a, taus)


class Qr(OfStacks, name="qr"):
    """A = Q R with orthonormal columns in Q and a triangular R; ``pivoting`` exchanges columns of A before.

    For A of full rank and D = Qᴴ A' R⁻¹ with the square parts of A' and R: Q' = Q (W - D) + A' R⁻¹ and R' = Qᴴ A' - W R
    with the skew W that has the lower part of D, and of a complex D the imaginary part of its diagonal (S. F. Walter
    and L. Lehmann, arXiv:1009.6112, section 4).
    """

    pivoting: bool
    full_matrices: bool

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
            return [identities(builder, q), zeros(builder, r), *(self._first_order(builder, each) for each in order)]
        require_cpu(self.name, builder)
        lead = a.ndim - 2
        types = _reflections_types(a)
        if self.pivoting:
            start = zeros(builder, order[0])
            made, places, taus = lapack.call(
                builder,
                "geqp3",
                [*operands, start],
                [a, order[0]],
                [types[0], order[0], types[1]],
                lead,
                None,
                {0: 0, 1: 1},
            )
            rest = [counted_from_zero(builder, places, order[0])]
        else:
            made, taus = lapack.call(builder, "geqrf", operands, [a], types, lead, None, {0: 0})
            rest = []
        reflections = _with_columns(builder, made, a, q)
        basis = lapack.call(builder, "orgqr", [reflections, taus], [q, types[1]], [q], lead, None, {0: 0})
        return [*basis, upper_triangle(builder, _with_rows(builder, made, a, r), r), *rest]

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
        moved = triangular_solve(_first_columns(r, min(m, n)), _first_columns(t, min(m, n)))
        inner = product(adjoint(q), moved)
        below = lower(inner, strictly=True)
        skew = sub(below, adjoint(below))
        if kind_of(aval(a).dtype) == "c":
            skew = sum_tangents([skew, _imaginary_diagonal(inner)])
        rest = sub(skew, inner)
        return results, [
            sum_tangents([product(q, rest), moved]),
            sub(product(adjoint(q), t), product(skew, r)),
            *[ZERO] * len(order),
        ]


def _first_columns(x: Any, count: int) -> Any:
    axis = len(aval(x).shape) - 1
    return slice_in_dim(x, 0, count, axis=axis) if aval(x).shape[axis] > count else x


def _imaginary_diagonal(x: Any) -> Any:
    dtype = aval(x).dtype
    parts = convert_element_type(imag(on_diagonal(x)), dtype)
    return mul(parts, typed_scalar(1j, dtype))


def _with_columns(builder: Any, value: Any, have: ShapedArray, out: ShapedArray) -> Any:
    """The reflections with as many columns as Q gets: cut, or with zeros."""
    return _resized(builder, value, have, out, have.ndim - 1)


def _with_rows(builder: Any, value: Any, have: ShapedArray, out: ShapedArray) -> Any:
    return _resized(builder, value, have, out, have.ndim - 2)


def _resized(builder: Any, value: Any, have: ShapedArray, out: ShapedArray, axis: int) -> Any:
    own, wanted = have.shape[axis], out.shape[axis]
    if own == wanted:
        return value
    rank, none = have.ndim, [0] * have.ndim
    if wanted < own:
        attributes = {
            "start_indices": integers(none),
            "limit_indices": integers(out.shape),
            "strides": integers([1] * rank),
        }
        return builder.emit1("stablehlo.slice", [value], out, attributes)
    more = [wanted - own if each == axis else 0 for each in range(rank)]
    attributes = {
        "edge_padding_low": integers(none),
        "edge_padding_high": integers(more),
        "interior_padding": integers(none),
    }
    zero = builder.constant(0, shaped((), have.dtype))
    return builder.emit1("stablehlo.pad", [value, zero], out, attributes)


def qr(x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None) -> Any:
    """The QR factorization of stacks of matrices, shape ``(…, m, n)``.

    Returns Q, ``(…, m, k)`` with orthonormal columns, and R, ``(…, k, n)``, upper triangular; k is m with
    ``full_matrices``, else ``min(m, n)``. With ``pivoting`` also the order of columns, int32 ``(…, n)``:
    ``x[:, order] = Q R`` with a diagonal of R that falls in size. ``use_magma`` is about GPUs. Derivatives are there
    for full rank, with ``full_matrices`` for at most as many rows as columns. Raises ValueError for arrays
    without rows and columns, NotImplementedError off the CPU.

    >>> from xlascope import lax, numpy as jnp
    >>> q, r = lax.linalg.qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]), full_matrices=False)
    >>> print(jnp.abs(r).round(3))
    [[5.  2.2]
     [0.  0.4]]
    """
    return tuple(bind(Qr(bool(pivoting), bool(full_matrices)), x))


class Ormqr(OfStacks, name="ormqr"):
    """Q C or C Q, with the Q (or its adjoint) that Householder reflections come to, which is not written out."""

    left: bool
    transpose: bool

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        a, taus, c = operands
        for each in (a, c):
            require_matrices(self.name, each)
        if len({a.dtype, taus.dtype, c.dtype}) > 1:
            raise TypeError(f"ormqr takes operands of one dtype, got {a.dtype.name}, {taus.dtype.name}, {c.dtype.name}")
        if not a.shape[:-2] == taus.shape[:-1] == c.shape[:-2] or taus.shape[-1] > min(a.shape[-2:]):
            raise ValueError(
                f"ormqr takes stacks with the same leading axes, and at most min(m, n) factors of reflections, got "
                f"shapes {a.shape}, {taus.shape} and {c.shape}{here()}"
            )
        if c.shape[-2 if self.left else -1] != a.shape[-2]:
            raise ValueError(f"ormqr: Q has {a.shape[-2]} rows, which does not fit a matrix of shape {c.shape}{here()}")
        return [shaped(c.shape, c.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a, taus, c), (out,) = builder.in_avals, builder.out_avals
        if not c.size or not taus.size:
            return [operands[2]]
        require_cpu(self.name, builder)
        options = {name: "true" if getattr(self, name) else "false" for name in ("left", "transpose")}
        return lapack.call(builder, "ormqr", operands, [a, taus, c], [out], c.ndim - 2, options, {0: 2})


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """``Q c`` (``left``) or ``c Q`` with the Q of a QR factorization as reflections, or its adjoint (``transpose``).

    ``a``, ``(…, m, n)``, and ``taus``, ``(…, k)``, are what ``numpy.linalg.qr(x, mode="raw")`` gives, ``a`` transposed;
    ``c`` has m rows (columns). It has no derivative, as in JAX. Raises ValueError for shapes that do not fit,
    NotImplementedError off the CPU.

    >>> from xlascope import lax, numpy as jnp
    >>> x = jnp.array([[3.0, 1.0], [4.0, 2.0]])
    >>> a, taus = jnp.linalg.qr(x, mode="raw")
    >>> print(jnp.abs(lax.linalg.ormqr(a.mT, taus, x, transpose=True)).round(3))
    [[5.  2.2]
     [0.  0.4]]
    """
    return bind1(Ormqr(bool(left), bool(transpose)), a, taus, c)
