"""What an operation does to values and to tangents, worked out once and recorded as one pushforward.

A ``jvp`` rule applied to a tangent that is being recorded comes to two lists of steps: those outside, which give the
results and the residuals, and those inside, which are linear in the tangents. Going forward only the steps outside are
taken, and the pushforward is remembered whole. Going backward its pullback is taken, which was worked out once as well.
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

#: Of a result's tangent: which of the new ones it is, else which of the residuals and the operands' tangents.
Moved = tuple[int | None, int]


class PushforwardPlan(NamedTuple):
    """The two lists of steps. Outside, the operands are counted, the constants, then what each step gives; inside, the
    residuals, the operands' tangents, then what each step gives.
    """

    constants: tuple[Any, ...]
    literals: tuple[Any, ...]
    outside: Steps
    used: tuple[int, ...]
    #: What gives the operation's results, the residuals, and the operands' tangents, from the values outside.
    results: Getter
    residuals: Getter
    tangents: Getter
    inside: tuple[Step, ...]
    moved: tuple[Moved, ...]
    #: Whether these are the new ones, in order.
    all_new: bool
    #: The types of the new tangents among the results; and for each value that a step inside gives, which it is.
    types: tuple[ShapedArray, ...]
    made: tuple[int | None, ...]
    #: What takes cotangents back, by their kinds.
    pullbacks: Recent[Any, Any]


#: Of operands that were met once; and of those whose rule has to run.
_NOTHING = taken_from(())
_ONCE: Final = PushforwardPlan((), (), NO_PLAN.steps, (), _NOTHING, _NOTHING, _NOTHING, (), (), True, (), (), Recent(1))
_NEVER: Final = _ONCE._replace(made=(None,))
_new: Callable[[type[LinearTracer]], LinearTracer] = object.__new__
#: Pullbacks that one pushforward keeps.
_MOST = 16


def push(
    operation: Operation,
    kinds: Sequence[Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    recorder: LinearTrace,
    origin: Origin,
) -> tuple[Sequence[Any], Sequence[Any]] | None:
    """The results of an operation and their tangents, by plan; None where its rule has to run.

    ``kinds`` is what the plan depends on of each operand and its tangent.
    """
    plans = operation.pushforward_plans
    key = (enable_x64.value, trace_settings.value and settings_of_traces(), *kinds)  # as in without a call
    plan = plans.get(key) or plans.again(key)
    if plan is None:
        plans.keep(key, _ONCE)
        return None
    if plan is _ONCE:
        plan = plans[key] = _worked_out(operation, primals, tangents, recorder)
    if plan is _NEVER:
        return None
    values = [*primals, *tangents, *(plan.literals if recorder.staging else plan.constants)]
    parent = recorder.parent
    if parent is not None:
        parent.take_from(plan.outside, values, plan.used, origin.code, origin.lasti, origin)
    else:
        take_from(None, plan.outside, values, plan.used, origin)
    results, residuals, tangents = plan.results(values), plan.residuals(values), plan.tangents(values)
    made = []
    for aval in plan.types:
        tangent = _new(LinearTracer)
        tangent.aval = aval
        tangent._trace = recorder
        made.append(tangent)
    if made:
        recorder.recorded.append(Pushforward(plan, residuals, tangents, made, origin, innermost(results[0])))
    if plan.all_new:
        return results, made
    known = [*residuals, *tangents]
    return results, [made[new] if new is not None else known[old] for new, old in plan.moved]


def take_from(parent: Any, steps: Steps, values: list[Any], used: Sequence[int], origin: Origin) -> None:
    """Apply operations outside, as equations from that origin."""
    if parent is not None:
        parent.take_from(steps, values, used, origin.code, origin.lasti, origin)
    else:
        for operation, operands_in, _ in steps:
            values += run(operation, operands_in(values))


def innermost(value: Any) -> Any:
    """The value at the bottom of nested differentiation."""
    while hasattr(value, "innermost"):
        value = value.innermost()
    return value


def _worked_out(
    operation: Operation, primals: Sequence[Any], tangents: Sequence[Any], recorder: LinearTrace
) -> PushforwardPlan:
    count = len(primals)
    values = [*primals, *tangents]

    def rule(given: Sequence[Any]) -> list[Any]:
        results, moved = operation.jvp(given[:count], given[count:])
        return [*results, *moved]

    marks = [x.__class__ is LinearTracer and x._trace is recorder for x in values]
    plan = work_out(Recent(1), None, rule, values, marks)
    return _NEVER if plan is NO_PLAN else _divided(plan, marks)


def _divided(plan: Plan, marks: Sequence[bool]) -> PushforwardPlan:
    """A plan of results and tangents, as the steps outside and those inside."""
    start = len(marks) + len(plan.constants)
    outer = {i: i for i in range(start)}  # where a value stands outside
    inner: dict[int, int] = {}  # the values that steps inside give, in order
    types: list[ShapedArray] = []
    number = start
    for (_, _, avals), moving in zip(plan.steps, plan.moving, strict=True):
        for aval in avals:
            if moving:
                inner[number] = len(inner)
                types.append(aval)
            else:
                outer[number] = number - len(inner)
            number += 1
    tangents = [i for i, mark in enumerate(marks) if mark]
    half = len(plan.results) // 2
    wanted = [p for p, moving in zip(plan.places, plan.moving, strict=True) if moving] + [plan.results[half:]]
    residuals = sorted({i for places in wanted for i in places if i not in inner and i not in tangents})
    known = {i: place for place, i in enumerate([*residuals, *tangents])}
    first = len(known)
    known.update((i, first + place) for i, place in inner.items())
    new = list(dict.fromkeys(i for i in plan.results[half:] if i in inner))
    steps = list(zip(plan.steps, plan.places, plan.moving, strict=True))
    outputs = [outer[i] for i in plan.results[:half]]
    kept = [outer[i] for i in residuals]
    return PushforwardPlan(
        plan.constants,
        plan.literals,
        steps_of(
            [(s[0], [outer[i] for i in p], s[2]) for s, p, moving in steps if not moving],
            start,
            range(len(marks), start),
            [*outputs, *kept],
        ),
        tuple(i for i in plan.used if not marks[i]),
        taken_from(outputs),
        taken_from(kept),
        taken_from(tangents),
        tuple((s[0], taken_from([known[i] for i in p]), s[2]) for s, p, moving in steps if moving),
        tuple((new.index(i), 0) if i in inner else (None, known[i]) for i in plan.results[half:]),
        new == list(plan.results[half:]),
        tuple(types[inner[i]] for i in new),
        tuple(new.index(i) if i in new else None for i in inner),
        Recent(_MOST),
    )
