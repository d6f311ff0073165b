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
from ...transforms.dce import find_dependent_results
from ...transforms.evaluate import evaluate
from ..programs.masks import nonzero_tangents_mask
from ..programs.program_rewrites import convert_constvars_to_operands


class CustomRuleCall(Operation):
    """Operation that calls a function with a custom rule; subclasses define what the rule is for.

    ``function`` is flat, ``title`` is its name for messages. As long as its program is not needed (``jaxpr`` is None)
    the function stays Python, so that under grad alone it and its rule see values. The program's first ``num_consts``
    operands are the values that the function closes over.
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

    def as_single_program(self) -> ClosedJaxpr | None:
        return self.jaxpr

    @property
    def stage_rule(self) -> Any:  # type: ignore[override]
        return self._stage_function if self.jaxpr is None else None

    def _stage_function(self, trace: Any, operands: Sequence[Any]) -> list[Any]:
        """Stage the function in ``trace``, bind the call of its program there, and return the results.

        The program's constants become leading operands.
        """
        with _use_trace(trace):
            program = stage(self.function, [aval_of(x) for x in operands], self.title)
        consts = program.consts
        operation = self._with_program(convert_constvars_to_operands(program), len(consts))
        return trace.bind(operation, [*consts, *operands])  # type: ignore[no-any-return]

    def _with_program(self, program: ClosedJaxpr, num_consts: int) -> Self:
        function = functools.partial(evaluate, program)
        return dataclasses.replace(self, function=function, jaxpr=program, num_consts=num_consts)

    def expand(self, *operands: Any) -> list[Any]:
        return self.function(*operands)

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        assert self.jaxpr is not None
        return self.jaxpr.out_avals

    def dependence(self, operands: Sequence[bool]) -> list[bool] | None:
        return None if self.jaxpr is None else list(find_dependent_results(self.jaxpr, operands))

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.call_body(self.jaxpr, operands)  # type: ignore[no-any-return]

    def bind_batched(
        self, rule: Callable[..., Any], operands: Sequence[Any], axes: Sequence[Any], size: int
    ) -> tuple[list[Any], list[Any]]:
        """Bind the call for all examples at once; return its results and their batch axes, all 0.

        ``rule`` is the rule for all examples, ``axes`` are the batch axes of the operands, ``size`` is the batch
        size.
        """
        assert self.jaxpr is not None
        force_mapped = (True,) * len(self.jaxpr.out_avals)
        program, _ = batch_program(self.jaxpr, tuple(axes), size, force_mapped)
        call: Any = dataclasses.replace(self._with_program(program, self.num_consts), rule=rule)
        return bind(call, *operands), [0] * len(force_mapped)

    def rule_arguments(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the primals and tangents of the arguments, without those of the leading constants.

        Raises TypeError if a constant has a nonzero tangent, for which the rule has no derivative.
        """
        count = self.num_consts
        if any(nonzero_tangents_mask(tangents[:count])):
            raise TypeError(
                f"{self.title} has a derivative rule of its own and is differentiated with respect to a value that it "
                f"closes over{here()}. The rule says only how its arguments move: make that value an argument "
                "(closure_convert can do it), or wrap it in lax.stop_gradient if its derivative is not wanted."
                + see("closed-over-value")
            )
        return primals[count:], tangents[count:]

    def check_results(self, name: str, results: Sequence[Any]) -> None:
        """Raise TypeError unless a rule's results have the shapes and dtypes of the function's results.

        ``name`` describes the rule. If the function's program is not known yet, nothing is checked.
        """
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


class _use_trace:  # noqa: N801  (reads as a word: with under(trace))
    """Context manager in which ``trace`` is the current trace."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    def __enter__(self) -> None:
        self.previous = STATE.trace
        STATE.trace = self.trace

    def __exit__(self, *error: object) -> None:
        STATE.trace = self.previous
