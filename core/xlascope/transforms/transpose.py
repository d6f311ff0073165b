"""Backward: a linear program run from its results to its operands, cotangents added up where values were used twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import ShardingTypeError
from ..ir.atoms import origin_of
from ..ir.jaxpr import ClosedJaxpr, Origin
from ..ir.markers import ZERO, LinearInput, linear_input
from ..ir.operation import Operation
from ..operations.sharding_constraints import left_to_xla, lying_as
from ..operations.sums import ADD_ANY
from ..recent import Recent
from ..trace.bind import bind1
from ..trace.planned import ARRAYS
from ..trace.plans import NO_PLAN, Plan, follow, found_plan, kind_of, work_out
from ..trace.state import STATE
from ..trace.steps import Steps, steps_of
from .differentiate import instantiated
from .evaluate import evaluate
from .pushforwards import take_from
from .recording import LinearTrace, LinearTracer, Pushforward
from .staging import stage_held

Arrive = Callable[[Any, Any], None]


def backward(
    recorder: LinearTrace, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]
) -> list[Any]:
    """Cotangents of ``inputs`` (ZERO where none arrives) for cotangents of ``outputs`` of a recording."""
    arrived: dict[int, Any] = {}

    def arrive(x: Any, cotangent: Any) -> None:
        if x.aval.explicit is not getattr(cotangent, "aval", x.aval).explicit:
            cotangent = lying_as(x.aval, cotangent)
        old = arrived.get(id(x))
        arrived[id(x)] = cotangent if old is None else bind1(ADD_ANY, old, cotangent)

    for tracer, cotangent in zip(outputs, cotangents, strict=True):
        if tracer is not ZERO and cotangent is not ZERO:
            arrive(tracer, cotangent)
    pull_back(recorder, arrived, arrive)
    return [ZERO if x is ZERO else arrived.get(id(x), ZERO) for x in inputs]


def pull_back(recorder: LinearTrace, arrived: dict[int, Any], arrive: Arrive) -> None:
    """Take the cotangents that arrived at results of recorded equations to operands, from the last to the first."""
    previous = STATE.origin
    forwards = recorder.forward_of()
    try:
        for index in range(len(recorder.recorded) - 1, -1, -1):
            recorded = recorder.recorded[index]
            if recorded.__class__ is Pushforward:
                _through_pushforward(recorder, recorded, arrived, arrive)
            else:
                _through_equation(recorder, recorded, forwards[index], arrived, arrive)
    finally:
        STATE.origin = previous


def _through_equation(
    recorder: LinearTrace, equation: Any, forward: Any, arrived: dict[int, Any], arrive: Arrive
) -> None:
    operation, operands, results, code, lasti, origin = equation
    if len(results) == 1:
        received = [arrived.pop(id(results[0]), ZERO)]
        if received[0] is ZERO:
            return
    else:
        received = [arrived.pop(id(r), ZERO) for r in results]
        if all(ct is ZERO for ct in received):
            return
    if origin is not None and origin.forward is not None:
        forward = origin.forward
    STATE.origin = origin_of("backward", forward, code, lasti, "" if origin is None else origin.scope)
    try:
        if operation.planned:
            moving, found = _planned(recorder, operation, operands, received)
        else:
            moving, found = operands, operation.transpose_rule(received, _marked(recorder, operands))
    except ShardingTypeError:  # how a cotangent lies is known from its operand, and says the rest
        marked = [x if x.__class__ is LinearInput else left_to_xla(x) for x in _marked(recorder, operands)]
        given = [ct if ct is ZERO else left_to_xla(ct) for ct in received]
        moving, found = operands, operation.transpose_rule(given, marked)
    for x, ct in zip(moving, found, strict=True):
        if ct is not None and ct is not ZERO:
            arrive(x, ct)


def _through_pushforward(
    recorder: LinearTrace, pushforward: Pushforward, arrived: dict[int, Any], arrive: Arrive
) -> None:
    results = pushforward.results
    kinds: tuple[Any, ...]
    if len(results) == 1:
        ct = arrived.pop(id(results[0]), ZERO)
        if ct is ZERO:
            return
        received, kinds = [ct], (ct.aval if ct.__class__ in ARRAYS else kind_of(ct),)
    else:
        received = [arrived.pop(id(result), ZERO) for result in results]
        kinds = tuple([ZERO if ct is ZERO else kind_of(ct) for ct in received])
        if all(kind is ZERO for kind in kinds):
            return
    made, forward = pushforward.origin, pushforward.forward
    if made.forward is not None:
        forward = made.forward
    origin = origin_of("backward", forward, made.code, made.lasti, made.scope)
    plans = pushforward.plan.pullbacks
    key, pullback = found_plan(plans, kinds)
    if pullback is None:
        try:
            pullback = plans.keep(key, _pullback(pushforward, received))
        except ShardingTypeError:
            pullback = plans.keep(key, _Pullback(NO_PLAN, ()))
    if pullback.plan is NO_PLAN:
        arrived.update((id(x), ct) for x, ct in zip(results, received, strict=True) if ct is not ZERO)
        equations = pushforward.equations()
        for equation in reversed(equations):
            _through_equation(recorder, equation, forward, arrived, arrive)
    else:
        _follow(pullback, [*received, *pushforward.residuals], pushforward.tangents, arrive, origin)


class _Pullback(NamedTuple):
    """What takes cotangents through a pushforward: stretches of steps, after each of which one goes to a tangent."""

    plan: Plan
    stretches: tuple[tuple[Steps, int, int], ...]


def _follow(pullback: _Pullback, values: list[Any], tangents: Sequence[Any], arrive: Arrive, origin: Origin) -> None:
    """Take the steps, and let each cotangent arrive when it is there: as the rules themselves would do it."""
    plan, stretches = pullback
    trace = STATE.trace
    used = plan.used
    values += plan.literals if trace is not None and trace.staging else plan.constants
    STATE.origin = origin
    for steps, result, target in stretches:
        if steps:
            if trace is not None:
                trace.take_from(steps, values, used, origin.code, origin.lasti, origin)
            else:
                take_from(None, steps, values, used, origin)
            used = ()
        arrive(tangents[target], values[result])


def _pullback(pushforward: Pushforward, received: Sequence[Any]) -> _Pullback:
    """What takes cotangents of such kinds through a pushforward."""
    ends: list[tuple[int, int]] = []

    def rule(given: Sequence[Any]) -> list[Any]:
        recorder = LinearTrace(STATE.trace)
        tangents = [LinearTracer(x.aval, recorder) for x in pushforward.tangents]
        results = [LinearTracer(x.aval, recorder) for x in pushforward.results]
        again = Pushforward(pushforward.plan, given[len(results) :], tangents, results, pushforward.origin)
        recorder.recorded += again.equations()
        places = {id(x): i for i, x in enumerate(tangents)}
        arrived = {id(x): ct for x, ct in zip(results, given, strict=False) if ct is not ZERO}
        found: list[Any] = []

        def arrive(x: Any, cotangent: Any) -> None:
            if id(x) in places:
                ends.append((len(STATE.trace.equations), places[id(x)]))
                found.append(cotangent)
            else:
                old = arrived.get(id(x))
                arrived[id(x)] = cotangent if old is None else bind1(ADD_ANY, old, cotangent)

        pull_back(recorder, arrived, arrive)
        return found

    plan = work_out(Recent(1), None, rule, [*received, *pushforward.residuals])
    starts = [0, *(end for end, _ in ends)]
    stretches = tuple(
        (_stretch(plan, start, end), result, target)
        for start, (end, target), result in zip(starts, ends, plan.results, strict=False)
    )
    return _Pullback(plan, stretches)


def _stretch(plan: Plan, start: int, end: int) -> Steps:
    """Some of a plan's steps, when those before have been taken."""
    first, count = plan.steps.first, len(plan.constants)
    wanted = {place for places in (*plan.places[end:], plan.results) for place in places}
    taken = [(step[0], places, step[2]) for step, places in zip(plan.steps, plan.places, strict=True)]
    before = first + sum(len(avals) for _, _, avals in taken[:start])
    return steps_of(taken[start:end], before, range(first - count, first), wanted)


