"""The Cholesky factorization of positive definite matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtypes import dtype_kind
from ...ir.avals import ShapedArray, make_aval
from ...ir.markers import ZERO
from ...trace.bind import bind1
from ...xla.mlir import lapack
from ...xla.mlir.builder import attribute
from ...xla.mlir.solver_calls import call_column_major
from ..arithmetic import add, mul
from ..conversion import to_dtype
from ..operand_values import aval, typed_scalar
from ..tangent_arithmetic import sum_tangents
from .matrices import adjoint, lower, on_diagonal, product
from .matrix_stacks import (
    INT32,
    LETTER_ATTRIBUTES,
    MatrixStackOperation,
    emit_lower_triangle,
    emit_nan_where_failed,
    emit_zeros,
    require_matrices,
)
from .triangular import triangular_solve


class Cholesky(MatrixStackOperation, name="cholesky"):
    """The lower triangular L with L Lᴴ = A; NaN where A is not positive definite.

    L' = L Φ(L⁻¹ A' L⁻ᴴ), where Φ takes the lower triangle and half of the diagonal (I. Murray, "Differentiation of the
    Cholesky decomposition", arXiv:1602.07527, equation 8).
    """

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (a,) = operands
        require_matrices(self.name, a, square=True)
        return [make_aval(a.shape, a.dtype, a.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (a,), (out,) = builder.in_avals, builder.out_avals
        if not a.size:
            return [emit_zeros(builder, out)]
        return [emit_lower_triangle(builder, factor, out) for factor in self.on_platform(builder, operands)]

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        types, lead = self._types(builder)
        factor_and_info = lapack.call_lapack(
            builder, "potrf", operands, types[:1], types, lead, {"uplo": LETTER_ATTRIBUTES["L"]}, {0: 0}
        )
        return self._mask_failures(builder, *factor_and_info)

    def on_gpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        types, lead = self._types(builder)
        options = {"lower": "true"}
        factor_and_info = call_column_major(
            builder, "cusolver_potrf_ffi", operands, types[:1], types, lead, options, {0: 0}
        )
        return self._mask_failures(builder, *factor_and_info)

    def on_tpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return list(builder.emit("stablehlo.cholesky", operands, {"lower": attribute("true")}))

    def _types(self, builder: Any) -> tuple[list[ShapedArray], int]:
        (out,) = builder.out_avals
        return [out, make_aval(out.shape[:-2], INT32)], out.ndim - 2

    def _mask_failures(self, builder: Any, factor: Any, info: Any) -> list[Any]:
        (out,) = builder.out_avals
        return [emit_nan_where_failed(builder, info, out.shape[:-2], factor, out)]

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return operands[0].size * operands[0].shape[-1] // 3

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (a,), (t,) = primals, tangents
        factor = bind1(self, a)
        if t is ZERO:
            return [factor], [ZERO]
        inner = triangular_solve(factor, t, left_side=False, transpose_a=True, conjugate_a=True, lower=True)
        inner = lower(triangular_solve(factor, inner, left_side=True, lower=True))
        half = mul(on_diagonal(inner), typed_scalar(-0.5, aval(inner).dtype))
        return [factor], [lower(product(factor, sum_tangents([inner, half])))]  # above 0, also where others are NaN


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """Return the lower triangular factors L of positive definite matrices: ``L Lᴴ = x``, shape ``(…, n, n)``.

    ``symmetrize_input`` takes the mean of ``x`` and its adjoint first; without it only the lower triangle is read, and
    tangents are taken to be Hermitian. A matrix that is not positive definite gives NaN. Raises ValueError for matrices
    that are not square, TypeError unless they are floating-point or complex with 32 bits or more.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]])))
    [[2. 0.]
     [1. 2.]]
    """
    if symmetrize_input:
        x = to_inexact(x)
    require_matrices("cholesky", aval(x), square=True)
    return bind1(Cholesky.instance, symmetrize(x) if symmetrize_input else x)


def to_inexact(x: Any) -> Any:
    """Convert integers to floats (float32 up to 32 bits); leave other dtypes as they are."""
    dtype = aval(x).dtype
    if dtype_kind(dtype) not in "iu":
        return x
    return to_dtype(x, np.dtype("float32" if dtype.itemsize <= 4 else "float64"))


def symmetrize(x: Any) -> Any:
    """Return the mean of square matrices and their adjoints."""
    return mul(add(x, adjoint(x)), typed_scalar(0.5, aval(x).dtype))
