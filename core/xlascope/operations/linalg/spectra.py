"""Eigenvalues and eigenvectors."""

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
from ..complex_numbers import complex_dtype, real, real_dtype
from ..conversion import convert_element_type
from ..shapes import reduce_sum
from ..values import aval
from .cholesky import inexact, symmetrized
from .lu import solve
from .matrices import adjoint, as_columns, as_rows, conjugate, diagonal, identity, product
from .stacks import (
    INT32,
    LETTER,
    OfStacks,
    nan_where_failed,
    require_cpu,
    require_matrices,
    zeros,
)


class EighImplementation(enum.Enum):
    """How eigenvalues of Hermitian matrices are found: QR is what there is on the CPU."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class EigImplementation(enum.Enum):
    """How eigenvalues of general matrices are found: LAPACK is what there is on the CPU."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class Eigh(OfStacks, name="eigh"):
    """The eigenvectors, as columns of V, and eigenvalues w of Hermitian matrices, of which one triangle counts.

    With D = Vᴴ A' V: w' is the diagonal of D, and V' = V (F ∘ D) with F[i, j] = 1 / (w[j] - w[i]), zero on the
    diagonal (M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
    differentiation", 2008, section 3.1). Equal eigenvalues have no derivatives of their vectors, which are infinite
    then.
    """

    lower: bool
    sort_eigenvalues: bool

    multiple_results: ClassVar[bool] = True

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a, square=True)
        return [shaped(a.shape, a.dtype), shaped(a.shape[:-1], real_dtype(a.dtype))]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), (vectors, values) = builder.in_avals, builder.out_avals
        if not a.size:
            return [zeros(builder, vectors), zeros(builder, values)]
        require_cpu(self.name, builder)
        lead = a.shape[:-2]
        options = {"mode": LETTER["V"], "uplo": LETTER["L" if self.lower else "U"]}
        types = [vectors, values, shaped(lead, INT32)]
        v, w, info = lapack.call(builder, "syevd", operands, [a], types, len(lead), options, {0: 0})
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
        wide = convert_element_type(w, aval(a).dtype)
        factors = _inverse_distances(wide, len(aval(a).shape))
        moved = product(product(adjoint(v), t), v)
        of_values = diagonal(moved)
        if kind_of(aval(of_values).dtype) == "c":
            of_values = real(of_values)
        return [v, w], [product(v, mul(factors, moved)), of_values]


def _inverse_distances(w: Any, rank: int) -> Any:
    """1 / (w[j] - w[i]), and zero on the diagonal."""
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
    """The eigenvectors and eigenvalues of Hermitian matrices, shape ``(…, n, n)``.

    Returns V, of that shape, whose columns are eigenvectors, and the eigenvalues, real, ``(…, n)``, in ascending order.
    ``symmetrize_input`` takes the mean of ``x`` and its adjoint first; without it the triangle that ``lower`` names
    counts. ``subset_by_index`` can only be the whole range, and ``implementation`` None or QR, on the CPU. Equal
    eigenvalues have vectors without derivatives: these are infinite or NaN. Raises ValueError for matrices that are not
    square, NotImplementedError for what is not there on the CPU, and off it.

    >>> from xlascope import lax, numpy as jnp
    >>> v, w = lax.linalg.eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> print(w)
    [1. 2.]
    """
    if symmetrize_input:
        x = inexact(x)
    require_matrices("eigh", aval(x), square=True)
    if subset_by_index is not None and tuple(subset_by_index) != (0, aval(x).shape[-1]):
        raise NotImplementedError(f"subset_by_index={subset_by_index!r} of eigh, on the CPU: slice what eigh returns")
    if implementation is not None and implementation is not EighImplementation.QR:
        raise NotImplementedError(f"eigh by {implementation}, on the CPU: there is EighImplementation.QR")
    v, w = bind(Eigh(bool(lower), bool(sort_eigenvalues)), symmetrized(x) if symmetrize_input else x)
    return v, w