def _planned(
    recorder: LinearTrace, operation: Operation, operands: Sequence[Any], received: Sequence[Any]
) -> tuple[Sequence[Any], list[Any]]:
    """The operands of an equation that are tangents, and the cotangents that its ``transpose_rule`` gives, by plan."""
    moving, values = [], [*received]
    kinds: list[Any] = [ZERO if ct is ZERO else kind_of(ct) for ct in received]
    for x in operands:
        if x.__class__ is LinearTracer and x._trace is recorder:
            moving.append(x)
            kinds.append(linear_input(x.aval))
        else:
            values.append(x)
            kinds.append(kind_of(x))
    key, plan = found_plan(operation.transpose_plans, kinds)
    if plan is None:
        count, marks = len(received), kinds[-len(operands) :]

        def rule(given: Sequence[Any]) -> list[Any]:
            known = iter(given[count:])
            marked = [x if x.__class__ is LinearInput else next(known) for x in marks]
            found = operation.transpose_rule(given[:count], marked)
            return [ct for ct, mark in zip(found, marked, strict=True) if mark.__class__ is LinearInput]

        plan = work_out(operation.transpose_plans, key, rule, values)
    if plan is NO_PLAN:
        return operands, operation.transpose_rule(received, _marked(recorder, operands))
    return moving, follow(plan, values)


