"""Linearization rules recorded once per kind of operands, each applied as one pushforward.

A ``jvp`` rule applied to a tangent that is being recorded comes to two lists of operations: those outside,
which give the results and the residuals, and those inside, which are linear in the tangents. The forward pass
runs only the operations outside and stores the pushforward as a whole. The backward pass runs its pullback,
which is recorded once as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from ..ir.avals import ShapedArray
from ..ir.jaxpr import Origin
from ..ir.operation import Operation
from ..recent import Recent
from ..runtime.boot import enable_x64, settings_of_traces, trace_settings
from ..trace.plans import NO_PLAN, Plan, work_out
from ..trace.steps import Getter, Step, Steps, steps_of, taken_from
from ..xla.running.eager import run
from .recording import LinearTrace, LinearTracer, Pushforward

#: Source of a result's tangent: its index among the new tangents, else among residuals and operands' tangents.
Moved = tuple[int | None, int]


class PushforwardPlan(NamedTuple):
    """Nonlinear (outside) and linear (inside) operations of a recorded rule.

    Outside, the values are numbered: the operands, the constants, then the results of each operation; inside: the
    residuals, the operands' tangents, then the results of each operation.
    """

    constants: tuple[Any, ...]
    literals: tuple[Any, ...]
    outside: Steps
    used: tuple[int, ...]
    #: Pick the operation's results, the residuals, and the operands' tangents from the values outside.
    results: Getter
    residuals: Getter
    tangents: Getter
    inside: tuple[Step, ...]
    moved: tuple[Moved, ...]
    #: Whether the results' tangents are just the new tangents, in order.
    all_new: bool
    #: The types of the new tangents among the results; and for each value computed inside, its index among these.
    types: tuple[ShapedArray, ...]
    made: tuple[int | None, ...]
    #: Recorded pullbacks by the kinds of cotangents.
    pullbacks: Recent[Any, Any]


#: Entries for operands that occurred once, and for those whose rule has to run.
_NOTHING = taken_from(())
_ONCE: Final = PushforwardPlan((), (), NO_PLAN.steps, (), _NOTHING, _NOTHING, _NOTHING, (), (), True, (), (), Recent(1))
_NEVER: Final = _ONCE._replace(made=(None,))
_new: Callable[[type[LinearTracer]], LinearTracer] = object.__new__
#: Generation size of the cache of pullbacks of a pushforward.
_MOST = 16


def push(
    operation: Operation,
    kinds: Sequence[Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    recorder: LinearTrace,
    origin: Origin,
) -> tuple[Sequence[Any], Sequence[Any]] | None:
    """Return the results of an operation and their tangents by its recorded rule; None where the rule has to run.

    ``kinds`` is the part of the cache key for each operand and its tangent.
    """
    cache = operation.pushforward_plans
    key = (enable_x64.value, trace_settings.value and settings_of_traces(), *kinds)  # inlined find_trace key
    rule = cache.get(key) or cache.again(key)
    if rule is None:
        cache.keep(key, _ONCE)
        return None
    if rule is _ONCE:
        rule = cache[key] = _worked_out(operation, primals, tangents, recorder)
    if rule is _NEVER:
        return None
    values = [*primals, *tangents, *(rule.literals if recorder.staging else rule.constants)]
    parent = recorder.parent
    if parent is not None:
        parent.take_from(rule.outside, values, rule.used, origin.code, origin.lasti, origin)
    else:
        take_from(None, rule.outside, values, rule.used, origin)
    results, residuals, tangents = rule.results(values), rule.residuals(values), rule.tangents(values)
    fresh = []
    for aval in rule.types:
        tangent = _new(LinearTracer)
        tangent.aval = aval
        tangent._trace = recorder
        fresh.append(tangent)
    if fresh:
        recorder.recorded.append(Pushforward(rule, residuals, tangents, fresh, origin, innermost(results[0])))
    if rule.all_new:
        return results, fresh
    linear_inputs = [*residuals, *tangents]
    return results, [fresh[new] if new is not None else linear_inputs[old] for new, old in rule.moved]


def take_from(parent: Any, steps: Steps, values: list[Any], used: Sequence[int], origin: Origin) -> None:
    """Emit operations into the enclosing trace with that origin, or run them where there is none."""
    if parent is not None:
        parent.take_from(steps, values, used, origin.code, origin.lasti, origin)
    else:
        for operation, operands_in, _ in steps:
            values += run(operation, operands_in(values))


def innermost(value: Any) -> Any:
    """Return the primal value at the bottom of nested differentiation."""
    while hasattr(value, "innermost"):
        value = value.innermost()
    return value


def _worked_out(
    operation: Operation, primals: Sequence[Any], tangents: Sequence[Any], recorder: LinearTrace
) -> PushforwardPlan:
    count = len(primals)
    values = [*primals, *tangents]

    def rule(tracers: Sequence[Any]) -> list[Any]:
        results, out_tangents = operation.jvp(tracers[:count], tracers[count:])
        return [*results, *out_tangents]

    marks = [x.__class__ is LinearTracer and x._trace is recorder for x in values]
    recorded = work_out(Recent(1), None, rule, values, marks)
    return _NEVER if recorded is NO_PLAN else _divided(recorded, marks)


def _divided(rule: Plan, marks: Sequence[bool]) -> PushforwardPlan:
    """Split a recorded jvp rule into the operations outside and those inside."""
    start = len(marks) + len(rule.constants)
    outer = {i: i for i in range(start)}  # index of a value among those outside
    inner: dict[int, int] = {}  # index of a value among those computed inside
    types: list[ShapedArray] = []
    number = start
    for (_, _, avals), moving in zip(rule.steps, rule.moving, strict=True):
        for aval in avals:
            if moving:
                inner[number] = len(inner)
                types.append(aval)
            else:
                outer[number] = number - len(inner)
            number += 1
    tangents = [i for i, mark in enumerate(marks) if mark]
    half = len(rule.results) // 2
    wanted = [p for p, moving in zip(rule.places, rule.moving, strict=True) if moving] + [rule.results[half:]]
    residuals = sorted({i for places in wanted for i in places if i not in inner and i not in tangents})
    inner_positions = {i: position for position, i in enumerate([*residuals, *tangents])}
    first = len(inner_positions)
    inner_positions.update((i, first + position) for i, position in inner.items())
    new = list(dict.fromkeys(i for i in rule.results[half:] if i in inner))
    steps = list(zip(rule.steps, rule.places, rule.moving, strict=True))
    outputs = [outer[i] for i in rule.results[:half]]
    residual_positions = [outer[i] for i in residuals]
    return PushforwardPlan(
        rule.constants,
        rule.literals,
        steps_of(
            [(s[0], [outer[i] for i in p], s[2]) for s, p, moving in steps if not moving],
            start,
            range(len(marks), start),
            [*outputs, *residual_positions],
        ),
        tuple(i for i in rule.used if not marks[i]),
        taken_from(outputs),
        taken_from(residual_positions),
        taken_from(tangents),
        tuple((s[0], taken_from([inner_positions[i] for i in p]), s[2]) for s, p, moving in steps if moving),
        tuple((new.index(i), 0) if i in inner else (None, inner_positions[i]) for i in rule.results[half:]),
        new == list(rule.results[half:]),
        tuple(types[inner[i]] for i in new),
        tuple(new.index(i) if i in new else None for i in inner),
        Recent(_MOST),
    )
