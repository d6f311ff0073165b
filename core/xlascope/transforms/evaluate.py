"""Evaluation of a jaxpr: each equation is bound again, under the current trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.atoms import NO_LINE
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, Origin
from ..trace.bind import bind
from ..trace.state import STATE
from ..trace.values import exact_result, literal_operand


def evaluate(program: ClosedJaxpr, *operands: Any) -> list[Any]:
    """Evaluate a program on flat operands, equation by equation under the current trace, and return its results."""
    return evaluate_jaxpr(program.jaxpr, program.consts, operands)


def evaluate_jaxpr(
    jaxpr: Jaxpr, consts: Sequence[Any], operands: Sequence[Any], apply: Callable[..., Sequence[Any]] = bind
) -> list[Any]:
    """Evaluate a jaxpr whose constants are given separately, like :func:`evaluate`, and return its results.

    ``apply(operation, *operands)`` returns the results of an equation. New equations keep the user lines and
    the roles of the old ones.
    """
    values: dict[int, Any] = {id(v): x for v, x in zip(jaxpr.constvars, consts, strict=True)}
    values.update((id(v), x) for v, x in zip(jaxpr.invars, operands, strict=True))
    previous = outside = STATE.origin
    scope = ""
    if outside is not None and outside.lasti == NO_LINE:  # only scopes are open: the lines are those of the equations
        scope, outside = outside.scope, None
    try:
        for operation, inputs, outputs, code, lasti, origin in jaxpr.raw:
            STATE.origin = origin or outside or Origin("forward", None, code, lasti, scope)
            arguments = [literal_operand(x) if x.__class__ is Literal else values[id(x)] for x in inputs]
            results = apply(operation, *arguments)
            for variable, result in zip(outputs, results, strict=True):
                values[id(variable)] = result
    finally:
        STATE.origin = previous
    return [exact_result(x.operand, x.aval) if x.__class__ is Literal else values[id(x)] for x in jaxpr.outvars]
