"""Operations that change no value: a barrier for the compiler, copies, and sinks that keep values alive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.avals import ShapedArray
from ..ir.effects import KEEP_ALIVE, Effects
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..records.traits import KEEPS_ORDER, MOVES, PERMUTES, SIMPLE, Trait
from ..trace.bind import bind, bind1
from ..xla.mlir.builder import attribute
from . import sharding_rules
from .elementwise import PiecewiseConstant, Unary
from .linear_operation import Linear
from .operand_checks import is_linear


class OptimizationBarrier(Operation, name="optimization_barrier"):
    """Identity on several operands, which the compiler may neither reorder nor optimize across."""

    traits = MOVES | {Trait.BARRIER}
    accepts_keys = True
    has_uniform_lowering = True

    sharding_rule = sharding_rules.pass_through

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return list(operands)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.barrier(operands)  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *primals), _barrier_nonzero(tangents)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        passed = _barrier_nonzero([ct if is_linear(x) else ZERO for ct, x in zip(cotangents, operands, strict=True)])
        return [ct if is_linear(x) else None for ct, x in zip(passed, operands, strict=True)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *operands), list(axes)


def _barrier_nonzero(values: Sequence[Any]) -> list[Any]:
    """Return tangents or cotangents with the nonzero ones behind one barrier; ZERO stays ZERO."""
    nonzero = [v for v in values if v is not ZERO]
    passed = iter(bind(OptimizationBarrier(), *nonzero) if nonzero else [])
    return [ZERO if v is ZERO else next(passed) for v in values]


class Copy(Linear, name="copy"):
    """Copy of the operand in a new array."""

    traits = KEEPS_ORDER | PERMUTES
    accepts_keys = True

    batch_rule = Unary.batch_rule

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return list(operands)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return list(operands)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        (ct,) = cotangents
        return [bind1(self, ct)]


def optimization_barrier(operands: Sequence[Any]) -> list[Any]:
    """Return the operands, in order, behind a barrier that the compiler does not optimize across."""
    return bind(OptimizationBarrier(), *operands) if operands else []


def copy(x: Any) -> Any:
    """Return ``x`` in a new array."""
    return bind1(Copy(), x)


class StopGradient(PiecewiseConstant, name="stop_gradient"):
    """Identity with a derivative of zero."""

    traits = SIMPLE | KEEPS_ORDER
    accepts_keys = True

    hlo = "stablehlo.optimization_barrier"
    kinds = "bifc"
    cost = 0

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return list(operands)


def stop_gradient(x: Any) -> Any:
    """Return ``x``, which differentiation treats as a constant."""
    return bind1(StopGradient.instance, x)


class DceSink(Operation, name="dce_sink"):
    """Operation without results that keeps its operand, and what that depends on, in the jaxpr.

    The compiler still removes unused values, unless ``prevent_mlir_dce`` is set: then the operand is passed to a custom
    call with a side effect.
    """

    accepts_keys = True
    has_uniform_lowering = True

    prevent_mlir_dce: bool

    sharding_rule = sharding_rules.replicate

    @property
    def effects(self) -> Effects:
        return frozenset([KEEP_ALIVE])

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
    """Keep ``x`` in the jaxpr even though its value is unused.

    With ``prevent_mlir_dce`` it is also kept in the compiled program.
    """
    bind(DceSink(prevent_mlir_dce), x)
