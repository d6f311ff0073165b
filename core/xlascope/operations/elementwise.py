"""Base classes of the elementwise operations with one operand and with two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..records.traits import SIMPLE
from ..trace.bind import bind, bind1
from ..trace.values import aval_of
from ..xla.known_faults.nan_propagation import propagate_nan
from . import sharding_rules
from .operand_checks import broadcast_shape, require_kind, require_one_dtype
from .shapes import expand_dims, moveaxis
from .tangent_arithmetic import sum_tangents


class Unary(Operation):
    """Base of elementwise operations on one operand, whose result has the operand's type.

    ``hlo`` is the StableHLO operation, ``kinds`` has the kinds of dtypes that it accepts, ``cost`` is the number of
    operations per element.
    """

    traits = SIMPLE
    hlo: ClassVar[str]
    kinds: ClassVar[str] = "fc"
    cost: ClassVar[int] = 1
    #: Whether XLA treats the result for a constant NaN as undefined on CPU (``xla/known_faults/nan_propagation.py``).
    is_undefined_at_nan: ClassVar[bool] = False

    sharding_rule = sharding_rules.elementwise

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (x,) = operands
        require_kind(self.name, x.dtype, self.kinds)
        return [x]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return self.emit_hlo(builder, operands)

    def as_stablehlo(self) -> tuple[str, dict[str, Any] | None] | None:
        return None if self.is_undefined_at_nan else (self.hlo, None)

    def emit_hlo(self, builder: Any, operands: Sequence[Any], attributes: dict[str, Any] | None = None) -> list[Any]:
        """Emit the StableHLO operation and return its results, which are NaN where the operand is.

        This needs further operations where XLA may fold the operation of a constant NaN (``is_undefined_at_nan``).
        """
        results: list[Any] = builder.emit(self.hlo, operands, attributes)
        return (
            propagate_nan(builder, operands, results) if self.is_undefined_at_nan and builder.can_fold_nan else results
        )

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return self.cost * results[0].size

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x,), (t,) = primals, tangents
        y = bind1(self, x)
        return [y], [ZERO if t is ZERO else self.derivative(x, y, t)]

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        """Return the tangent of ``y = f(x)`` for the tangent ``t`` of ``x``."""
        raise NotImplementedError

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *operands), list(axes)


class PiecewiseConstant(Unary):
    """Base of unary operations that are constant almost everywhere: their derivative is zero."""

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return ZERO


def stretch_values(builder: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """Return the MLIR operands of the current elementwise equation, all broadcast to the result's shape."""
    aval = builder.outputs[0].aval
    shape = aval.shape
    for x in builder.inputs:
        if x.aval is not aval and x.aval.shape != shape:
            break
    else:
        return operands
    return builder.stretch(operands, builder.inputs, shape)  # type: ignore[no-any-return]


def align(operands: Sequence[Any], axes: Sequence[Any]) -> list[Any]:
    """Return operands of an elementwise operation with batch axes in front, so that their shapes broadcast.

    ``axes`` are their batch axes. An unmapped scalar stays as it is, since it broadcasts to every shape; any other
    unmapped operand gets an axis of size 1 in front.
    """
    ranks = [len(aval_of(x).shape) - (a is not NOT_MAPPED) for x, a in zip(operands, axes, strict=True)]
    rank = max(ranks)
    aligned = []
    for x, axis, operand_rank in zip(operands, axes, ranks, strict=True):
        if axis is NOT_MAPPED:
            aligned.append(x if operand_rank == 0 else expand_dims(x, (0,)))
        else:
            x = moveaxis(x, axis, 0)
            aligned.append(expand_dims(x, tuple(range(1, 1 + rank - operand_rank))) if operand_rank < rank else x)
    return aligned


class Binary(Operation):
    """Base of elementwise operations on two operands of one dtype; see :func:`broadcast_shape` for shapes."""

    traits = SIMPLE
    broadcasts_operands = True
    hlo: ClassVar[str]
    kinds: ClassVar[str] = "ifc"

    sharding_rule = sharding_rules.elementwise

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        x, y = operands
        if x is y:
            require_kind(self.name, x.dtype, self.kinds)
            return [x]
        require_one_dtype(self.name, x, y)
        require_kind(self.name, x.dtype, self.kinds)
        return [make_aval(broadcast_shape(self.name, x.shape, y.shape), x.dtype, x.weak_type and y.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.emit(self.hlo, stretch_values(builder, operands))  # type: ignore[no-any-return]

    def as_stablehlo(self) -> tuple[str, dict[str, Any] | None] | None:
        return self.hlo, None

    def flops(self, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> int:
        return results[0].size

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (x, y), (tx, ty) = primals, tangents
        z = bind1(self, x, y)
        if ty is ZERO:
            return [z], [self.derivative_left(x, y, z, tx)]
        if tx is ZERO:
            return [z], [self.derivative_right(x, y, z, ty)]
        return [z], [sum_tangents([self.derivative_left(x, y, z, tx), self.derivative_right(x, y, z, ty)])]

    def derivative_left(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        """Return the tangent of ``z = f(x, y)`` for the tangent ``t`` of ``x``."""
        raise NotImplementedError

    def derivative_right(self, x: Any, y: Any, z: Any, t: Any) -> Any:
        """Return the tangent of ``z = f(x, y)`` for the tangent ``t`` of ``y``."""
        raise NotImplementedError

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *align(operands, axes)), [0]
