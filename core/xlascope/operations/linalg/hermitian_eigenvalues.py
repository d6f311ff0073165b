"""Eigenvalues and eigenvectors of Hermitian matrices, and their tridiagonal form."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ...dtypes import dtype_kind
from ...ir.avals import ShapedArray, make_aval
from ...ir.markers import ZERO
from ...trace.bind import bind
from ...trace.source import here
from ...xla.mlir import lapack
from ...xla.mlir.solver_calls import call_column_major, call_xla_factorization
from ..arithmetic import add, integer_pow, mul, sub
from ..complex_numbers import real, real_dtype
from ..conversion import to_dtype
from ..operand_values import aval
from .cholesky import symmetrize, to_inexact
from .matrices import adjoint, as_columns, as_rows, diagonal, identity, product
from .matrix_stacks import (
    INT32,
    LETTER_ATTRIBUTES,
    MatrixStackOperation,
    emit_leading_part,
    emit_nan_where_failed,
    emit_zeros,
    parse_subset,
    require_matrices,
)

#: The most rows for which JAX uses Jacobi rotations; it divides larger matrices by QDWH.
MAX_JACOBI_ROWS = 256


class EighImplementation(enum.Enum):
    """Algorithm for eigenvalues of Hermitian matrices.

    The CPU supports QR, a GPU QR and JACOBI. A TPU accepts JACOBI, and QDWH for at most 256 rows.
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class Eigh(MatrixStackOperation, name="eigh"):
    """The eigenvectors, as columns of V, and eigenvalues w of Hermitian matrices, given by one triangle.

    With D = Vᴴ A' V: w' is the diagonal of D, and V' = V (F ∘ D) with F[i, j] = 1 / (w[j] - w[i]), zero on the diagonal
    (M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008,
    section 3.1). For equal eigenvalues the tangents of the vectors are infinite or NaN.
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
        return [make_aval((*lead, n, end - first), a.dtype), make_aval((*lead, end - first), real_dtype(a.dtype))]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), (vectors, values) = builder.in_avals, builder.out_avals
        if not a.size:
            return [emit_zeros(builder, vectors), emit_zeros(builder, values)]
        return self.on_platform(builder, operands)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        self._implementation_number(builder, {None: 0, EighImplementation.QR: 0})
        options = {"mode": LETTER_ATTRIBUTES["V"], "uplo": LETTER_ATTRIBUTES["L" if self.lower else "U"]}
        return self._by_library(builder, operands, functools.partial(lapack.call_lapack, builder, "syevd"), options)

    def on_gpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        number = self._implementation_number(builder, {None: 0, EighImplementation.QR: 1, EighImplementation.JACOBI: 2})
        options = {"algorithm": f"{number} : ui8", "lower": "true" if self.lower else "false"}
        return self._by_library(
            builder, operands, functools.partial(call_column_major, builder, "cusolver_syevd_ffi"), options
        )

    def on_tpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Emit XLA's Jacobi rotations, for all sizes.

        They stop after 100 rounds, or when the elements off the diagonal are below 1e-6 of the whole matrix. JAX
        divides matrices of more than 256 rows by QDWH until they are smaller, which is faster, and no more accurate.
        """
        (a,), (vectors, values) = builder.in_avals, builder.out_avals
        n = a.shape[-1]
        implementations: dict[EighImplementation | None, int] = {None: 0, EighImplementation.JACOBI: 0}
        if n <= MAX_JACOBI_ROWS:
            implementations[EighImplementation.QDWH] = 0
        self._implementation_number(builder, implementations)
        sorting = self.sort_eigenvalues or self.subset_by_index is not None
        config = f"{self.lower:d},{sorting:d},100,1e-6"
        avals = [make_aval(a.shape, a.dtype), make_aval(a.shape[:-1], values.dtype)]
        parts = call_xla_factorization(builder, "Eigh", operands, avals, config)
        first = self.subset_by_index[0] if self.subset_by_index else 0
        return [
            emit_leading_part(builder, y, have, out, first)
            for y, have, out in zip(parts, avals, (vectors, values), strict=True)
        ]

    def _implementation_number(self, builder: Any, implementations: Mapping[EighImplementation | None, int]) -> int:
        """Return the number that ``implementations`` gives for the requested implementation.

        Raises NotImplementedError if it is not among them, or if ``subset_by_index`` is set on another platform than a
        TPU.
        """
        if self.implementation not in implementations:
            raise self.unsupported_error(builder, f" by {self.implementation}")
        if self.subset_by_index is not None and builder.platform != "tpu":
            raise NotImplementedError(
                f"subset_by_index={self.subset_by_index!r} of eigh is there on a TPU, not on {builder.platform!r}: "
                "slice what eigh returns"
            )
        return implementations[self.implementation]

    def _by_library(
        self, builder: Any, operands: Sequence[Any], call: Callable[..., list[Any]], options: Mapping[str, str]
    ) -> list[Any]:
        """Emit a library call and return vectors and values, NaN for matrices for which it fails.

        ``call`` emits the routine, ``options`` are its attributes.
        """
        (a,), (vectors, values) = builder.in_avals, builder.out_avals
        lead = a.shape[:-2]
        v, w, info = call(operands, [a], [vectors, values, make_aval(lead, INT32)], len(lead), options, {0: 0})
        return [
            emit_nan_where_failed(builder, info, lead, v, vectors),
            emit_nan_where_failed(builder, info, lead, w, values),
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
        wide = to_dtype(w, aval(a).dtype)
        factors = inverse_gaps(wide, len(aval(a).shape))
        t_in_eigenbasis = product(product(adjoint(v), t), v)
        of_values = diagonal(t_in_eigenbasis)
        if dtype_kind(aval(of_values).dtype) == "c":
            of_values = real(of_values)
        return [v, w], [product(v, mul(factors, t_in_eigenbasis)), of_values]


def inverse_gaps(w: Any, rank: int) -> Any:
    """Return the matrices with elements 1 / (w[j] - w[i]) and zeros on the diagonal.

    ``w`` has shape ``(…, n)``; ``rank`` is the number of axes of the result, ``(…, n, n)``.
    """
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
    ``symmetrize_input`` takes the mean of ``x`` and its adjoint first; without it only the lower triangle is read, or
    with ``lower=False`` the upper one. ``subset_by_index`` (first, end) selects eigenvalues on a TPU; elsewhere it can
    only be the whole range. ``implementation`` is None or one that the platform supports (:class:`EighImplementation`).
    Derivatives of the vectors of equal eigenvalues are infinite or NaN. Raises ValueError for matrices that are not
    square, NotImplementedError for a subset or an implementation that the platform does not support.

    >>> from xlascope import lax, numpy as jnp
    >>> v, w = lax.linalg.eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> print(w)
    [1. 2.]
    """
    if symmetrize_input:
        x = to_inexact(x)
    require_matrices("eigh", aval(x), square=True)
    size = aval(x).shape[-1]
    subset = None if subset_by_index is None else parse_subset("eigh", subset_by_index, size)
    if implementation is not None and not isinstance(implementation, EighImplementation):
        raise TypeError(f"implementation of eigh is one of EighImplementation, got {implementation!r}{here()}")
    operation = Eigh(bool(lower), bool(sort_eigenvalues), implementation, subset)
    v, w = bind(operation, symmetrize(x) if symmetrize_input else x)
    return v, w


class Tridiagonal(MatrixStackOperation, name="tridiagonal"):
    """Tridiagonal form of Hermitian matrices, by Householder reflections.

    Only the lower triangle is read if ``lower``, else the upper one.
    """

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
            make_aval(a.shape, a.dtype),
            make_aval((*lead, n), part),
            make_aval((*lead, n - 1), part),
            make_aval((*lead, n - 1), a.dtype),
        ]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        if not a.size:
            return [emit_zeros(builder, out) for out in outs]
        return self.on_platform(builder, operands)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        options = {"uplo": LETTER_ATTRIBUTES["L" if self.lower else "U"]}
        return self._by_library(builder, operands, functools.partial(lapack.call_lapack, builder, "sytrd"), options)

    def on_gpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        options = {"lower": "true" if self.lower else "false"}
        return self._by_library(
            builder, operands, functools.partial(call_column_major, builder, "cusolver_sytrd_ffi"), options
        )

    def _by_library(
        self, builder: Any, operands: Sequence[Any], call: Callable[..., list[Any]], options: Mapping[str, str]
    ) -> list[Any]:
        """Emit a library call and return the results, NaN for matrices for which it fails.

        ``call`` emits the routine, ``options`` are its attributes.
        """
        (a,), outs = builder.in_avals, builder.out_avals
        lead = a.shape[:-2]
        *results, info = call(operands, [a], [*outs, make_aval(lead, INT32)], len(lead), options, {0: 0})
        return [emit_nan_where_failed(builder, info, lead, y, out) for y, out in zip(results, outs, strict=True)]


def tridiagonal(a: Any, *, lower: bool = True) -> list[Any]:
    """Reduce Hermitian matrices to tridiagonal form by Householder reflections, shape ``(…, n, n)``.

    Only the lower triangle of ``a`` is read, or with ``lower=False`` the upper one. Returns a list: an array of the
    shape of ``a`` with the form on its diagonal and the one next to it, and the reflections in the rest of the
    triangle; the diagonal, ``(…, n)``, and the one next to it, ``(…, n - 1)``, both real; and the scalar factors of the
    reflections, ``(…, n - 1)``. It has no derivative, as in JAX. Raises ValueError for matrices that are not square,
    NotImplementedError on a TPU.

    >>> from xlascope import lax, numpy as jnp
    >>> _, diagonal, beside, _ = lax.linalg.tridiagonal(jnp.eye(3))
    >>> print(diagonal, jnp.abs(beside))
    [1. 1. 1.] [0. 0.]
    """
    return list(bind(Tridiagonal(bool(lower)), a))
