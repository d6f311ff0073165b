"""Sums and negation: the operations that combine tangents and cotangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..records.traits import SIMPLE
from ..trace.bind import bind1
from ..trace.values import aval_of
from . import sharding_rules
from .linear_operation import Linear, linear_taylor_rule
from .operand_checks import is_linear, require_kind
from .operand_values import aval, shape_of
from .shapes import broadcast_in_dim, expand_dims, mapped_in_front, reduce_sum


class AddAny(Operation, name="add_any"):
    """Sum of two tangents or cotangents of one type."""

    traits = SIMPLE
    taylor_rule = linear_taylor_rule

    sharding_rule = sharding_rules.elementwise

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, y = operands
        if x.shape != y.shape or x.dtype != y.dtype:
            raise TypeError(f"add_any takes operands of one type, got {x} and {y}")
        return [x if x is y else make_aval(x.shape, x.dtype)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit("stablehlo.add", operands)  # type: ignore[no-any-return]

    def as_stablehlo(self) -> tuple[str, dict[str, Any] | None] | None:
        return "stablehlo.add", None

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return results[0].size

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *primals)], [sum_tangents(tangents)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        return [ct if is_linear(x) else None for x in operands]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = next(aval(x).shape[a] for x, a in zip(operands, axes, strict=True) if a is not NOT_MAPPED)
        return [bind1(self, *(mapped_in_front(x, a, size) for x, a in zip(operands, axes, strict=True)))], [0]


ADD_ANY = AddAny()


class Neg(Linear, name="neg"):
    """Elementwise negation."""

    traits = SIMPLE

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        require_kind(self.name, operands[0].dtype, "ifc")
        return list(operands)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit("stablehlo.negate", operands)  # type: ignore[no-any-return]

    def as_stablehlo(self) -> tuple[str, dict[str, Any] | None] | None:
        return "stablehlo.negate", None

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return results[0].size

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        return [neg(*cotangents)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [neg(*operands)], list(axes)


def neg(x: Any) -> Any:
    """Return ``-x``, elementwise."""
    return bind1(Neg.instance, x)


def sum_tangents(parts: Sequence[Any]) -> Any:
    """Return the sum of tangents, any of which may be ZERO; ZERO if all are."""
    nonzero = [part for part in parts if part is not ZERO]
    if not nonzero:
        return ZERO
    total = nonzero[0]
    for part in nonzero[1:]:
        total = bind1(ADD_ANY, total, part)
    return total


def bilinear_taylor_rule(
    operation: Operation, degree: int, operands: Sequence[Any], results: Sequence[Any]
) -> list[Any]:
    """Apply the ``taylor_rule`` of an operation that is linear in each of two operands: a Cauchy product.

    ``operands`` are two lists of Taylor coefficients, by degree; returns the result's coefficient of that degree.
    """
    x, y = operands
    pairs = [(x[i], y[degree - i]) for i in range(degree + 1)]
    return [sum_tangents([bind1(operation, p, q) for p, q in pairs if p is not ZERO and q is not ZERO])]


def unbroadcast(cotangent: Any, aval: ShapedArray) -> Any:
    """Sum a cotangent over the axes along which an operand of type ``aval`` was broadcast.

    The result has the shape of the operand.
    """
    try:
        shape = cotangent.aval.shape
    except AttributeError:
        shape = aval_of(cotangent).shape
    if shape == aval.shape:
        return cotangent
    if not aval.shape:
        return reduce_sum(cotangent, tuple(range(len(shape))))
    axes = tuple(i for i, (a, b) in enumerate(zip(shape, aval.shape, strict=True)) if a != b)
    return expand_dims(reduce_sum(cotangent, axes), axes)


def same_shape(x: Any, z: Any) -> bool:
    """Return whether two values have the same shape."""
    try:
        return bool(x.aval.shape == z.aval.shape)
    except AttributeError:  # a NumPy value
        return shape_of(x) == shape_of(z)


def broadcast_to_result(t: Any, z: Any) -> Any:
    """Broadcast the tangent ``t`` of an operand to the shape of the result ``z``."""
    if same_shape(t, z):
        return t
    shape, result_shape = shape_of(t), shape_of(z)
    if shape == result_shape:
        return t
    return broadcast_in_dim(t, result_shape, range(len(shape)) if shape else ())
