"""A call of a program: what a jitted function becomes inside another program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.avals import ShapedArray
from ..ir.jaxpr import ClosedJaxpr
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation
from ..operations.families import is_linear
from ..trace.bind import bind
from ..trace.values import aval_of
from ..transforms.batch import batch_program
from ..transforms.differentiate import jvp_program, linearize_program
from ..transforms.transpose import transpose_program


class Call(Operation, name="jit", by_identity=True):
    """The results of a program that has no constants of its own."""

    jaxpr: ClosedJaxpr

    @property
    def params(self) -> dict[str, Any]:
        return {"name": self.jaxpr.name, "jaxpr": self.jaxpr}

    @property
    def holder(self) -> ClosedJaxpr:
        return self.jaxpr

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return (self.jaxpr,)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return self.jaxpr.out_avals

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.call_body(self.jaxpr, operands)  # type: ignore[no-any-return]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        moving = tuple(t is not ZERO for t in tangents)
        program, out_moving = jvp_program(self.jaxpr, moving)
        results = call(program, [*primals, *(t for t in tangents if t is not ZERO)])
        count = len(out_moving)
        moved = iter(results[count:])
        return results[:count], [next(moved) if m else ZERO for m in out_moving]

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the forward half now, and record the linear half."""
        split = linearize_program(self.jaxpr, tuple(t is not ZERO for t in tangents))
        results = call(split.forward, primals)
        count = len(split.out_moving)
        extra = results[count:]
        residuals = [primals[place] if place >= 0 else extra[-1 - place] for place in split.residuals]
        moving = [t for t in tangents if t is not ZERO]
        moved = iter(call(split.linear, [*residuals, *moving]) if any(split.out_moving) else ())
        return results[:count], [next(moved) if m else ZERO for m in split.out_moving]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        linear = tuple(is_linear(x) for x in operands)
        arriving = tuple(ct is not ZERO for ct in cotangents)
        program, moved = transpose_program(self.jaxpr, linear, arriving)
        known = [x for x in operands if not is_linear(x)]
        results = iter(call(program, [*known, *(ct for ct in cotangents if ct is not ZERO)]))
        given = iter(moved)
        return [(next(results) if next(given) else ZERO) if one else None for one in linear]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = next(aval_of(x).shape[a] for x, a in zip(operands, axes, strict=True) if a is not NOT_MAPPED)
        program, out_axes = batch_program(self.jaxpr, tuple(axes), size)
        return call(program, operands), list(out_axes)


def call(program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    """Bind a call of a program; its constants become leading operands."""
    if program.consts:
        program, operands = without_constants(program), [*program.consts, *operands]
    operation = program.derived.get("call")
    if operation is None:
        operation = program.derived["call"] = Call(program)
    return bind(operation, *operands)


def without_constants(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program with its constants as leading operands."""
    found = program.derived.get("without constants")
    if found is None:
        jaxpr = program.jaxpr
        opened = type(jaxpr)(
            (),
            (*jaxpr.constvars, *jaxpr.invars),
            jaxpr.outvars,
            jaxpr.raw,
            jaxpr.name,
            lambda: ("",) * len(jaxpr.constvars) + jaxpr.argument_names,
        )
        found = program.derived["without constants"] = ClosedJaxpr(opened)
    return found
