"""Eigenvalues and eigenvectors of general matrices, and their Schur and Hessenberg forms."""

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
from ...xla.mlir.solver_calls import call_column_major
from ..arithmetic import mul, sub
from ..complex_numbers import complex_dtype, real
from ..conversion import to_dtype
from ..operand_values import aval
from ..shapes import reduce_sum
from .hermitian_eigenvalues import inverse_gaps
from .lu import solve
from .matrices import as_rows, conjugate, diagonal, product
from .matrix_stacks import (
    INT32,
    LETTER_ATTRIBUTES,
    MAGMA_ATTRIBUTES,
    MatrixStackOperation,
    emit_nan_where_failed,
    emit_zeros,
    require_matrices,
)


class EigImplementation(enum.Enum):
    """Library for eigenvalues of general matrices: LAPACK on the CPU, MAGMA or LAPACK on a GPU."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class Eig(MatrixStackOperation, name="eig"):
    """The complex eigenvalues of square matrices, and their left and right eigenvectors if requested.

    With G = V⁻¹ A' V the tangent of the eigenvalues is the diagonal of G (M. B. Giles, 2008, section 3.1). That of the
    right eigenvectors is V (F ∘ G), with F as for :class:`Eigh`, minus the part that would change their lengths, which
    LAPACK makes 1. LAPACK also makes their largest component real; as in JAX, the tangent ignores that.
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
        return [make_aval(a.shape[:-1], dtype), *[make_aval(a.shape, dtype)] * count]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        if not a.size:
            return [emit_zeros(builder, out) for out in outs]
        return self.on_platform(builder, operands)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        if self.implementation not in (None, EigImplementation.LAPACK):
            raise self.unsupported_error(builder, f" by {self.implementation}")
        sides = {"compute_left": self.compute_left_eigenvectors, "compute_right": self.compute_right_eigenvectors}
        options = {side: LETTER_ATTRIBUTES["V" if is_computed else "N"] for side, is_computed in sides.items()}
        in_place: dict[int, int] | None = {} if dtype_kind(builder.in_avals[0].dtype) == "c" else None
        return self._by_library(
            builder, functools.partial(lapack.call_lapack, builder, "geev", operands), options, in_place
        )

    def on_gpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        """Emit the routine that calls MAGMA if it is installed, otherwise LAPACK on the host."""
        magma = {
            None: MAGMA_ATTRIBUTES[self.use_magma],
            EigImplementation.MAGMA: MAGMA_ATTRIBUTES[True],
            EigImplementation.LAPACK: MAGMA_ATTRIBUTES[False],
        }
        if self.implementation not in magma:
            raise self.unsupported_error(builder, f" by {self.implementation}")
        name = "cuhybrid_eig_comp" if dtype_kind(builder.in_avals[0].dtype) == "c" else "cuhybrid_eig_real"
        sides = {"left": self.compute_left_eigenvectors, "right": self.compute_right_eigenvectors}
        options = {side: "true" if is_computed else "false" for side, is_computed in sides.items()}
        options["magma"] = magma[self.implementation]
        return self._by_library(builder, functools.partial(call_column_major, builder, name, operands), options, None)

    def _by_library(
        self, builder: Any, call: Callable[..., list[Any]], options: Mapping[str, str], in_place: Any
    ) -> list[Any]:
        """Emit a library call and return the MLIR results, NaN for matrices for which it fails.

        ``call`` gets operand types, result types, the number of stack axes, ``options`` and ``in_place``, as the
        helpers that emit calls of LAPACK and of CUDA's libraries do.
        """
        (a,), outs = builder.in_avals, builder.out_avals
        lead, dtype = a.shape[:-2], complex_dtype(a.dtype)
        sides = self.compute_left_eigenvectors, self.compute_right_eigenvectors
        vectors, info = make_aval(a.shape, dtype), make_aval(lead, INT32)
        if dtype_kind(a.dtype) == "c":
            types = [make_aval(a.shape[:-1], dtype), vectors, vectors, info]
            w, *both, status = call([a], types, len(lead), options, in_place)
        else:
            parts = make_aval(a.shape[:-1], a.dtype)
            types = [parts, parts, vectors, vectors, info]
            re, im, *both, status = call([a], types, len(lead), options, in_place)
            w = builder.emit1("stablehlo.complex", [re, im], outs[0])
        computed = [w, *(v for v, side in zip(both, sides, strict=True) if side)]
        return [emit_nan_where_failed(builder, status, lead, y, out) for y, out in zip(computed, outs, strict=True)]

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
        t_in_eigenbasis = solve(v, product(to_dtype(t, dtype), v))
        if not self.compute_right_eigenvectors:
            return results, [diagonal(t_in_eigenbasis)]
        turned = product(v, mul(inverse_gaps(w, len(aval(v).shape)), t_in_eigenbasis))
        along = reduce_sum(mul(conjugate(v), turned), (len(aval(v).shape) - 2,))
        along = to_dtype(real(along), dtype)
        return results, [diagonal(t_in_eigenbasis), sub(turned, mul(v, as_rows(along)))]


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

    Returns a list of the eigenvalues, ``(…, n)``, and, as far as requested, the left and the right eigenvectors as
    columns, ``(…, n, n)``; all complex. Derivatives are defined if no eigenvectors are requested, or only right ones
    with ``enable_eigvec_derivs``. ``implementation`` is None or LAPACK on the CPU, on a GPU also MAGMA; ``use_magma``
    is an older form of it. Raises ValueError for matrices that are not square, NotImplementedError on a TPU and for an
    implementation that the platform lacks.

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


