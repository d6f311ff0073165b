"""Reverse mode: a linear program run from its results to its operands, accumulating cotangents."""

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
    """Return cotangents of ``inputs`` of a recording (ZERO where none arrives) for cotangents of ``outputs``."""
    pending: dict[int, Any] = {}

    def accumulate_cotangent(x: Any, cotangent: Any) -> None:
        if x.aval.explicit is not getattr(cotangent, "aval", x.aval).explicit:
            cotangent = lying_as(x.aval, cotangent)
        old = pending.get(id(x))
        pending[id(x)] = cotangent if old is None else bind1(ADD_ANY, old, cotangent)

    for tracer, cotangent in zip(outputs, cotangents, strict=True):
        if tracer is not ZERO and cotangent is not ZERO:
            accumulate_cotangent(tracer, cotangent)
    pull_back(recorder, pending, accumulate_cotangent)
    return [ZERO if x is ZERO else pending.get(id(x), ZERO) for x in inputs]


def pull_back(recorder: LinearTrace, pending: dict[int, Any], accumulate: Arrive) -> None:
    """Propagate pending cotangents through the recorded equations to their operands, from the last to the first."""
    previous = STATE.origin
    forwards = recorder.forward_of()
    try:
        for index in range(len(recorder.recorded) - 1, -1, -1):
            recorded = recorder.recorded[index]
            if recorded.__class__ is Pushforward:
                _through_pushforward(recorder, recorded, pending, accumulate)
            else:
                _through_equation(recorder, recorded, forwards[index], pending, accumulate)
    finally:
        STATE.origin = previous


def _through_equation(
    recorder: LinearTrace, equation: Any, forward: Any, pending: dict[int, Any], accumulate: Arrive
) -> None:
    operation, operands, results, code, lasti, origin = equation
    if len(results) == 1:
        received = [pending.pop(id(results[0]), ZERO)]
        if received[0] is ZERO:
            return
    else:
        received = [pending.pop(id(r), ZERO) for r in results]
        if all(ct is ZERO for ct in received):
            return
    if origin is not None and origin.forward is not None:
        forward = origin.forward
    STATE.origin = origin_of("backward", forward, code, lasti, "" if origin is None else origin.scope)
    try:
        if operation.planned:
            linear_operands, operand_cts = _planned(recorder, operation, operands, received)
        else:
            linear_operands, operand_cts = operands, operation.transpose_rule(received, _marked(recorder, operands))
    except ShardingTypeError:  # leave it to XLA; a cotangent's sharding follows from its operand
        marked = [x if x.__class__ is LinearInput else left_to_xla(x) for x in _marked(recorder, operands)]
        unsharded = [ct if ct is ZERO else left_to_xla(ct) for ct in received]
        linear_operands, operand_cts = operands, operation.transpose_rule(unsharded, marked)
    for x, ct in zip(linear_operands, operand_cts, strict=True):
        if ct is not None and ct is not ZERO:
            accumulate(x, ct)


def _through_pushforward(
    recorder: LinearTrace, pushforward: Pushforward, pending: dict[int, Any], accumulate: Arrive
) -> None:
    results = pushforward.results
    kinds: tuple[Any, ...]
    if len(results) == 1:
        ct = pending.pop(id(results[0]), ZERO)
        if ct is ZERO:
            return
        received, kinds = [ct], (ct.aval if ct.__class__ in ARRAYS else kind_of(ct),)
    else:
        received = [pending.pop(id(result), ZERO) for result in results]
        kinds = tuple([ZERO if ct is ZERO else kind_of(ct) for ct in received])
        if all(kind is ZERO for kind in kinds):
            return
    jvp_origin, forward = pushforward.origin, pushforward.forward
    if jvp_origin.forward is not None:
        forward = jvp_origin.forward
    origin = origin_of("backward", forward, jvp_origin.code, jvp_origin.lasti, jvp_origin.scope)
    cache = pushforward.plan.pullbacks
    key, pullback = found_plan(cache, kinds)
    if pullback is None:
        try:
            pullback = cache.keep(key, _pullback(pushforward, received))
        except ShardingTypeError:
            pullback = cache.keep(key, _Pullback(NO_PLAN, ()))
    if pullback.plan is NO_PLAN:
        pending.update((id(x), ct) for x, ct in zip(results, received, strict=True) if ct is not ZERO)
        equations = pushforward.equations()
        for equation in reversed(equations):
            _through_equation(recorder, equation, forward, pending, accumulate)
    else:
        _follow(pullback, [*received, *pushforward.residuals], pushforward.tangents, accumulate, origin)


