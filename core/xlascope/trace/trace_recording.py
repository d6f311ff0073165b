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

from ..cache_keys import cache_key
from ..ir.avals import ShapedArray
from ..ir.jaxpr import Literal
from ..lru_cache import FastLRUCache
from ..runtime.boot import enable_x64, in_trace, settings_of_traces, trace_settings
from ..xla.execution.eager import execute
from .jaxpr_trace import JaxprTrace, JaxprTracer
from .op_sequence import OpSequence, build_op_sequence
from .state import STATE
from .values import aval_of, exact_result

Rule = Callable[[Sequence[Any]], Sequence[Any]]
P = TypeVar("P")


class RecordedTrace(NamedTuple):
    """Operations recorded from a rule, for operands of certain types.

    Values are numbered: the operands, the constants, then the results of each operation.
    """

    #: Scalars and markers, and the same with literals in place of scalars, for a trace that records equations.
    constants: tuple[Any, ...]
    literals: tuple[Any, ...]
    steps: OpSequence
    #: For each operation, whether it depends on a marked operand.
    depends_on_marked: tuple[bool, ...]
    #: For each operation, the indices of its operands among the values.
    operand_indices: tuple[tuple[int, ...], ...]
    #: The operands that operations use, in order of use.
    used_operands: tuple[int, ...]
    #: The indices of the results among the values.
    result_indices: tuple[int, ...]


#: The entry for a rule that has to run each time: it makes arrays, or holds programs.
NOT_RECORDABLE: Final = RecordedTrace((), (), build_op_sequence((), 0, range(0), ()), (), (), (), ())


def operand_key(x: Any) -> Any:
    """Return the cache key of an operand: its type; for a scalar also the value; for a marker (``ZERO``) the marker."""
    try:
        aval = x.aval
    except AttributeError:
        if isinstance(x, np.ndarray):
            return aval_of(x)
        return cache_key(x)
    return (cache_key(x.val), aval) if x.__class__ is Literal else aval


#: Whether anything is recorded: XLASCOPE_PLANS=off runs every rule and function each time, to find out whether
#: recording causes a problem.
IS_TRACE_CACHE_ENABLED: Final = os.environ.get("XLASCOPE_PLANS", "") != "off"


def find_trace(traces: FastLRUCache[Any, P], kinds: Iterable[Any]) -> tuple[tuple[Any, ...], P | None]:
    """Return a cache key, and the trace that ``traces`` has for it, or None.

    ``kinds`` are the keys of the operands, to which the key adds the settings that traces depend on.
    """
    key = (enable_x64.value, trace_settings.value and settings_of_traces(), *kinds)
    return key, traces.get(key) or traces.promote(key)


def record_trace(
    traces: FastLRUCache[Any, RecordedTrace], key: Any, rule: Rule, operands: Sequence[Any], marked: Sequence[bool] = ()
) -> RecordedTrace:
    """Run a rule on tracers for ``operands``, store the recorded trace in ``traces`` under ``key``, and return it.

    ``marked`` says for each operand whether the recording has to find out which operations depend on it. The
    result is ``NOT_RECORDABLE`` if the rule has to run each time.
    """
    return traces.insert(key, _run_and_record(rule, operands, marked) if IS_TRACE_CACHE_ENABLED else NOT_RECORDABLE)


def replay_trace(recorded: RecordedTrace, operands: Sequence[Any]) -> list[Any]:
    """Apply the recorded operations to operands under the current trace, or on the device, and return their results."""
    trace = STATE.trace
    if trace is None:
        values = [*operands, *recorded.constants]
        for operation, operands_in, _ in recorded.steps:
            values += execute(operation, operands_in(values))
    else:
        values = [*operands, *(recorded.literals if trace.staging else recorded.constants)]
        trace.emit(recorded.steps, values, recorded.used_operands)
    return [values[i] for i in recorded.result_indices]


def _run_and_record(rule: Rule, operands: Sequence[Any], marked: Sequence[bool]) -> RecordedTrace:
    """Run a rule on tracers and return the recorded operations; ``NOT_RECORDABLE`` if they hold arrays or programs.

    ``marked`` says for each operand whether operations that depend on it are to be marked.
    """
    trace = JaxprTrace(None)
    tracers = [_make_tracer(x, trace) for x in operands]
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
        return NOT_RECORDABLE
    return _build_recorded_trace(trace, tracers, results, marked)


def _make_tracer(x: Any, trace: JaxprTrace) -> Any:
    """Return what a rule is recorded with in place of an operand.

    This is a tracer for an array. A scalar or marker stays, a NumPy scalar with its dtype under the current
    settings.
    """
    kind = operand_key(x)
    if isinstance(kind, ShapedArray):
        return JaxprTracer(kind, trace)
    return x.astype(aval_of(x).dtype) if isinstance(x, np.generic) else x


def _build_recorded_trace(
    trace: JaxprTrace, operands: Sequence[Any], results: Sequence[Any], marked: Sequence[bool]
) -> RecordedTrace:
    """Return the operations of a trace as a recorded trace, with all values numbered.

    ``operands`` and ``results`` are those of the rule; ``marked`` are flags of operands, as for
    :func:`record_trace`.
    """
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
    steps = build_op_sequence(
        [(step[0], slots, tuple(y.aval for y in step[2])) for step, slots in zip(trace.equations, inputs, strict=True)],
        len(operands) + len(literals),
        range(len(operands), len(operands) + len(literals)),
        outputs,
    )
    used = dict.fromkeys(number for slots in inputs for number in slots if number < len(operands))  # in order of use
    plain = tuple(_literal_to_scalar(x) for x in literals)
    return RecordedTrace(
        plain,
        tuple(literals),
        steps,
        _find_marked_dependents(trace, operands, marked),
        inputs,
        tuple(used),
        outputs,
    )


def _find_marked_dependents(trace: JaxprTrace, operands: Sequence[Any], marked: Sequence[bool]) -> tuple[bool, ...]:
    """Return for each operation of a trace whether it depends on an operand whose flag in ``marked`` is True."""
    reached = {id(x) for x, mark in zip(operands, marked, strict=False) if mark}
    flags = []
    for _, inputs, outputs, *_ in trace.equations:
        flags.append(any(id(x) in reached for x in inputs))
        if flags[-1]:
            reached.update(map(id, outputs))
    return tuple(flags)


def _literal_to_scalar(x: Any) -> Any:
    """Return the scalar of a literal, a Python number if it is weakly typed; other values are returned as they are.

    A scalar that would be narrowed is an array.
    """
    return exact_result(x.operand, x.aval) if x.__class__ is Literal else x