class Schur(MatrixStackOperation, name="schur"):
    """A = Q T Qᴴ with unitary Q and upper triangular T.

    For real matrices T has 2x2 blocks on the diagonal for complex eigenvalues. ``compute_schur_vectors`` says whether Q
    is returned.
    """

    compute_schur_vectors: bool

    multiple_results: ClassVar[bool] = True

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a, square=True)
        return [make_aval(a.shape, a.dtype)] * (1 + self.compute_schur_vectors)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        if not a.size:
            return [emit_zeros(builder, out) for out in outs]
        return self.on_platform(builder, operands)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        lead = a.shape[:-2]
        options = {
            "mode": LETTER_ATTRIBUTES["V" if self.compute_schur_vectors else "N"],
            "sort": LETTER_ATTRIBUTES["N"],
        }
        matrix, count = make_aval(a.shape, a.dtype), make_aval(lead, INT32)
        parts = [make_aval(a.shape[:-1], a.dtype)] * (1 if dtype_kind(a.dtype) == "c" else 2)
        types = [matrix, matrix, *parts, count, count]
        t, q, *_, info = lapack.call_lapack(builder, "gees", operands, [a], types, len(lead), options, {0: 0})
        outputs = [t, q][: len(outs)]
        return [emit_nan_where_failed(builder, info, lead, y, out) for y, out in zip(outputs, outs, strict=True)]


def schur(
    x: Any, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False, select_callable: Any = None
) -> Any:
    """Return the Schur decomposition of square matrices, ``x = Q T Qᴴ``, shape ``(…, n, n)``.

    Returns a list of T, upper triangular (for a real matrix with 2x2 blocks on the diagonal for complex eigenvalues),
    and the unitary Q unless ``compute_schur_vectors`` is False. It has no derivative, as in JAX. Raises
    NotImplementedError for sorted eigenvalues, and on other platforms than the CPU.

    >>> from xlascope import lax, numpy as jnp
    >>> t, q = lax.linalg.schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))
    >>> print(t)
    [[1. 2.]
     [0. 3.]]
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur with sorted eigenvalues: sort_eig_vals=False and no select_callable")
    return list(bind(Schur(bool(compute_schur_vectors)), x))


class Hessenberg(MatrixStackOperation, name="hessenberg"):
    """Hessenberg form with Householder reflections below it, and the scalar factors of the reflections.

    The form occupies the upper triangle and the diagonal below it.
    """

    multiple_results: ClassVar[bool] = True

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a, square=True)
        if not a.shape[-1]:
            raise ValueError(f"hessenberg takes matrices with elements, got shape {a.shape}{here()}")
        return [make_aval(a.shape, a.dtype), make_aval((*a.shape[:-2], a.shape[-1] - 1), a.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        if not a.size:
            return [emit_zeros(builder, out) for out in outs]
        return self.on_platform(builder, operands)

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), outs = builder.in_avals, builder.out_avals
        lead = a.shape[:-2]
        options = {"low": "1 : i32", "high": f"{a.shape[-1]} : i32"}
        types = [*outs, make_aval(lead, INT32)]
        *outputs, info = lapack.call_lapack(builder, "gehrd", operands, [a], types, len(lead), options, {0: 0})
        return [emit_nan_where_failed(builder, info, lead, y, out) for y, out in zip(outputs, outs, strict=True)]


def hessenberg(a: Any) -> list[Any]:
    """Reduce square matrices to Hessenberg form by Householder reflections, shape ``(…, n, n)``.

    Returns a list: an array of that shape, with the form in its upper triangle and the diagonal below that, and the
    reflections beneath; and the scalar factors of these, ``(…, n - 1)``. It has no derivative, as in JAX. Raises
    ValueError for matrices that are not square or have no elements, NotImplementedError on other platforms than the
    CPU.

    >>> from xlascope import lax, numpy as jnp
    >>> form, taus = lax.linalg.hessenberg(jnp.eye(3))
    >>> print(form.shape, taus.shape)
    (3, 3) (2,)
    """
    return list(bind(Hessenberg.instance, a))