class Eig(OfStacks, name="eig"):
    """The eigenvalues of square matrices, complex, and their left and right eigenvectors as far as asked for.

    The eigenvalues move by the diagonal of V⁻¹ A' V (M. B. Giles, 2008, section 3.1). With G = V⁻¹ A' V and F as for
    Hermitian matrices the vectors move by V (F ∘ G), less what would change their lengths (LAPACK makes them 1); what
    would turn their largest part, which LAPACK makes real, is left out, as in JAX.
    """

    compute_left_eigenvectors: bool
    compute_right_eigenvectors: bool
    enable_eigvec_derivs: bool

    multiple_results: ClassVar[bool] = True

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a, square=True)
        dtype = complex_dtype(a.dtype)
        count = self.compute_left_eigenvectors + self.compute_right_eigenvectors
        return [shaped(a.shape[:-1], dtype), *[shaped(a.shape, dtype)] * count]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        if not a.size:
            return [zeros(builder, out) for out in outs]
        require_cpu(self.name, builder)
        lead = a.shape[:-2]
        sides = self.compute_left_eigenvectors, self.compute_right_eigenvectors
        options = {
            f"compute_{side}": LETTER["V" if wanted else "N"]
            for side, wanted in zip(("left", "right"), sides, strict=True)
        }
        dtype = complex_dtype(a.dtype)
        vectors, info = shaped(a.shape, dtype), shaped(lead, INT32)
        if kind_of(a.dtype) == "c":
            types = [shaped(a.shape[:-1], dtype), vectors, vectors, info]
            w, *both, status = lapack.call(builder, "geev", operands, [a], types, len(lead), options, {})
        else:
            parts = shaped(a.shape[:-1], a.dtype)
            types = [parts, parts, vectors, vectors, info]
            re, im, *both, status = lapack.call(builder, "geev", operands, [a], types, len(lead), options)
            w = builder.emit1("stablehlo.complex", [re, im], outs[0])
        wanted = [w, *(v for v, side in zip(both, sides, strict=True) if side)]
        return [nan_where_failed(builder, status, lead, y, out) for y, out in zip(wanted, outs, strict=True)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (a,), (t,) = primals, tangents
        results = bind(self, a)
        if t is ZERO:
            return results, [ZERO] * len(results)
        if self.compute_left_eigenvectors or (self.compute_right_eigenvectors and not self.enable_eigvec_derivs):
            raise NotImplementedError(
                f"The derivatives of eigenvectors are not implemented, only eigenvalues{here()}: compute no left "
                "eigenvectors, and right ones with enable_eigvec_derivs=True, or use eigh for Hermitian matrices"
            )
        dtype = complex_dtype(aval(a).dtype)
        w, v = results if self.compute_right_eigenvectors else bind(Eig(False, True, False), a)
        moved = solve(v, product(convert_element_type(t, dtype), v))
        if not self.compute_right_eigenvectors:
            return results, [diagonal(moved)]
        turned = product(v, mul(_inverse_distances(w, len(aval(v).shape)), moved))
        along = reduce_sum(mul(conjugate(v), turned), (len(aval(v).shape) - 2,))
        along = convert_element_type(real(along), dtype)
        return results, [diagonal(moved), sub(turned, mul(v, as_rows(along)))]


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Any]:
    """The eigenvalues of square matrices, shape ``(…, n, n)``, and their left and right eigenvectors.

    Returns a list of the eigenvalues, ``(…, n)``, and as far as asked for the left and the right eigenvectors, as
    columns, ``(…, n, n)``; all complex. Eigenvalues have derivatives when no eigenvectors are asked for; right
    eigenvectors with ``enable_eigvec_derivs``. ``implementation`` can be None or LAPACK, ``use_magma`` is about GPUs.
    Raises ValueError for matrices that are not square, NotImplementedError off the CPU.

    >>> from xlascope import lax, numpy as jnp
    >>> w, v = lax.linalg.eig(jnp.array([[0.0, 1.0], [-1.0, 0.0]]), compute_left_eigenvectors=False)
    >>> print(jnp.sort(w.imag))
    [-1.  1.]
    """
    if implementation is not None and implementation is not EigImplementation.LAPACK:
        raise NotImplementedError(f"eig by {implementation}, on the CPU: there is EigImplementation.LAPACK")
    sides = bool(compute_left_eigenvectors), bool(compute_right_eigenvectors)
    return bind(Eig(*sides, bool(enable_eigvec_derivs)), x)


class Schur(OfStacks, name="schur"):
    """A = Q T Qᴴ with unitary Q and upper triangular T (for real matrices with blocks of two on the diagonal)."""

    compute_schur_vectors: bool

    multiple_results: ClassVar[bool] = True

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a, square=True)
        return [shaped(a.shape, a.dtype)] * (1 + self.compute_schur_vectors)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        if not a.size:
            return [zeros(builder, out) for out in outs]
        require_cpu(self.name, builder)
        lead = a.shape[:-2]
        options = {"mode": LETTER["V" if self.compute_schur_vectors else "N"], "sort": LETTER["N"]}
        matrix, count = shaped(a.shape, a.dtype), shaped(lead, INT32)
        parts = [shaped(a.shape[:-1], a.dtype)] * (1 if kind_of(a.dtype) == "c" else 2)
        types = [matrix, matrix, *parts, count, count]
        t, q, *_, info = lapack.call(builder, "gees", operands, [a], types, len(lead), options, {0: 0})
        made = [t, q][: len(outs)]
        return [nan_where_failed(builder, info, lead, y, out) for y, out in zip(made, outs, strict=True)]