class _Pullback(NamedTuple):
    """Recorded pullback of a pushforward: segments of operations, after each of which a tangent gets a cotangent."""

    plan: Plan
    stretches: tuple[tuple[Steps, int, int], ...]


def _follow(pullback: _Pullback, values: list[Any], tangents: Sequence[Any], add_ct: Arrive, origin: Origin) -> None:
    """Run the operations, and accumulate each cotangent as soon as it is computed, in the order of the rules."""
    recorded, segments = pullback
    trace = STATE.trace
    used = recorded.used
    values += recorded.literals if trace is not None and trace.staging else recorded.constants
    STATE.origin = origin
    for steps, result, target in segments:
        if steps:
            if trace is not None:
                trace.take_from(steps, values, used, origin.code, origin.lasti, origin)
            else:
                take_from(None, steps, values, used, origin)
            used = ()
        add_ct(tangents[target], values[result])


def _pullback(pushforward: Pushforward, received: Sequence[Any]) -> _Pullback:
    """Record the pullback of a pushforward for cotangents of these kinds."""
    ends: list[tuple[int, int]] = []

    def rule(tracers: Sequence[Any]) -> list[Any]:
        recorder = LinearTrace(STATE.trace)
        tangents = [LinearTracer(x.aval, recorder) for x in pushforward.tangents]
        results = [LinearTracer(x.aval, recorder) for x in pushforward.results]
        again = Pushforward(pushforward.plan, tracers[len(results) :], tangents, results, pushforward.origin)
        recorder.recorded += again.equations()
        targets = {id(x): i for i, x in enumerate(tangents)}
        pending = {id(x): ct for x, ct in zip(results, tracers, strict=False) if ct is not ZERO}
        tangent_cts: list[Any] = []

        def accumulate_cotangent(x: Any, cotangent: Any) -> None:
            if id(x) in targets:
                ends.append((len(STATE.trace.equations), targets[id(x)]))
                tangent_cts.append(cotangent)
            else:
                old = pending.get(id(x))
                pending[id(x)] = cotangent if old is None else bind1(ADD_ANY, old, cotangent)

        pull_back(recorder, pending, accumulate_cotangent)
        return tangent_cts

    recorded = work_out(Recent(1), None, rule, [*received, *pushforward.residuals])
    starts = [0, *(end for end, _ in ends)]
    segments = tuple(
        (_stretch(recorded, start, end), result, target)
        for start, (end, target), result in zip(starts, ends, recorded.results, strict=False)
    )
    return _Pullback(recorded, segments)


def _stretch(recorded: Plan, start: int, end: int) -> Steps:
    """Return operations ``start`` to ``end`` of a recorded rule as a sequence that follows those before."""
    first, count = recorded.steps.first, len(recorded.constants)
    wanted = {index for indices in (*recorded.places[end:], recorded.results) for index in indices}
    operations = [(step[0], indices, step[2]) for step, indices in zip(recorded.steps, recorded.places, strict=True)]
    before = first + sum(len(avals) for _, _, avals in operations[:start])
    return steps_of(operations[start:end], before, range(first - count, first), wanted)


