"""Systems of equations with tridiagonal matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.avals import ShapedArray, shaped
from ...ir.markers import ZERO
from ...trace.bind import bind1
from ...trace.source import here
from ...xla.mlir import lapack
from ...xla.mlir.solver_calls import by_columns
from ..arithmetic import div, mul
from ..requirements import is_linear
from ..slicing import pad, slice_in_dim
from ..sums import neg, sum_tangents
from ..values import aval, typed_scalar
from .matrices import as_columns
from .stacks import INT32, OfStacks, nan_where_failed, require_matrices, written_as, zeros


class TridiagonalSolve(OfStacks, name="tridiagonal_solve"):
    """The X with A X = B, where A is given by its diagonal and the two beside it.

    A moving solution has A X' = B' - A' X. The system is linear in B alone; its transpose has the diagonals beside
    the middle one exchanged.
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
        return [shaped(b.shape, b.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        (out,) = builder.out_avals
        return self.on_platform(builder, operands) if out.size else [zeros(builder, out)]

    def on_cpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        types, (out,) = builder.in_avals, builder.out_avals
        lead = out.shape[:-2]
        results = [*types[:3], out, shaped(lead, INT32)]
        in_place = {i: i for i in range(4)}
        *_, x, info = lapack.call(builder, "gtsv", operands, types, results, len(lead), None, in_place)
        return [nan_where_failed(builder, info, lead, x, out)]

    def on_gpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        types, (out,) = builder.in_avals, builder.out_avals
        return by_columns(builder, "cusparse_gtsv2_ffi", operands, types, [out], out.ndim - 2, None, {0: 3})

    def on_tpu(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return written_as(builder, by_elimination, operands, builder.in_avals)

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return 8 * results[0].size

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (dl, d, du, _), (t_lower, t_middle, t_upper, tb) = primals, tangents
        x = bind1(self, *primals)
        terms = [(t_lower, _moved(x, 1)), (t_middle, x), (t_upper, _moved(x, -1))]
        changes = [neg(mul(as_columns(t), y)) for t, y in terms if t is not ZERO]
        right = sum_tangents([tb, *changes])
        return [x], [ZERO if right is ZERO else bind1(self, dl, d, du, right)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,), (dl, d, du, b) = cotangents, operands
        if not is_linear(b) or any(map(is_linear, (dl, d, du))):
            raise NotImplementedError("tridiagonal_solve is linear in its right side, not in the matrix")
        return [None, None, None, bind1(self, _shifted(du, 1), d, _shifted(dl, -1), ct)]


def _moved(x: Any, by: int) -> Any:
    """Shift rows down (up for a negative ``by``), filling with zeros."""
    return _shifted_along(x, by, len(aval(x).shape) - 2)


def _shifted(x: Any, by: int, fill: float = 0) -> Any:
    return _shifted_along(x, by, len(aval(x).shape) - 1, fill)


def _shifted_along(x: Any, by: int, axis: int, fill: float = 0) -> Any:
    type_ = aval(x)
    size = type_.shape[axis]
    if not size:
        return x
    remaining = slice_in_dim(x, 0, size - by, axis=axis) if by > 0 else slice_in_dim(x, -by, size, axis=axis)
    missing = [(0, 0, 0)] * len(type_.shape)
    missing[axis] = (max(by, 0), max(-by, 0), 0)
    return pad(remaining, typed_scalar(fill, type_.dtype), missing)


def by_elimination(dl: Any, d: Any, du: Any, b: Any) -> list[Any]:
    """Return the X with A X = B by cyclic reduction, without row exchanges.

    Each step adds to all rows what eliminates their neighbours at a distance; the distance doubles from step to step,
    until no neighbour is left (R. W. Hockney, C. R. Jesshope: "Parallel computers", 1981, section 5.4.3).
    """
    dl, du = _shifted(_shifted(dl, -1), 1), _shifted(_shifted(du, 1), -1)
    distance, size = 1, aval(d).shape[-1]
    while distance < size:
        below, above = neg(div(dl, _shifted(d, distance, 1))), neg(div(du, _shifted(d, -distance, 1)))
        of_rows = [mul(as_columns(below), _moved(b, distance)), mul(as_columns(above), _moved(b, -distance))]
        of_middle = [mul(below, _shifted(du, distance)), mul(above, _shifted(dl, -distance))]
        b, d = sum_tangents([b, *of_rows]), sum_tangents([d, *of_middle])
        dl, du = mul(below, _shifted(dl, distance)), mul(above, _shifted(du, -distance))
        distance *= 2
    return [div(b, as_columns(d))]


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """Return the X with ``A X = b`` for tridiagonal matrices A, ``b`` of shape ``(…, m, k)``.

    ``d``, of shape ``(…, m)``, is the diagonal, ``dl`` the one below, whose first element does not count, ``du`` the
    one above, whose last does not; both have the shape of ``d``. A singular matrix gives NaN. Raises TypeError for
    shapes or dtypes that do not fit, NotImplementedError for ``perturb_singular``.

    >>> from xlascope import lax, numpy as jnp
    >>> ones = jnp.ones(3)
    >>> print(lax.linalg.tridiagonal_solve(0 * ones, 2 * ones, 0 * ones, jnp.ones((3, 1)))[:, 0])
    [0.5 0.5 0.5]
    """
    if perturb_singular:
        raise NotImplementedError("tridiagonal_solve with perturb_singular=True; add what is small to the diagonal")
    return bind1(TridiagonalSolve.instance, dl, d, du, b)
