"""Systems of equations with tridiagonal matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.avals import ShapedArray, make_aval
from ...ir.markers import ZERO
from ...trace.bind import bind1
from ...trace.source import here
from ...xla.mlir import lapack
from ...xla.mlir.solver_calls import call_column_major
from ..arithmetic import div, mul
from ..operand_checks import is_linear
from ..operand_values import aval, typed_scalar
from ..slicing import pad, slice_in_dim
from ..tangent_arithmetic import neg, sum_tangents
from .matrices import as_columns
from .matrix_stacks import (
    INT32,
    MatrixStackOperation,
    emit_function,
    emit_nan_where_failed,
    emit_zeros,
    require_matrices,
)


class TridiagonalSolve(MatrixStackOperation, name="tridiagonal_solve"):
    """The X with A X = B, where A is given by its diagonal and the two next to it.

    The tangent X' solves A X' = B' - A' X. X is linear in B alone; the transpose is the system with the two outer
    diagonals exchanged.
    """

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        dl, d, du, b = operands
        require_matrices(self.name, b)
        if len({operand.dtype for operand in operands}) > 1:
            raise TypeError(f"tridiagonal_solve takes operands of one dtype, got {[x.dtype.name for x in operands]}")
        if not dl.shape == d.shape == du.shape == b.shape[:-1]:
            raise TypeError(
                "tridiagonal_solve takes diagonals of one shape (…, m) for a right side of shape (…, m, k), got shapes "
                f"{dl.shape}, {d.shape}, {du.shape} and {b.shape}{here()}"
            )
        return [make_aval(b.shape, b.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (out,) = builder.out_avals
        return self.on_platform(builder, operands) if out.size else [emit_zeros(builder, out)]

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        types, (out,) = builder.in_avals, builder.out_avals
        lead = out.shape[:-2]
        results = [*types[:3], out, make_aval(lead, INT32)]
        in_place = {i: i for i in range(4)}
        *_, x, info = lapack.call_lapack(builder, "gtsv", operands, types, results, len(lead), None, in_place)
        return [emit_nan_where_failed(builder, info, lead, x, out)]

    def on_gpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        types, (out,) = builder.in_avals, builder.out_avals
        return call_column_major(builder, "cusparse_gtsv2_ffi", operands, types, [out], out.ndim - 2, None, {0: 3})

    def on_tpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return emit_function(builder, cyclic_reduction, operands, builder.in_avals)

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return 8 * results[0].size

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (dl, d, du, _), (t_lower, t_middle, t_upper, tb) = primals, tangents
        x = bind1(self, *primals)
        terms = [(t_lower, _shift_rows(x, 1)), (t_middle, x), (t_upper, _shift_rows(x, -1))]
        changes = [neg(mul(as_columns(t), y)) for t, y in terms if t is not ZERO]
        right = sum_tangents([tb, *changes])
        return [x], [ZERO if right is ZERO else bind1(self, dl, d, du, right)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (dl, d, du, b) = cotangents, operands
        if not is_linear(b) or any(map(is_linear, (dl, d, du))):
            raise NotImplementedError("tridiagonal_solve is linear in its right side, not in the matrix")
        return [None, None, None, bind1(self, _shift(du, 1), d, _shift(dl, -1), ct)]


def _shift_rows(x: Any, by: int) -> Any:
    """Shift the rows of matrices down by ``by`` (up if negative), filling with zeros."""
    return _shift_along(x, by, len(aval(x).shape) - 2)


def _shift(x: Any, by: int, fill: float = 0) -> Any:
    return _shift_along(x, by, len(aval(x).shape) - 1, fill)


def _shift_along(x: Any, by: int, axis: int, fill: float = 0) -> Any:
    type_ = aval(x)
    size = type_.shape[axis]
    if not size:
        return x
    remaining = slice_in_dim(x, 0, size - by, axis=axis) if by > 0 else slice_in_dim(x, -by, size, axis=axis)
    missing = [(0, 0, 0)] * len(type_.shape)
    missing[axis] = (max(by, 0), max(-by, 0), 0)
    return pad(remaining, typed_scalar(fill, type_.dtype), missing)


def cyclic_reduction(dl: Any, d: Any, du: Any, b: Any) -> list[Any]:
    """Return the X with A X = B by cyclic reduction, without row exchanges, in a list.

    ``dl``, ``d`` and ``du`` are the diagonals below, at and above the middle. Each step eliminates from all rows their
    neighbours at a distance, which doubles from step to step, until no neighbour is left (R. W. Hockney, C. R.
    Jesshope: "Parallel computers", 1981, section 5.4.3).
    """
    dl, du = _shift(_shift(dl, -1), 1), _shift(_shift(du, 1), -1)
    distance, size = 1, aval(d).shape[-1]
    while distance < size:
        below, above = neg(div(dl, _shift(d, distance, 1))), neg(div(du, _shift(d, -distance, 1)))
        of_rows = [mul(as_columns(below), _shift_rows(b, distance)), mul(as_columns(above), _shift_rows(b, -distance))]
        of_middle = [mul(below, _shift(du, distance)), mul(above, _shift(dl, -distance))]
        b, d = sum_tangents([b, *of_rows]), sum_tangents([d, *of_middle])
        dl, du = mul(below, _shift(dl, distance)), mul(above, _shift(du, -distance))
        distance *= 2
    return [div(b, as_columns(d))]


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """Return the X with ``A X = b`` for tridiagonal matrices A, ``b`` of shape ``(…, m, k)``.

    ``d``, of shape ``(…, m)``, is the diagonal, ``dl`` the one below, whose first element is ignored, ``du`` the one
    above, whose last element is ignored; both have the shape of ``d``. A singular matrix gives NaN. Raises TypeError
    for shapes or dtypes that do not fit, NotImplementedError for ``perturb_singular``.

    >>> from xlascope import lax, numpy as jnp
    >>> ones = jnp.ones(3)
    >>> print(lax.linalg.tridiagonal_solve(0 * ones, 2 * ones, 0 * ones, jnp.ones((3, 1)))[:, 0])
    [0.5 0.5 0.5]
    """
    if perturb_singular:
        raise NotImplementedError("tridiagonal_solve with perturb_singular=True; add what is small to the diagonal")
    return bind1(TridiagonalSolve.instance, dl, d, du, b)