def _marked(recorder: LinearTrace, operands: Sequence[Any]) -> list[Any]:
    """The operands for a ``transpose_rule``: marks for those that are tangents of a recording."""
    return [linear_input(x.aval) if x.__class__ is LinearTracer and x._trace is recorder else x for x in operands]


def transposed(program: ClosedJaxpr, operands: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Cotangents of the operands of a program that are :class:`LinearInput`, in order, for cotangents of its results.

    Any of them may be ZERO. What the program computes from the other operands is computed again.
    """
    recorder = LinearTrace(STATE.trace)
    given = [LinearTracer(x.aval, recorder) if x.__class__ is LinearInput else x for x in operands]
    previous = STATE.trace
    try:
        STATE.trace = recorder
        results = evaluate(program, *given)
    finally:
        STATE.trace = previous
        recorder.alive = False
    outputs = [y if y.__class__ is LinearTracer and y._trace is recorder else ZERO for y in results]
    inputs = [x for x in given if x.__class__ is LinearTracer and x._trace is recorder]
    return backward(recorder, inputs, outputs, cotangents)


def transpose_program(
    program: ClosedJaxpr, linear: tuple[bool, ...], arriving: tuple[bool, ...], forced: tuple[bool, ...] | None = None
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """A program of (operands that are not linear, arriving cotangents) to cotangents of the linear operands; and
    which get one.

    Linear operands marked in ``forced`` get one in any case, of zeros where none arrives.
    """
    key = ("transpose", linear, arriving, forced)
    found = program.derived.get(key)
    if found is None:
        moved: list[bool] = []
        in_avals = program.in_avals
        linear_avals = [aval for aval, is_linear in zip(in_avals, linear, strict=True) if is_linear]

        def backward_pass(*arguments: Any) -> list[Any]:
            rest = iter(arguments)
            operands = [
                linear_input(aval) if is_linear else next(rest)
                for aval, is_linear in zip(in_avals, linear, strict=True)
            ]
            received = transposed(program, operands, [next(rest) if there else ZERO for there in arriving])
            if forced is not None:
                received = instantiated(received, linear_avals, forced)
            moved[:] = [ct is not ZERO for ct in received]
            return [ct for ct in received if ct is not ZERO]

        avals = [aval for aval, is_linear in zip(in_avals, linear, strict=True) if not is_linear]
        avals += [aval for aval, there in zip(program.out_avals, arriving, strict=True) if there]
        found = program.derived[key] = (stage_held(backward_pass, avals, program.name), tuple(moved))
    return found
