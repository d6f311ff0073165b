"""A call of a program: what a jitted function becomes inside another program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.operation import Operation
from ...operations.requirements import is_linear
from ...records.traits import CALL
from ...trace.bind import bind
from ...transforms.batch import batch_program
from ...transforms.batch_trace import batch_size
from ...transforms.dce import dce_program, dependence
from ...transforms.differentiate import jvp_program, linearize_program
from ...transforms.taylor import joined, marked, separated, taylor_program
from ...transforms.transpose import transpose_program
from .marks import in_places, moving, present, split_tangents
from .rearranged import without_constants


class Calling(Operation):
    """The results of one program that has no constants of its own. Subclasses say what is special about it."""

    traits = CALL
    composite = True

    jaxpr: ClosedJaxpr

    @property
    def holder(self) -> ClosedJaxpr:
        return self.jaxpr

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return (self.jaxpr,)

    def of(self, program: ClosedJaxpr) -> Operation:
        """The same kind of call of another program."""
        raise NotImplementedError

    def call(self, program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
        """Bind the same kind of call of another program; its constants become leading operands."""
        if program.consts:
            program, operands = without_constants(program), [*program.consts, *operands]
        return bind(self.of(program), *operands)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return self.jaxpr.out_avals

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.call_body(self.jaxpr, operands)  # type: ignore[no-any-return]

    def dependence(self, operands: Sequence[bool]) -> list[bool]:
        return list(dependence(self.jaxpr, operands))

    def dce_rule(self, used: tuple[bool, ...]) -> tuple[Operation, tuple[bool, ...], tuple[bool, ...]]:
        """The call of what the used results need."""
        program, kept = dce_program(self.jaxpr, used)
        return self.of(program), kept, used

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        program, out_moving = jvp_program(self.jaxpr, moving(tangents))
        return split_tangents(self.call(program, [*primals, *present(tangents)]), out_moving)

    def taylor_program_rule(
        self, primals: Sequence[Any], series: Sequence[Sequence[Any]]
    ) -> tuple[list[Any], list[list[Any]]]:
        marks, order = marked(series), len(series[0])
        program, out_moving = taylor_program(self.jaxpr, order, marks)
        results = self.call(program, [*primals, *joined(primals, series, marks)])
        count = len(out_moving)
        return results[:count], separated(results[count:], out_moving, order)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        linear = tuple(is_linear(x) for x in operands)
        program, moved = transpose_program(self.jaxpr, linear, moving(cotangents))
        known = [x for x in operands if not is_linear(x)]
        results = self.call(program, [*known, *present(cotangents)])
        return in_places(in_places(results, moved), linear, None)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        program, out_axes = batch_program(self.jaxpr, tuple(axes), batch_size(operands, axes))
        return self.call(program, operands), list(out_axes)


class Call(Calling, name="jit", by_identity=True):
    """The results of a program."""

    @property
    def params(self) -> dict[str, Any]:
        return {"name": self.jaxpr.name, "jaxpr": self.jaxpr}

    def content(self) -> Sequence[Any]:
        return (self.jaxpr,)

    def of(self, program: ClosedJaxpr) -> Operation:
        return call_of(program)

    def whole(self) -> ClosedJaxpr:
        return self.jaxpr

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the forward half now, and record the linear half."""
        split = linearize_program(self.jaxpr, moving(tangents))
        results = self.call(split.forward, primals)
        count = len(split.out_moving)
        extra = results[count:]
        residuals = [primals[place] if place >= 0 else extra[-1 - place] for place in split.residuals]
        moved = self.call(split.linear, [*residuals, *present(tangents)]) if any(split.out_moving) else ()
        return results[:count], in_places(moved, split.out_moving)


def call_of(program: ClosedJaxpr) -> Call:
    """The one call of a program without constants."""
    found = program.derived.get("call")
    if found is None:
        found = program.derived["call"] = Call(program)
    return found


def call(program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    """Bind a call of a program; its constants become leading operands."""
    if program.consts:
        program, operands = without_constants(program), [*program.consts, *operands]
    return bind(call_of(program), *operands)
