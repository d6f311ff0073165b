"""Operations that call a program: a jitted function inside another program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.operation import Operation
from ...operations.operand_checks import is_linear
from ...records.traits import CALL
from ...trace.bind import bind
from ...transforms.batch import batch_program
from ...transforms.batch_trace import batch_size
from ...transforms.dce import dce_program, find_dependent_results
from ...transforms.differentiate import jvp_program, linearize_program
from ...transforms.taylor import find_moving, flatten_coefficients, taylor_program, unflatten_coefficients
from ...transforms.transpose import transpose_program
from .masks import drop_zero_tangents, nonzero_tangents_mask, scatter_by_mask, split_tangents
from .program_rewrites import convert_constvars_to_operands


class CallOperation(Operation):
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

    def with_program(self, program: ClosedJaxpr) -> Operation:
        """Return this operation with another program, which may have other operands and results."""
        raise NotImplementedError

    def bind_program(self, program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
        """Bind this operation with another program, and return the results.

        The program's constants become leading operands.
        """
        if program.consts:
            program, operands = convert_constvars_to_operands(program), [*program.consts, *operands]
        return bind(self.with_program(program), *operands)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return self.jaxpr.out_avals

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.call_body(self.jaxpr, operands)  # type: ignore[no-any-return]

    def dependence(self, operands: Sequence[bool]) -> list[bool]:
        return list(find_dependent_results(self.jaxpr, operands))

    def dce_rule(self, used: tuple[bool, ...]) -> tuple[Operation, tuple[bool, ...], tuple[bool, ...]]:
        """Return the call that computes only the results marked in ``used``, a mask of its operands, and ``used``.

        The second part marks the operands that it takes, the third the results that it returns: exactly those marked.
        """
        program, needed_operands = dce_program(self.jaxpr, used)
        return self.with_program(program), needed_operands, used

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        program, out_moving = jvp_program(self.jaxpr, nonzero_tangents_mask(tangents))
        return split_tangents(self.bind_program(program, [*primals, *drop_zero_tangents(tangents)]), out_moving)

    def taylor_program_rule(
        self, primals: Sequence[Any], series: Sequence[Sequence[Any]]
    ) -> tuple[list[Any], list[list[Any]]]:
        marks, order = find_moving(series), len(series[0])
        program, out_moving = taylor_program(self.jaxpr, order, marks)
        results = self.bind_program(program, [*primals, *flatten_coefficients(primals, series, marks)])
        count = len(out_moving)
        return results[:count], unflatten_coefficients(results[count:], out_moving, order)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        linear = tuple(is_linear(x) for x in operands)
        program, nonzero_out = transpose_program(self.jaxpr, linear, nonzero_tangents_mask(cotangents))
        nonlinear_operands = [x for x in operands if not is_linear(x)]
        results = self.bind_program(program, [*nonlinear_operands, *drop_zero_tangents(cotangents)])
        return scatter_by_mask(scatter_by_mask(results, nonzero_out), linear, None)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        program, out_axes = batch_program(self.jaxpr, tuple(axes), batch_size(operands, axes))
        return self.bind_program(program, operands), list(out_axes)


class JitCall(CallOperation, name="jit", by_identity=True):
    """Operation that calls the program of a jitted function."""

    @property
    def params(self) -> dict[str, Any]:
        return {"name": self.jaxpr.name, "jaxpr": self.jaxpr}

    def content(self) -> Sequence[Any]:
        return (self.jaxpr,)

    def with_program(self, program: ClosedJaxpr) -> Operation:
        return get_call_operation(program)

    def as_single_program(self) -> ClosedJaxpr:
        return self.jaxpr

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run the forward half now, and record the linear half.

        Returns the results and their tangents; a tangent is ZERO where it is known to be zero.
        """
        split = linearize_program(self.jaxpr, nonzero_tangents_mask(tangents))
        results = self.bind_program(split.forward, primals)
        count = len(split.nonzero_out_tangents)
        extra = results[count:]
        residuals = [primals[index] if index >= 0 else extra[-1 - index] for index in split.residuals]
        tangents_out = (
            self.bind_program(split.linear, [*residuals, *drop_zero_tangents(tangents)])
            if any(split.nonzero_out_tangents)
            else ()
        )
        return results[:count], scatter_by_mask(tangents_out, split.nonzero_out_tangents)


def get_call_operation(program: ClosedJaxpr) -> JitCall:
    """Return the :class:`JitCall` of a program without constants, one object for each program."""
    operation = program.derived.get("call")
    if operation is None:
        operation = program.derived["call"] = JitCall(program)
    return operation


def bind_call(program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    """Bind a :class:`JitCall` of a program, and return its results.

    The program's constants become leading operands.
    """
    if program.consts:
        program, operands = convert_constvars_to_operands(program), [*program.consts, *operands]
    return bind(get_call_operation(program), *operands)
