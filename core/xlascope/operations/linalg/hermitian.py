"""Eigenvalues and eigenvectors of Hermitian matrices, and their tridiagonal form."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ...dtypes import kind_of
from ...ir.avals import ShapedArray, shaped
from ...ir.markers import ZERO
from ...trace.bind import bind
from ...trace.source import here
from ...xla.mlir import lapack
from ...xla.mlir.solver_calls import by_columns, of_xla
from ..arithmetic import add, integer_pow, mul, sub
from ..complex_numbers import real, real_dtype
from ..conversion import convert_element_type
from ..values import aval
from .cholesky import inexact, symmetrized
from .matrices import adjoint, as_columns, as_rows, diagonal, identity, product
from .stacks import (
    INT32,
    LETTER,
    OfStacks,
    chosen,
    nan_where_failed,
    part_of,
    require_matrices,
    zeros,
)

#: The most rows for which JAX uses Jacobi rotations; it divides larger matrices by QDWH.
LARGEST_FOR_JACOBI = 256


class EighImplementation(enum.Enum):
    """Algorithm for eigenvalues of Hermitian matrices: QR on the CPU, QR or JACOBI on a GPU, others on a TPU."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class Eigh(OfStacks, name="eigh"):
    """The eigenvectors, as columns of V, and eigenvalues w of Hermitian matrices, given by one triangle.

    With D = Vᴴ A' V: w' is the diagonal of D, and V' = V (F ∘ D) with F[i, j] = 1 / (w[j] - w[i]), zero on the
    diagonal (M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
    differentiation", 2008, section 3.1). Equal eigenvalues have no derivatives of their vectors, which are infinite
    then.
    """

    lower: bool
    sort_eigenvalues: bool
    implementation: EighImplementation | None = None
    subset_by_index: tuple[int, int] | None = None

    multiple_results: ClassVar[bool] = True

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a, square=True)
        (*lead, n, _) = a.shape
        first, end = self.subset_by_index or (0, n)
        return [shaped((*lead, n, end - first), a.dtype), shaped((*lead, end - first), real_dtype(a.dtype))]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), (vectors, values) = builder.in_avals, builder.out_avals
        if not a.size:
            return [zeros(builder, vectors), zeros(builder, values)]
        return self.on_platform(builder, operands)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        self._check(builder, {None: 0, EighImplementation.QR: 0})
        options = {"mode": LETTER["V"], "uplo": LETTER["L" if self.lower else "U"]}
        return self._by_library(builder, operands, functools.partial(lapack.call, builder, "syevd"), options)

    def on_gpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        number = self._check(builder, {None: 0, EighImplementation.QR: 1, EighImplementation.JACOBI: 2})
        options = {"algorithm": f"{number} : ui8", "lower": "true" if self.lower else "false"}
        return self._by_library(
            builder, operands, functools.partial(by_columns, builder, "cusolver_syevd_ffi"), options
        )

    def on_tpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Emit XLA's Jacobi rotations, for all sizes: at most 100 rounds, until the rest is below 1e-6 of the whole.

        JAX divides matrices of more than 256 rows by QDWH until they are smaller, which is faster, and no more exact.
        """
        (a,), (vectors, values) = builder.in_avals, builder.out_avals
        n = a.shape[-1]
        implementations: dict[EighImplementation | None, int] = {None: 0, EighImplementation.JACOBI: 0}
        if n <= LARGEST_FOR_JACOBI:
            implementations[EighImplementation.QDWH] = 0
        self._check(builder, implementations)
        sorting = self.sort_eigenvalues or self.subset_by_index is not None
        config = f"{self.lower:d},{sorting:d},100,1e-6"
        avals = [shaped(a.shape, a.dtype), shaped(a.shape[:-1], values.dtype)]
        parts = of_xla(builder, "Eigh", operands, avals, config)
        first = self.subset_by_index[0] if self.subset_by_index else 0
        return [
            part_of(builder, y, have, out, first) for y, have, out in zip(parts, avals, (vectors, values), strict=True)
        ]

    def _check(self, builder: Any, implementations: Mapping[EighImplementation | None, int]) -> int:
        """Return the number of the implementation; raise NotImplementedError for one that the platform lacks."""
        if self.implementation not in implementations:
            raise self.not_there(builder, f" by {self.implementation}")
        if self.subset_by_index is not None and builder.platform != "tpu":
            raise NotImplementedError(
                f"subset_by_index={self.subset_by_index!r} of eigh is there on a TPU, not on {builder.platform!r}: "
                "slice what eigh returns"
            )
        return implementations[self.implementation]

    def _by_library(
        self, builder: Any, operands: Sequence[Any], call: Callable[..., list[Any]], options: Mapping[str, str]
    ) -> list[Any]:
        (a,), (vectors, values) = builder.in_avals, builder.out_avals
        lead = a.shape[:-2]
        v, w, info = call(operands, [a], [vectors, values, shaped(lead, INT32)], len(lead), options, {0: 0})
        return [
            nan_where_failed(builder, info, lead, v, vectors),
            nan_where_failed(builder, info, lead, w, values),
        ]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return 9 * operands[0].size * operands[0].shape[-1]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (a,), (t,) = primals, tangents
        v, w = bind(self, a)
        if t is ZERO:
            return [v, w], [ZERO, ZERO]
        if self.subset_by_index is not None:
            raise NotImplementedError(f"eigh with subset_by_index has no derivative{here()}: slice what eigh returns")
        wide = convert_element_type(w, aval(a).dtype)
        factors = inverse_distances(wide, len(aval(a).shape))
        moved = product(product(adjoint(v), t), v)
        of_values = diagonal(moved)
        if kind_of(aval(of_values).dtype) == "c":
            of_values = real(of_values)
        return [v, w], [product(v, mul(factors, moved)), of_values]


def inverse_distances(w: Any, rank: int) -> Any:
    """Return 1 / (w[j] - w[i]), with zeros on the diagonal."""
    type_ = aval(w)
    ones = identity(type_.shape[-1], type_.dtype, (1,) * (rank - 2))
    return sub(integer_pow(add(ones, sub(as_rows(w), as_columns(w))), -1), ones)


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:
    """Return the eigenvectors and eigenvalues of Hermitian matrices, shape ``(…, n, n)``.

    Returns V, of that shape, whose columns are eigenvectors, and the eigenvalues, real, ``(…, n)``, in ascending order.
    ``symmetrize_input`` takes the mean of ``x`` and its adjoint first; without it the triangle that ``lower`` names
    counts. ``subset_by_index`` (first, end) chooses among the eigenvalues, on a TPU; elsewhere it can only be the whole
    range. ``implementation`` is None or one that the platform has (:class:`EighImplementation`). Equal eigenvalues have
    vectors without derivatives: these are infinite or NaN. Raises ValueError for matrices that are not square,
    NotImplementedError for what the platform does not have.

    >>> from xlascope import lax, numpy as jnp
    >>> v, w = lax.linalg.eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> print(w)
    [1. 2.]
    """
    if symmetrize_input:
        x = inexact(x)
    require_matrices("eigh", aval(x), square=True)
    size = aval(x).shape[-1]
    subset = None if subset_by_index is None else chosen("eigh", subset_by_index, size)
    if implementation is not None and not isinstance(implementation, EighImplementation):
        raise TypeError(f"implementation of eigh is one of EighImplementation, got {implementation!r}{here()}")
    operation = Eigh(bool(lower), bool(sort_eigenvalues), implementation, subset)
    v, w = bind(operation, symmetrized(x) if symmetrize_input else x)
    return v, w


class Tridiagonal(OfStacks, name="tridiagonal"):
    """Tridiagonal form of Hermitian matrices, given by one triangle, by Householder reflections."""

    lower: bool

    multiple_results: ClassVar[bool] = True

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a, square=True)
        (*lead, _, n) = a.shape
        if not n:
            raise TypeError(f"tridiagonal takes matrices with elements, got shape {a.shape}{here()}")
        part = real_dtype(a.dtype)
        return [
            shaped(a.shape, a.dtype),
            shaped((*lead, n), part),
            shaped((*lead, n - 1), part),
            shaped((*lead, n - 1), a.dtype),
        ]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        if not a.size:
            return [zeros(builder, out) for out in outs]
        return self.on_platform(builder, operands)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        options = {"uplo": LETTER["L" if self.lower else "U"]}
        return self._by_library(builder, operands, functools.partial(lapack.call, builder, "sytrd"), options)

    def on_gpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        options = {"lower": "true" if self.lower else "false"}
        return self._by_library(
            builder, operands, functools.partial(by_columns, builder, "cusolver_sytrd_ffi"), options
        )

    def _by_library(
        self, builder: Any, operands: Sequence[Any], call: Callable[..., list[Any]], options: Mapping[str, str]
    ) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        lead = a.shape[:-2]
        *results, info = call(operands, [a], [*outs, shaped(lead, INT32)], len(lead), options, {0: 0})
        return [nan_where_failed(builder, info, lead, y, out) for y, out in zip(results, outs, strict=True)]


def tridiagonal(a: Any, *, lower: bool = True) -> list[Any]:
    """Reduce Hermitian matrices to tridiagonal form by Householder reflections, shape ``(…, n, n)``.

    Of ``a`` the triangle that ``lower`` names counts. Returns a list: an array of the shape of ``a`` with the form on
    its diagonal and the one beside it, and the reflections beyond; the diagonal, ``(…, n)``, and the one beside it,
    ``(…, n - 1)``, both real; and the factors of the reflections, ``(…, n - 1)``. It has no derivative, as in JAX.
    Raises ValueError for matrices that are not square, NotImplementedError on a TPU.

    >>> from xlascope import lax, numpy as jnp
    >>> _, diagonal, beside, _ = lax.linalg.tridiagonal(jnp.eye(3))
    >>> print(diagonal, jnp.abs(beside))
    [1. 1. 1.] [0. 0.]
    """
    return list(bind(Tridiagonal(bool(lower)), a))
