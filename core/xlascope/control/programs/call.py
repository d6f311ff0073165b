"""Operations that call a program: a jitted function inside another program."""

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
    """Base of operations that return the results of one program without constants.

    Subclasses define what is special about the call.
    """

    traits = CALL
    composite = True

    jaxpr: ClosedJaxpr

    @property
    def holder(self) -> ClosedJaxpr:
        return self.jaxpr

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return (self.jaxpr,)

    def of(self, program: ClosedJaxpr) -> Operation:
        """Return the same kind of call of another program."""
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
        """Return the call of a program that computes only the used results."""
        program, needed_operands = dce_program(self.jaxpr, used)
        return self.of(program), needed_operands, used

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
        program, nonzero_out = transpose_program(self.jaxpr, linear, moving(cotangents))
        nonlinear_operands = [x for x in operands if not is_linear(x)]
        results = self.call(program, [*nonlinear_operands, *present(cotangents)])
        return in_places(in_places(results, nonzero_out), linear, None)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        program, out_axes = batch_program(self.jaxpr, tuple(axes), batch_size(operands, axes))
        return self.call(program, operands), list(out_axes)


class Call(Calling, name="jit", by_identity=True):
    """Operation that calls a program."""

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
        residuals = [primals[index] if index >= 0 else extra[-1 - index] for index in split.residuals]
        tangents_out = self.call(split.linear, [*residuals, *present(tangents)]) if any(split.out_moving) else ()
        return results[:count], in_places(tangents_out, split.out_moving)


def call_of(program: ClosedJaxpr) -> Call:
    """Return the call operation of a program without constants, one object for each program."""
    operation = program.derived.get("call")
    if operation is None:
        operation = program.derived["call"] = Call(program)
    return operation


def call(program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    """Bind a call of a program; its constants become leading operands."""
    if program.consts:
        program, operands = without_constants(program), [*program.consts, *operands]
    return bind(call_of(program), *operands)