def schur(
    x: Any, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False, select_callable: Any = None
) -> Any:
    """The Schur decomposition of square matrices, ``x = Q T Qᴴ``, shape ``(…, n, n)``.

    Returns T, upper triangular (of a real matrix with blocks of two on the diagonal for complex eigenvalues), and the
    unitary Q unless ``compute_schur_vectors`` is False; both in a list. It has no derivative, as in JAX. Raises
    NotImplementedError for sorted eigenvalues, and off the CPU.

    >>> from xlascope import lax, numpy as jnp
    >>> t, q = lax.linalg.schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))
    >>> print(t)
    [[1. 2.]
     [0. 3.]]
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur with sorted eigenvalues: sort_eig_vals=False and no select_callable")
    return list(bind(Schur(bool(compute_schur_vectors)), x))


class Hessenberg(OfStacks, name="hessenberg"):
    """The Hessenberg form in the upper triangle and the diagonal below it, beneath reflections, and their factors."""

    multiple_results: ClassVar[bool] = True

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a, square=True)
        if not a.shape[-1]:
            raise ValueError(f"hessenberg takes matrices with elements, got shape {a.shape}{here()}")
        return [shaped(a.shape, a.dtype), shaped((*a.shape[:-2], a.shape[-1] - 1), a.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        if not a.size:
            return [zeros(builder, out) for out in outs]
        require_cpu(self.name, builder)
        lead = a.shape[:-2]
        options = {"low": "1 : i32", "high": f"{a.shape[-1]} : i32"}
        types = [*outs, shaped(lead, INT32)]
        *made, info = lapack.call(builder, "gehrd", operands, [a], types, len(lead), options, {0: 0})
        return [nan_where_failed(builder, info, lead, y, out) for y, out in zip(made, outs, strict=True)]


def hessenberg(a: Any) -> list[Any]:
    """Square matrices brought to Hessenberg form by Householder reflections, shape ``(…, n, n)``.

    Returns a list: an array of that shape, with the form in its upper triangle and the diagonal below that, and the
    reflections beneath; and the factors of these, ``(…, n - 1)``. It has no derivative, as in JAX. Raises ValueError
    for matrices that are not square or have no elements, NotImplementedError off the CPU.

    >>> from xlascope import lax, numpy as jnp
    >>> form, taus = lax.linalg.hessenberg(jnp.eye(3))
    >>> print(form.shape, taus.shape)
    (3, 3) (2,)
    """
    return list(bind(Hessenberg.instance, a))


class Tridiagonal(OfStacks, name="tridiagonal"):
    """Hermitian matrices brought to tridiagonal form by reflections; one triangle counts."""

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
        require_cpu(self.name, builder)
        lead = a.shape[:-2]
        options = {"uplo": LETTER["L" if self.lower else "U"]}
        types = [*outs, shaped(lead, INT32)]
        *made, info = lapack.call(builder, "sytrd", operands, [a], types, len(lead), options, {0: 0})
        return [nan_where_failed(builder, info, lead, y, out) for y, out in zip(made, outs, strict=True)]


def tridiagonal(a: Any, *, lower: bool = True) -> list[Any]:
    """Hermitian matrices brought to tridiagonal form by Householder reflections, shape ``(…, n, n)``.

    Of ``a`` the triangle that ``lower`` names counts. Returns a list: an array of the shape of ``a`` with the form on
    its diagonal and the one beside it, and the reflections beyond; the diagonal, ``(…, n)``, and the one beside it,
    ``(…, n - 1)``, both real; and the factors of the reflections, ``(…, n - 1)``. It has no derivative, as in JAX.
    Raises ValueError for matrices that are not square, NotImplementedError off the CPU.

    >>> from xlascope import lax, numpy as jnp
    >>> _, diagonal, beside, _ = lax.linalg.tridiagonal(jnp.eye(3))
    >>> print(diagonal, jnp.abs(beside))
    [1. 1. 1.] [0. 0.]
    """
    return list(bind(Tridiagonal(bool(lower)), a))
