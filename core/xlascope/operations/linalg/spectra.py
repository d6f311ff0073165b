"""Eigenvalues and eigenvectors of general matrices, and their Schur and Hessenberg forms."""

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
from ...xla.mlir.solver_calls import by_columns
from ..arithmetic import mul, sub
from ..complex_numbers import complex_dtype, real
from ..conversion import convert_element_type
from ..shapes import reduce_sum
from ..values import aval
from .hermitian import inverse_distances
from .lu import solve
from .matrices import as_rows, conjugate, diagonal, product
from .stacks import INT32, LETTER, MAGMA, OfStacks, nan_where_failed, require_matrices, zeros


class EigImplementation(enum.Enum):
    """Library for eigenvalues of general matrices: LAPACK on the CPU, MAGMA or LAPACK on a GPU."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class Eig(OfStacks, name="eig"):
    """The complex eigenvalues of square matrices, and their left and right eigenvectors if requested.

    The eigenvalues move by the diagonal of V⁻¹ A' V (M. B. Giles, 2008, section 3.1). With G = V⁻¹ A' V and F as for
    Hermitian matrices the vectors move by V (F ∘ G), less what would change their lengths (LAPACK makes them 1); what
    would turn their largest part, which LAPACK makes real, is left out, as in JAX.
    """

    compute_left_eigenvectors: bool
    compute_right_eigenvectors: bool
    enable_eigvec_derivs: bool
    implementation: EigImplementation | None = None
    use_magma: bool | None = None

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
        return self.on_platform(builder, operands)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        if self.implementation not in (None, EigImplementation.LAPACK):
            raise self.not_there(builder, f" by {self.implementation}")
        sides = {"compute_left": self.compute_left_eigenvectors, "compute_right": self.compute_right_eigenvectors}
        options = {side: LETTER["V" if wanted else "N"] for side, wanted in sides.items()}
        in_place: dict[int, int] | None = {} if kind_of(builder.in_avals[0].dtype) == "c" else None
        return self._by_library(builder, functools.partial(lapack.call, builder, "geev", operands), options, in_place)

    def on_gpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Emit MAGMA's routine where it is installed, or LAPACK's on the host."""
        magma = {
            None: MAGMA[self.use_magma],
            EigImplementation.MAGMA: MAGMA[True],
            EigImplementation.LAPACK: MAGMA[False],
        }
        if self.implementation not in magma:
            raise self.not_there(builder, f" by {self.implementation}")
        name = "cuhybrid_eig_comp" if kind_of(builder.in_avals[0].dtype) == "c" else "cuhybrid_eig_real"
        sides = {"left": self.compute_left_eigenvectors, "right": self.compute_right_eigenvectors}
        options = {side: "true" if wanted else "false" for side, wanted in sides.items()}
        options["magma"] = magma[self.implementation]
        return self._by_library(builder, functools.partial(by_columns, builder, name, operands), options, None)

    def _by_library(
        self, builder: Any, call: Callable[..., list[Any]], options: Mapping[str, str], in_place: Any
    ) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        lead, dtype = a.shape[:-2], complex_dtype(a.dtype)
        sides = self.compute_left_eigenvectors, self.compute_right_eigenvectors
        vectors, info = shaped(a.shape, dtype), shaped(lead, INT32)
        if kind_of(a.dtype) == "c":
            types = [shaped(a.shape[:-1], dtype), vectors, vectors, info]
            w, *both, status = call([a], types, len(lead), options, in_place)
        else:
            parts = shaped(a.shape[:-1], a.dtype)
            types = [parts, parts, vectors, vectors, info]
            re, im, *both, status = call([a], types, len(lead), options, in_place)
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
        turned = product(v, mul(inverse_distances(w, len(aval(v).shape)), moved))
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
    """Return the eigenvalues of square matrices, shape ``(…, n, n)``, and their left and right eigenvectors.

    Returns a list of the eigenvalues, ``(…, n)``, and as far as asked for the left and the right eigenvectors, as
    columns, ``(…, n, n)``; all complex. Eigenvalues have derivatives when no eigenvectors are asked for; right
    eigenvectors with ``enable_eigvec_derivs``. ``implementation`` can be None or LAPACK on the CPU, on a GPU MAGMA as
    well; ``use_magma`` is the older way to say so. Raises ValueError for matrices that are not square,
    NotImplementedError on a TPU and for what the platform does not have.

    >>> from xlascope import lax, numpy as jnp
    >>> w, v = lax.linalg.eig(jnp.array([[0.0, 1.0], [-1.0, 0.0]]), compute_left_eigenvectors=False)
    >>> print(jnp.sort(w.imag))
    [-1.  1.]
    """
    if implementation is not None and not isinstance(implementation, EigImplementation):
        raise TypeError(f"implementation of eig is one of EigImplementation, got {implementation!r}{here()}")
    sides = bool(compute_left_eigenvectors), bool(compute_right_eigenvectors)
    magma = None if use_magma is None else bool(use_magma)
    return bind(Eig(*sides, bool(enable_eigvec_derivs), implementation, magma), x)


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
        return self.on_platform(builder, operands)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        lead = a.shape[:-2]
        options = {"mode": LETTER["V" if self.compute_schur_vectors else "N"], "sort": LETTER["N"]}
        matrix, count = shaped(a.shape, a.dtype), shaped(lead, INT32)
        parts = [shaped(a.shape[:-1], a.dtype)] * (1 if kind_of(a.dtype) == "c" else 2)
        types = [matrix, matrix, *parts, count, count]
        t, q, *_, info = lapack.call(builder, "gees", operands, [a], types, len(lead), options, {0: 0})
        outputs = [t, q][: len(outs)]
        return [nan_where_failed(builder, info, lead, y, out) for y, out in zip(outputs, outs, strict=True)]


def schur(
    x: Any, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False, select_callable: Any = None
) -> Any:
    """Return the Schur decomposition of square matrices, ``x = Q T Qᴴ``, shape ``(…, n, n)``.

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
    """The Hessenberg form with Householder reflections below it, and the factors of these.

    The form occupies the upper triangle and the diagonal below it.
    """

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
        return self.on_platform(builder, operands)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        lead = a.shape[:-2]
        options = {"low": "1 : i32", "high": f"{a.shape[-1]} : i32"}
        types = [*outs, shaped(lead, INT32)]
        *outputs, info = lapack.call(builder, "gehrd", operands, [a], types, len(lead), options, {0: 0})
        return [nan_where_failed(builder, info, lead, y, out) for y, out in zip(outputs, outs, strict=True)]


def hessenberg(a: Any) -> list[Any]:
    """Reduce square matrices to Hessenberg form by Householder reflections, shape ``(…, n, n)``.

    Returns a list: an array of that shape, with the form in its upper triangle and the diagonal below that, and the
    reflections beneath; and the factors of these, ``(…, n - 1)``. It has no derivative, as in JAX. Raises ValueError
    for matrices that are not square or have no elements, NotImplementedError off the CPU.

    >>> from xlascope import lax, numpy as jnp
    >>> form, taus = lax.linalg.hessenberg(jnp.eye(3))
    >>> print(form.shape, taus.shape)
    (3, 3) (2,)
    """
    return list(bind(Hessenberg.instance, a))
