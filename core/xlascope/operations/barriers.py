"""Operations that change no value: a barrier for the compiler, copies, and sinks that keep values alive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.avals import ShapedArray
from ..ir.effects import KEPT, Effects
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..records.traits import KEEPS_ORDER, MOVES, PERMUTES, SIMPLE, Trait
from ..trace.bind import bind, bind1
from ..xla.mlir.builder import attribute
from . import sharding_rules
from .families import Flat, Unary
from .linear import Linear
from .requirements import is_linear


class OptimizationBarrier(Operation, name="optimization_barrier"):
    """The operands, which the compiler may neither reorder nor look through."""

    traits = MOVES | {Trait.BARRIER}
    takes_keys = True
    lowered_alike = True

    sharding_rule = sharding_rules.each_alike

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return list(operands)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.barrier(operands)  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *primals), _barrier_of_moving(tangents)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        passed = _barrier_of_moving([ct if is_linear(x) else ZERO for ct, x in zip(cotangents, operands, strict=True)])
        return [ct if is_linear(x) else None for ct, x in zip(passed, operands, strict=True)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *operands), list(axes)


def _barrier_of_moving(values: Sequence[Any]) -> list[Any]:
    """Apply a barrier to the nonzero tangents or cotangents."""
    nonzero = [v for v in values if v is not ZERO]
    passed = iter(bind(OptimizationBarrier(), *nonzero) if nonzero else [])
    return [ZERO if v is ZERO else next(passed) for v in values]


class Copy(Linear, name="copy"):
    """The operand in a new array."""

    traits = KEEPS_ORDER | PERMUTES
    takes_keys = True

    batch_rule = Unary.batch_rule

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return list(operands)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return list(operands)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        return [bind1(self, ct)]


def optimization_barrier(operands: Sequence[Any]) -> list[Any]:
    """Return the operands behind a barrier, in order."""
    return bind(OptimizationBarrier(), *operands) if operands else []


def copy(x: Any) -> Any:
    """Return ``x`` in a new array."""
    return bind1(Copy(), x)


class StopGradient(Flat, name="stop_gradient"):
    """x, with a derivative of zero."""

    traits = SIMPLE | KEEPS_ORDER
    takes_keys = True

    hlo = "stablehlo.optimization_barrier"
    kinds = "bifc"
    cost = 0

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return list(operands)


def stop_gradient(x: Any) -> Any:
    """Return ``x``, which differentiation treats as a constant."""
    return bind1(StopGradient.instance, x)


class DceSink(Operation, name="dce_sink"):
    """Operation without results that keeps its operand, and what that depends on, in the program.

    The compiler still removes unused values, unless ``prevent_mlir_dce`` is set: then the operand goes into an
    opaque call.
    """

    takes_keys = True
    lowered_alike = True

    prevent_mlir_dce: bool

    sharding_rule = sharding_rules.whole

    @property
    def effects(self) -> Effects:
        return frozenset([KEPT])

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return []

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        if self.prevent_mlir_dce:
            attributes = {
                "call_target_name": attribute('"dce_sink"'),
                "has_side_effect": attribute("true"),
                "api_version": attribute("4 : i32"),
                "backend_config": attribute("{}"),
            }
            builder.operation("stablehlo.custom_call", operands, attributes, ())
        return []

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *primals), []

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *operands), []


def dce_sink(x: Any, prevent_mlir_dce: bool) -> None:
    """Keep ``x`` in the program even though its value is unused."""
    bind(DceSink(prevent_mlir_dce), x)