def _planned(
    recorder: LinearTrace, operation: Operation, operands: Sequence[Any], received: Sequence[Any]
) -> tuple[Sequence[Any], list[Any]]:
    """Return the linear operands of an equation, and their cotangents by its recorded ``transpose_rule``."""
    linear_operands, values = [], [*received]
    kinds: list[Any] = [ZERO if ct is ZERO else kind_of(ct) for ct in received]
    for x in operands:
        if x.__class__ is LinearTracer and x._trace is recorder:
            linear_operands.append(x)
            kinds.append(linear_input(x.aval))
        else:
            values.append(x)
            kinds.append(kind_of(x))
    key, recorded = found_plan(operation.transpose_plans, kinds)
    if recorded is None:
        count, marks = len(received), kinds[-len(operands) :]

        def rule(tracers: Sequence[Any]) -> list[Any]:
            nonlinear = iter(tracers[count:])
            marked = [x if x.__class__ is LinearInput else next(nonlinear) for x in marks]
            operand_cts = operation.transpose_rule(tracers[:count], marked)
            return [ct for ct, mark in zip(operand_cts, marked, strict=True) if mark.__class__ is LinearInput]

        recorded = work_out(operation.transpose_plans, key, rule, values)
    if recorded is NO_PLAN:
        return operands, operation.transpose_rule(received, _marked(recorder, operands))
    return linear_operands, follow(recorded, values)


def _marked(recorder: LinearTrace, operands: Sequence[Any]) -> list[Any]:
    """Return the operands for a ``transpose_rule``: linear inputs for those that are tangents of a recording."""
    return [linear_input(x.aval) if x.__class__ is LinearTracer and x._trace is recorder else x for x in operands]


def transposed(program: ClosedJaxpr, operands: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Return the cotangents of those operands of a program that are :class:`LinearInput`, in order.

    Any of the cotangents may be ZERO. The program's values that do not depend on linear operands are computed
    again.
    """
    recorder = LinearTrace(STATE.trace)
    traced_operands = [LinearTracer(x.aval, recorder) if x.__class__ is LinearInput else x for x in operands]
    previous = STATE.trace
    try:
        STATE.trace = recorder
        results = evaluate(program, *traced_operands)
    finally:
        STATE.trace = previous
        recorder.alive = False
    outputs = [y if y.__class__ is LinearTracer and y._trace is recorder else ZERO for y in results]
    inputs = [x for x in traced_operands if x.__class__ is LinearTracer and x._trace is recorder]
    return backward(recorder, inputs, outputs, cotangents)


def transpose_program(
    program: ClosedJaxpr, linear: tuple[bool, ...], has_ct: tuple[bool, ...], force: tuple[bool, ...] | None = None
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """Return the program of (nonlinear operands, nonzero cotangents) to nonzero cotangents of the linear operands.

    The second result says which of these are nonzero. Linear operands marked in ``force`` get a cotangent in any
    case, of zeros if need be.
    """
    key = ("transpose", linear, has_ct, force)
    entry = program.derived.get(key)
    if entry is None:
        nonzero_out: list[bool] = []
        in_avals = program.in_avals
        linear_avals = [aval for aval, is_linear in zip(in_avals, linear, strict=True) if is_linear]

        def run_backward(*arguments: Any) -> list[Any]:
            remaining = iter(arguments)
            operands = [
                linear_input(aval) if is_linear else next(remaining)
                for aval, is_linear in zip(in_avals, linear, strict=True)
            ]
            received = transposed(program, operands, [next(remaining) if m else ZERO for m in has_ct])
            if force is not None:
                received = instantiated(received, linear_avals, force)
            nonzero_out[:] = [ct is not ZERO for ct in received]
            return [ct for ct in received if ct is not ZERO]

        avals = [aval for aval, is_linear in zip(in_avals, linear, strict=True) if not is_linear]
        avals += [aval for aval, is_nonzero in zip(program.out_avals, has_ct, strict=True) if is_nonzero]
        entry = program.derived[key] = (stage_held(run_backward, avals, program.name), tuple(nonzero_out))
    return entry
