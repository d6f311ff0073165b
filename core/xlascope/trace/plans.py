"""What a rule does to operands of certain types, worked out once: the operations that it applies, to be applied again.

The rules of an operation see types and no values, so what they do follows from the types of their operands. The first
time a rule runs on tracers and its steps are written down; from then on only the steps are taken. Rules may be written
for people: nobody pays for their loops and checks twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from ..ir.avals import ShapedArray
from ..ir.jaxpr import Literal
from ..keys import key_of
from ..recent import Recent
from ..runtime.boot import enable_x64, in_trace, settings_of_traces, trace_settings
from ..xla.running.eager import run
from .jaxpr_trace import JaxprTrace, JaxprTracer
from .state import STATE
from .steps import Steps, steps_of
from .values import aval_of

Rule = Callable[[Sequence[Any]], Sequence[Any]]
P = TypeVar("P")


class Plan(NamedTuple):
    """Steps to take. Values are counted: the operands, the constants, then what each step gives."""

    #: Scalars and marks, and the same with literals in place of scalars, for a trace that records equations.
    constants: tuple[Any, ...]
    literals: tuple[Any, ...]
    steps: Steps
    #: Which steps depend on an operand that was marked.
    moving: tuple[bool, ...]
    #: Which values each step is applied to.
    places: tuple[tuple[int, ...], ...]
    #: Which of the operands steps are applied to.
    used: tuple[int, ...]
    #: Which values are the results.
    results: tuple[int, ...]


#: Of a rule whose steps cannot be taken without it: it makes arrays, or holds programs.
NO_PLAN: Final = Plan((), (), steps_of((), 0, range(0), ()), (), (), (), ())


def kind_of(x: Any) -> Any:
    """What a plan depends on of one operand: its type; of a scalar the value as well; a mark (ZERO) is one itself."""
    try:
        aval = x.aval
    except AttributeError:
        if isinstance(x, np.ndarray):
            return aval_of(x)
        return key_of(x)
    return (key_of(x.val), aval) if x.__class__ is Literal else aval


#: Whether plans are made at all: XLASCOPE_PLANS=off runs every rule and function each time, to find out whether a plan
#: is at fault.
ENABLED: Final = os.environ.get("XLASCOPE_PLANS", "") != "off"


def found_plan(plans: Recent[Any, P], kinds: Iterable[Any]) -> tuple[tuple[Any, ...], P | None]:
    """Return the key of a plan, and the plan if there is one."""
    key = (enable_x64.value, trace_settings.value and settings_of_traces(), *kinds)
    return key, plans.get(key) or plans.again(key)


def work_out(
    plans: Recent[Any, Plan], key: Any, rule: Rule, operands: Sequence[Any], marked: Sequence[bool] = ()
) -> Plan:
    """The plan of a rule for operands of such kinds, kept under the key; ``NO_PLAN`` where it has to run each time."""
    return plans.keep(key, _plan(rule, operands, marked) if ENABLED else NO_PLAN)


def follow(plan: Plan, operands: Sequence[Any]) -> list[Any]:
    """What the rule gives for operands, by its plan, under the current trace."""
    trace = STATE.trace
    if trace is None:
        values = [*operands, *plan.constants]
        for operation, operands_in, _ in plan.steps:
            values += run(operation, operands_in(values))
    else:
        values = [*operands, *(plan.literals if trace.staging else plan.constants)]
        trace.take(plan.steps, values, plan.used)
    return [values[i] for i in plan.results]


def _plan(rule: Rule, operands: Sequence[Any], marked: Sequence[bool]) -> Plan:
    """The steps that a rule takes."""
    trace = JaxprTrace(None)
    given = [_given(x, trace) for x in operands]
    before = STATE.trace, STATE.origin, in_trace.value
    try:
        STATE.trace, STATE.origin = trace, None
        in_trace.set_local(True)
        results = list(rule(given))
    finally:
        STATE.trace, STATE.origin = before[:2]
        in_trace.set_local(before[2])
        trace.alive = False
    if trace.consts or any(step[0].composite for step in trace.equations):
        return NO_PLAN
    return _written(trace, given, results, marked)


def _given(x: Any, trace: JaxprTrace) -> Any:
    """An operand for a rule that is worked out: a tracer for an array, scalars with the dtype that they have here."""
    kind = kind_of(x)
    if isinstance(kind, ShapedArray):
        return JaxprTracer(kind, trace)
    return x.astype(aval_of(x).dtype) if isinstance(x, np.generic) else x


def _written(trace: JaxprTrace, given: Sequence[Any], results: Sequence[Any], marked: Sequence[bool]) -> Plan:
    places = {id(x): i for i, x in enumerate(given)}
    literals: list[Any] = []

    def place(x: Any) -> int:
        found = places.get(id(x))
        if found is None:
            found = places[id(x)] = len(given) + len(literals)
            literals.append(x)
        return found

    made = {id(y) for step in trace.equations for y in step[2]}
    for x in (x for inputs in [*(step[1] for step in trace.equations), results] for x in inputs):
        if id(x) not in made:
            place(x)
    results_of_steps = (y for step in trace.equations for y in step[2])
    places.update((id(y), i) for i, y in enumerate(results_of_steps, len(given) + len(literals)))
    inputs = tuple(tuple(places[id(x)] for x in step[1]) for step in trace.equations)
    outputs = tuple(places[id(x)] for x in results)
    steps = steps_of(
        [(step[0], mine, tuple(y.aval for y in step[2])) for step, mine in zip(trace.equations, inputs, strict=True)],
        len(given) + len(literals),
        range(len(given), len(given) + len(literals)),
        outputs,
    )
    used = dict.fromkeys(place for mine in inputs for place in mine if place < len(given))  # in the order of their use
    plain = tuple(_plain(x) for x in literals)
    return Plan(
        plain,
        tuple(literals),
        steps,
        _reached(trace, given, marked),
        inputs,
        tuple(used),
        outputs,
    )


def _reached(trace: JaxprTrace, given: Sequence[Any], marked: Sequence[bool]) -> tuple[bool, ...]:
    """Which steps depend on a marked operand."""
    reached = {id(x) for x, mark in zip(given, marked, strict=False) if mark}
    found = []
    for _, inputs, outputs, *_ in trace.equations:
        found.append(any(id(x) in reached for x in inputs))
        if found[-1]:
            reached.update(map(id, outputs))
    return tuple(found)


def _plain(x: Any) -> Any:
    """A literal as the scalar that it stands for; a weak one as a Python scalar."""
    if x.__class__ is not Literal:
        return x
    return x.val.item() if x.aval.weak_type and isinstance(x.val, np.generic) else x.val
