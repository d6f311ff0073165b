"""Recording of rules as sequences of operations, which are replayed for operands of the same types.

The rules of an operation see types and no values, so what they do follows from the types of their operands.
The first time a rule runs on tracers and its operations are recorded; from then on only these are replayed.
Rules can be written for readability: their loops and checks run once.
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
    """Operations recorded from a rule.

    Values are numbered: the operands, the constants, then the results of each operation.
    """

    #: Scalars and markers, and the same with literals in place of scalars, for a trace that records equations.
    constants: tuple[Any, ...]
    literals: tuple[Any, ...]
    steps: Steps
    #: For each operation, whether it depends on a marked operand.
    moving: tuple[bool, ...]
    #: For each operation, the indices of its operands among the values.
    places: tuple[tuple[int, ...], ...]
    #: The operands that operations use, in order of use.
    used: tuple[int, ...]
    #: The indices of the results among the values.
    results: tuple[int, ...]


#: The entry for a rule that has to run each time: it makes arrays, or holds programs.
NO_PLAN: Final = Plan((), (), steps_of((), 0, range(0), ()), (), (), (), ())


def kind_of(x: Any) -> Any:
    """Return the cache key of one operand: its type, for a scalar also the value, for a marker (ZERO) itself."""
    try:
        aval = x.aval
    except AttributeError:
        if isinstance(x, np.ndarray):
            return aval_of(x)
        return key_of(x)
    return (key_of(x.val), aval) if x.__class__ is Literal else aval


#: Whether anything is recorded: XLASCOPE_PLANS=off runs every rule and function each time, to find out whether
#: recording causes a problem.
ENABLED: Final = os.environ.get("XLASCOPE_PLANS", "") != "off"


def found_plan(traces: Recent[Any, P], kinds: Iterable[Any]) -> tuple[tuple[Any, ...], P | None]:
    """Return the cache key for kinds of operands, and the recorded trace if there is one."""
    key = (enable_x64.value, trace_settings.value and settings_of_traces(), *kinds)
    return key, traces.get(key) or traces.again(key)


def work_out(
    traces: Recent[Any, Plan], key: Any, rule: Rule, operands: Sequence[Any], marked: Sequence[bool] = ()
) -> Plan:
    """Record a rule for operands of these kinds and cache it under the key; ``NOT_RECORDABLE`` if it must run."""
    return traces.keep(key, _plan(rule, operands, marked) if ENABLED else NO_PLAN)


def follow(recorded: Plan, operands: Sequence[Any]) -> list[Any]:
    """Apply a recorded rule to operands under the current trace, and return its results."""
    trace = STATE.trace
    if trace is None:
        values = [*operands, *recorded.constants]
        for operation, operands_in, _ in recorded.steps:
            values += run(operation, operands_in(values))
    else:
        values = [*operands, *(recorded.literals if trace.staging else recorded.constants)]
        trace.take(recorded.steps, values, recorded.used)
    return [values[i] for i in recorded.results]


def _plan(rule: Rule, operands: Sequence[Any], marked: Sequence[bool]) -> Plan:
    """Run a rule on tracers and return the recorded operations."""
    trace = JaxprTrace(None)
    tracers = [_given(x, trace) for x in operands]
    before = STATE.trace, STATE.origin, in_trace.value
    try:
        STATE.trace, STATE.origin = trace, None
        in_trace.set_local(True)
        results = list(rule(tracers))
    finally:
        STATE.trace, STATE.origin = before[:2]
        in_trace.set_local(before[2])
        trace.alive = False
    if trace.consts or any(step[0].composite for step in trace.equations):
        return NO_PLAN
    return _written(trace, tracers, results, marked)


def _given(x: Any, trace: JaxprTrace) -> Any:
    """Return an operand for recording: a tracer for an array, a scalar with its dtype under the current settings."""
    kind = kind_of(x)
    if isinstance(kind, ShapedArray):
        return JaxprTracer(kind, trace)
    return x.astype(aval_of(x).dtype) if isinstance(x, np.generic) else x


def _written(trace: JaxprTrace, operands: Sequence[Any], results: Sequence[Any], marked: Sequence[bool]) -> Plan:
    numbers = {id(x): i for i, x in enumerate(operands)}
    literals: list[Any] = []

    def number(x: Any) -> int:
        index = numbers.get(id(x))
        if index is None:
            index = numbers[id(x)] = len(operands) + len(literals)
            literals.append(x)
        return index

    produced = {id(y) for step in trace.equations for y in step[2]}
    for x in (x for inputs in [*(step[1] for step in trace.equations), results] for x in inputs):
        if id(x) not in produced:
            number(x)
    results_of_steps = (y for step in trace.equations for y in step[2])
    numbers.update((id(y), i) for i, y in enumerate(results_of_steps, len(operands) + len(literals)))
    inputs = tuple(tuple(numbers[id(x)] for x in step[1]) for step in trace.equations)
    outputs = tuple(numbers[id(x)] for x in results)
    steps = steps_of(
        [(step[0], slots, tuple(y.aval for y in step[2])) for step, slots in zip(trace.equations, inputs, strict=True)],
        len(operands) + len(literals),
        range(len(operands), len(operands) + len(literals)),
        outputs,
    )
    used = dict.fromkeys(number for slots in inputs for number in slots if number < len(operands))  # in order of use
    plain = tuple(_plain(x) for x in literals)
    return Plan(
        plain,
        tuple(literals),
        steps,
        _reached(trace, operands, marked),
        inputs,
        tuple(used),
        outputs,
    )


def _reached(trace: JaxprTrace, operands: Sequence[Any], marked: Sequence[bool]) -> tuple[bool, ...]:
    """Return for each operation whether it depends on a marked operand."""
    reached = {id(x) for x, mark in zip(operands, marked, strict=False) if mark}
    flags = []
    for _, inputs, outputs, *_ in trace.equations:
        flags.append(any(id(x) in reached for x in inputs))
        if flags[-1]:
            reached.update(map(id, outputs))
    return tuple(flags)


def _plain(x: Any) -> Any:
    """Return the scalar that a literal stands for; a Python scalar for a weakly typed one."""
    if x.__class__ is not Literal:
        return x
    return x.val.item() if x.aval.weak_type and isinstance(x.val, np.generic) else x.val
