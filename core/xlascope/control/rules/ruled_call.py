"""Base of the operations behind custom_jvp, custom_vjp and custom_vmap: a call of a function with a custom rule."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Self

from ...errors import see
from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.operation import Operation
from ...records.traits import CALL
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.source import here
from ...trace.state import STATE
from ...trace.values import aval_of
from ...transforms.batch import batch_program
from ...transforms.dce import dependence
from ...transforms.evaluate import evaluate
from ..programs.marks import moving
from ..programs.rearranged import without_constants


class RuledCall(Operation):
    """Operation that calls a function with a custom rule; subclasses define what the rule is for.

    As long as its program is not needed (``jaxpr`` is None) the function stays Python, so that under grad alone
    it and its rule see values. The program's leading operands are the function's constants.
    """

    traits = CALL
    composite = True

    function: Callable[..., list[Any]]
    rule: Callable[..., Any]
    title: str
    jaxpr: ClosedJaxpr | None
    num_consts: int

    @property
    def holder(self) -> ClosedJaxpr | None:
        return self.jaxpr

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return () if self.jaxpr is None else (self.jaxpr,)

    def whole(self) -> ClosedJaxpr | None:
        return self.jaxpr

    @property
    def stage_rule(self) -> Any:  # type: ignore[override]
        return self._staged if self.jaxpr is None else None

    def _staged(self, trace: Any, operands: Sequence[Any]) -> list[Any]:
        with _under(trace):
            program = stage(self.function, [aval_of(x) for x in operands], self.title)
        consts = program.consts
        operation = self._holding(without_constants(program), len(consts))
        return trace.bind(operation, [*consts, *operands])  # type: ignore[no-any-return]

    def _holding(self, program: ClosedJaxpr, num_consts: int) -> Self:
        function = functools.partial(evaluate, program)
        return dataclasses.replace(self, function=function, jaxpr=program, num_consts=num_consts)

    def expand(self, *operands: Any) -> list[Any]:
        return self.function(*operands)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        assert self.jaxpr is not None
        return self.jaxpr.out_avals

    def dependence(self, operands: Sequence[bool]) -> list[bool] | None:
        return None if self.jaxpr is None else list(dependence(self.jaxpr, operands))

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.call_body(self.jaxpr, operands)  # type: ignore[no-any-return]

    def batched(
        self, rule: Callable[..., Any], operands: Sequence[Any], axes: Sequence[Any], size: int
    ) -> tuple[list[Any], list[Any]]:
        """Bind the call for all examples, with its batched rule; all results are mapped along axis 0."""
        assert self.jaxpr is not None
        force_mapped = (True,) * len(self.jaxpr.out_avals)
        program, _ = batch_program(self.jaxpr, tuple(axes), size, force_mapped)
        call: Any = dataclasses.replace(self._holding(program, self.num_consts), rule=rule)
        return bind(call, *operands), [0] * len(force_mapped)

    def arguments_alone(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the primals and tangents of the arguments, without those of constants.

        Raises TypeError if a constant has a nonzero tangent, for which the rule has no derivative.
        """
        count = self.num_consts
        if any(moving(tangents[:count])):
            raise TypeError(
                f"{self.title} has a derivative rule of its own and is differentiated with respect to a value that it "
                f"closes over{here()}. The rule says only how its arguments move: make that value an argument "
                "(closure_convert can do it), or wrap it in lax.stop_gradient if its derivative is not wanted."
                + see("closed-over-value")
            )
        return primals[count:], tangents[count:]

    def check_results(self, name: str, results: Sequence[Any]) -> None:
        """Raise TypeError unless the results of a rule have the types of the function's results, if these are known."""
        if self.jaxpr is None:
            return
        actual, avals = [aval_of(y) for y in results], self.jaxpr.out_avals
        if [(a.shape, a.dtype) for a in actual] != [(a.shape, a.dtype) for a in avals]:
            raise TypeError(
                f"{name} has to return results of the types that {self.title} returns, {_types(avals)}; it returned "
                f"{_types(actual)}{here()}"
            )


def _types(avals: Sequence[ShapedArray]) -> str:
    return f"({', '.join(a.str_short() for a in avals)})"


class _under:  # noqa: N801  (reads as a word: with under(trace))
    """Context manager in which operations are applied to a given trace."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    def __enter__(self) -> None:
        self.previous = STATE.trace
        STATE.trace = self.trace

    def __exit__(self, *error: object) -> None:
        STATE.trace = self.previous
