"""Linearization rules recorded once per kind of operands, each applied as one pushforward.

A ``jvp`` rule applied to a tangent that is being recorded comes to two lists of operations: those outside,
which give the results and the residuals, and those inside, which are linear in the tangents. The forward pass
runs only the operations outside and stores all operations inside as one :class:`Pushforward`. The backward
pass runs its pullback, which is recorded once as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from ..ir.avals import ShapedArray
from ..ir.jaxpr import Origin
from ..ir.operation import Operation
from ..lru_cache import FastLRUCache
from ..runtime.boot import enable_x64, settings_of_traces, trace_settings
from ..trace.op_sequence import OperandGetter, OpSequence, OpStep, build_op_sequence, make_getter
from ..trace.trace_recording import NOT_RECORDABLE, RecordedTrace, record_trace
from ..xla.execution.eager import execute
from .linear_trace import LinearTrace, LinearTracer, Pushforward

#: Source of a result's tangent: its index among the new tangents, else among residuals and operands' tangents.
TangentSource = tuple[int | None, int]


class RecordedPushforward(NamedTuple):
    """Recorded ``jvp`` rule, split into its nonlinear operations (outside) and its linear ones (inside).

    Outside, the values are numbered: the operands, the constants, then the results of each operation; inside:
    the residuals, the operands' tangents, then the results of each operation.
    """

    constants: tuple[Any, ...]
    literals: tuple[Any, ...]
    outside: OpSequence
    used: tuple[int, ...]
    #: Pick the operation's results, the residuals, and the operands' tangents from the values outside.
    results: OperandGetter
    residuals: OperandGetter
    tangents: OperandGetter
    inside: tuple[OpStep, ...]
    tangent_sources: tuple[TangentSource, ...]
    #: Whether the results' tangents are just the new tangents, in order.
    has_only_new_tangents: bool
    #: The types of the new tangents among the results; and for each value computed inside, its index among these.
    new_tangent_types: tuple[ShapedArray, ...]
    made: tuple[int | None, ...]
    #: Recorded pullbacks by the kinds of cotangents.
    pullbacks: FastLRUCache[Any, Any]


#: Entries for operands that occurred once, and for those whose rule has to run.
_EMPTY_GETTER = make_getter(())
_SEEN_ONCE: Final = RecordedPushforward(
    (), (), NOT_RECORDABLE.steps, (), _EMPTY_GETTER, _EMPTY_GETTER, _EMPTY_GETTER, (), (), True, (), (), FastLRUCache(1)
)
_NOT_RECORDABLE: Final = _SEEN_ONCE._replace(made=(None,))
_new_tracer: Callable[[type[LinearTracer]], LinearTracer] = object.__new__
#: Generation size of the cache of pullbacks of a pushforward.
_PULLBACKS_GENERATION_SIZE = 16


def push_forward(
    operation: Operation,
    kinds: Sequence[Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    recorder: LinearTrace,
    origin: Origin,
) -> tuple[Sequence[Any], Sequence[Any]] | None:
    """Return the results of an operation and their tangents by its recorded rule; None where the rule has to run.

    ``kinds`` is the part of the cache key for each operand and its tangent. The linear operations are added
    to ``recorder`` as one pushforward with that origin.
    """
    cache = operation.pushforward_cache
    key = (enable_x64.value, trace_settings.value and settings_of_traces(), *kinds)  # inlined find_trace key
    rule = cache.get(key) or cache.promote(key)
    if rule is None:
        cache.insert(key, _SEEN_ONCE)
        return None
    if rule is _SEEN_ONCE:
        rule = cache[key] = _record_pushforward(operation, primals, tangents, recorder)
    if rule is _NOT_RECORDABLE:
        return None
    values = [*primals, *tangents, *(rule.literals if recorder.staging else rule.constants)]
    parent = recorder.parent
    if parent is not None:
        parent.emit_at(rule.outside, values, rule.used, origin.code, origin.lasti, origin)
    else:
        emit_or_run(None, rule.outside, values, rule.used, origin)
    results, residuals, tangents = rule.results(values), rule.residuals(values), rule.tangents(values)
    fresh = []
    for aval in rule.new_tangent_types:
        tangent = _new_tracer(LinearTracer)
        tangent.aval = aval
        tangent._trace = recorder
        fresh.append(tangent)
    if fresh:
        recorder.recorded.append(Pushforward(rule, residuals, tangents, fresh, origin, innermost_primal(results[0])))
    if rule.has_only_new_tangents:
        return results, fresh
    linear_inputs = [*residuals, *tangents]
    return results, [fresh[new] if new is not None else linear_inputs[old] for new, old in rule.tangent_sources]


def emit_or_run(parent: Any, steps: OpSequence, values: list[Any], used: Sequence[int], origin: Origin) -> None:
    """Apply the operations of a sequence and append their results to ``values``.

    They are emitted into ``parent``, the enclosing trace, with that origin; if it is None, they run on the
    device. ``used`` are the indices of the inputs that operations use.
    """
    if parent is not None:
        parent.emit_at(steps, values, used, origin.code, origin.lasti, origin)
    else:
        for operation, operands_in, _ in steps:
            values += execute(operation, operands_in(values))


def innermost_primal(value: Any) -> Any:
    """Return the primal value inside a tracer of differentiation, however deeply nested; any other value unchanged."""
    while hasattr(value, "innermost"):
        value = value.innermost()
    return value


def _record_pushforward(
    operation: Operation, primals: Sequence[Any], tangents: Sequence[Any], recorder: LinearTrace
) -> RecordedPushforward:
    """Run the ``jvp`` rule of an operation on tracers and return its operations, split by linearity.

    The result is ``_NOT_RECORDABLE`` if the rule has to run each time.
    """
    count = len(primals)
    values = [*primals, *tangents]

    def rule(tracers: Sequence[Any]) -> list[Any]:
        results, out_tangents = operation.jvp(tracers[:count], tracers[count:])
        return [*results, *out_tangents]

    marks = [x.__class__ is LinearTracer and x._trace is recorder for x in values]
    recorded = record_trace(FastLRUCache(1), None, rule, values, marks)
    return _NOT_RECORDABLE if recorded is NOT_RECORDABLE else _split_by_linearity(recorded, marks)


def _split_by_linearity(rule: RecordedTrace, marks: Sequence[bool]) -> RecordedPushforward:
    """Split a recorded ``jvp`` rule into the nonlinear operations (outside) and the linear ones (inside).

    ``marks`` says for each of the primals and tangents that the rule takes whether it is a tangent.
    """
    start = len(marks) + len(rule.constants)
    outer = {i: i for i in range(start)}  # index of a value among those outside
    inner: dict[int, int] = {}  # index of a value among those computed inside
    types: list[ShapedArray] = []
    number = start
    for (_, _, avals), moving in zip(rule.steps, rule.depends_on_marked, strict=True):
        for aval in avals:
            if moving:
                inner[number] = len(inner)
                types.append(aval)
            else:
                outer[number] = number - len(inner)
            number += 1
    tangents = [i for i, mark in enumerate(marks) if mark]
    half = len(rule.result_indices) // 2
    used_inside = [p for p, moving in zip(rule.operand_indices, rule.depends_on_marked, strict=True) if moving] + [
        rule.result_indices[half:]
    ]
    residuals = sorted({i for places in used_inside for i in places if i not in inner and i not in tangents})
    inner_positions = {i: position for position, i in enumerate([*residuals, *tangents])}
    first = len(inner_positions)
    inner_positions.update((i, first + position) for i, position in inner.items())
    new = list(dict.fromkeys(i for i in rule.result_indices[half:] if i in inner))
    steps = list(zip(rule.steps, rule.operand_indices, rule.depends_on_marked, strict=True))
    outputs = [outer[i] for i in rule.result_indices[:half]]
    residual_positions = [outer[i] for i in residuals]
    return RecordedPushforward(
        rule.constants,
        rule.literals,
        build_op_sequence(
            [(s[0], [outer[i] for i in p], s[2]) for s, p, moving in steps if not moving],
            start,
            range(len(marks), start),
            [*outputs, *residual_positions],
        ),
        tuple(i for i in rule.used_operands if not marks[i]),
        make_getter(outputs),
        make_getter(residual_positions),
        make_getter(tangents),
        tuple((s[0], make_getter([inner_positions[i] for i in p]), s[2]) for s, p, moving in steps if moving),
        tuple((new.index(i), 0) if i in inner else (None, inner_positions[i]) for i in rule.result_indices[half:]),
        new == list(rule.result_indices[half:]),
        tuple(types[inner[i]] for i in new),
        tuple(new.index(i) if i in new else None for i in inner),
        FastLRUCache(_PULLBACKS_GENERATION_SIZE),
    )
