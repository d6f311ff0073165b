"""Systems of equations with triangular matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtypes import dtype_kind
from ...ir.avals import ShapedArray, make_aval
from ...ir.markers import ZERO
from ...trace.bind import bind1
from ...trace.source import here
from ...xla.mlir import lapack
from ...xla.mlir.builder import attribute
from ..operand_checks import is_linear
from ..operand_values import aval
from ..shapes import expand_dims, squeeze
from ..tangent_arithmetic import neg, sum_tangents
from .matrices import conjugate, lower, product, transpose_matrices, upper
from .matrix_stacks import LETTER_ATTRIBUTES, MatrixStackOperation, emit_zeros, require_matrices


class TriangularSolve(MatrixStackOperation, name="triangular_solve"):
    """The X with op(A) X = B, or X op(A) = B, for one triangle of A; op may transpose and conjugate it.

    The tangent X' solves the same system, op(A) X' = B' - op(A') X. X is linear in B alone; the transpose is the system
    with the transposed matrix.
    """

    left_side: bool
    lower: bool
    transpose_a: bool
    conjugate_a: bool
    unit_diagonal: bool

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        a, b = operands
        require_matrices(
            self.name, a if dtype_kind(a.dtype) != "f" else make_aval(a.shape, np.dtype("float32")), square=True
        )
        if a.dtype != b.dtype:
            raise TypeError(f"triangular_solve takes operands of one dtype, got {a.dtype.name} and {b.dtype.name}")
        if b.ndim != a.ndim or b.shape[:-2] != a.shape[:-2]:
            raise TypeError(
                f"triangular_solve takes stacks of the same leading axes, got shapes {a.shape} and {b.shape}{here()}"
            )
        if b.shape[-2 if self.left_side else -1] != a.shape[-1]:
            side = "rows" if self.left_side else "columns"
            raise TypeError(
                f"triangular_solve takes a right side with as many {side} as the matrix has, got shapes {a.shape} and "
                f"{b.shape}{here()}"
            )
        return [b]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (of_a, of_b), (a, b) = builder.in_avals, operands
        if not of_b.size:
            return [emit_zeros(builder, of_b)]
        if builder.platform != "cpu" or of_a.dtype.name not in lapack.TYPE_LETTERS:
            return self._in_stablehlo(builder, operands)
        if self.conjugate_a and not self.transpose_a:
            a = self._emit_conjugate(builder, a, of_a)
        way = "N" if not self.transpose_a else "C" if self.conjugate_a else "T"
        options = {
            "side": LETTER_ATTRIBUTES["L" if self.left_side else "R"],
            "uplo": LETTER_ATTRIBUTES["L" if self.lower else "U"],
            "trans_x": LETTER_ATTRIBUTES[way],
            "diag": LETTER_ATTRIBUTES["U" if self.unit_diagonal else "N"],
        }
        return lapack.call_lapack(builder, "trsm", [a, b], [of_a, of_b], [of_b], of_b.ndim - 2, options, {0: 1})

    def _in_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        a, b = operands
        if self.conjugate_a and not self.transpose_a:
            a = self._emit_conjugate(builder, a, builder.in_avals[0])
        way = "NO_TRANSPOSE" if not self.transpose_a else "ADJOINT" if self.conjugate_a else "TRANSPOSE"
        flags = {name: getattr(self, name) for name in ("left_side", "lower", "unit_diagonal")}
        attributes = {name: attribute("true" if flag else "false") for name, flag in flags.items()}
        attributes["transpose_a"] = attribute(f"#stablehlo<transpose {way}>")
        return builder.emit("stablehlo.triangular_solve", [a, b], attributes)  # type: ignore[no-any-return]

    def _emit_conjugate(self, builder: Any, a: Any, type_: ShapedArray) -> Any:
        return builder.emit1("chlo.conj", [a], type_) if dtype_kind(type_.dtype) == "c" else a

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return results[0].size * operands[0].shape[-1]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (a, b), (ta, tb) = primals, tangents
        x = bind1(self, a, b)
        if ta is ZERO:
            return [x], [bind1(self, a, tb)]
        part = lower if self.lower else upper
        matrix_tangent = part(ta, strictly=self.unit_diagonal)
        matrix_tangent = transpose_matrices(matrix_tangent) if self.transpose_a else matrix_tangent
        matrix_tangent = conjugate(matrix_tangent) if self.conjugate_a else matrix_tangent
        right = neg(product(matrix_tangent, x) if self.left_side else product(x, matrix_tangent))
        return [x], [bind1(self, a, sum_tangents([tb, right]))]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (a, b) = cotangents, operands
        if is_linear(a):
            raise NotImplementedError("triangular_solve is linear in its right side, not in the matrix")
        system = TriangularSolve(self.left_side, self.lower, not self.transpose_a, self.conjugate_a, self.unit_diagonal)
        return [None, bind1(system, a, ct) if is_linear(b) else None]


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """Return the X with ``op(a) X = b`` (``left_side``) or ``X op(a) = b``, for stacks of triangular matrices.

    ``a`` has shape ``(…, n, n)``, of which only the upper triangle is read, or with ``lower`` the lower one;
    ``unit_diagonal`` takes the diagonal to be ones. ``op`` transposes with ``transpose_a`` and conjugates with
    ``conjugate_a``. ``b`` has shape ``(…, n, k)``, or ``(…, k, n)`` from the right; with one axis fewer than ``a`` it
    is a stack of vectors. Raises TypeError for shapes that do not fit, ValueError for matrices that are not square.

    >>> from xlascope import lax, numpy as jnp
    >>> a, b = jnp.array([[2.0, 0.0], [1.0, 4.0]]), jnp.array([2.0, 9.0])
    >>> print(lax.linalg.triangular_solve(a, b, left_side=True, lower=True))
    [1. 2.]
    """
    is_vector = len(aval(b).shape) == len(aval(a).shape) - 1
    axis = len(aval(b).shape) if left_side else len(aval(b).shape) - 1
    operation = TriangularSolve(
        bool(left_side),
        bool(lower),
        bool(transpose_a),
        bool(conjugate_a) and dtype_kind(aval(a).dtype) == "c",
        bool(unit_diagonal),
    )
    x = bind1(operation, a, expand_dims(b, (axis,)) if is_vector else b)
    return squeeze(x, (axis,)) if is_vector else x
