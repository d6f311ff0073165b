"""Reverse mode: a linear program run from its results to its operands, accumulating cotangents."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import ShardingTypeError
from ..ir.atoms import make_origin
from ..ir.jaxpr import ClosedJaxpr, Origin
from ..ir.markers import ZERO, LinearInput, make_linear_input
from ..ir.operation import Operation
from ..lru_cache import FastLRUCache
from ..operations.sharding_constraints import drop_explicit_sharding, match_sharding
from ..operations.tangent_arithmetic import ADD_ANY
from ..trace.bind import bind1
from ..trace.op_sequence import OpSequence, build_op_sequence
from ..trace.state import STATE
from ..trace.trace_cache import ARRAY_TYPES
from ..trace.trace_recording import (
    NOT_RECORDABLE,
    RecordedTrace,
    find_trace,
    operand_key,
    record_trace,
    replay_trace,
)
from .differentiate import instantiate_zeros
from .evaluate import evaluate
from .linear_trace import LinearTrace, LinearTracer, Pushforward
from .pushforwards import emit_or_run
from .staging import stage_with_consts
from .varying_tangents import start_linear_trace

Accumulate = Callable[[Any, Any], None]


def backward(
    recorder: LinearTrace, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]
) -> list[Any]:
    """Return the cotangents of ``inputs`` of a recording, given those of ``outputs``; ZERO where there is none.

    ``inputs`` and ``outputs`` are tangents that ``recorder`` has recorded, or ZERO.
    """
    pending: dict[int, Any] = {}

    def accumulate_cotangent(x: Any, cotangent: Any) -> None:
        if x.aval.explicit is not getattr(cotangent, "aval", x.aval).explicit:
            cotangent = match_sharding(x.aval, cotangent)
        old = pending.get(id(x))
        pending[id(x)] = cotangent if old is None else bind1(ADD_ANY, old, cotangent)

    for tracer, cotangent in zip(outputs, cotangents, strict=True):
        if tracer is not ZERO and cotangent is not ZERO:
            accumulate_cotangent(tracer, cotangent)
    recorder.run_as_recorded(functools.partial(pull_back, recorder, pending, accumulate_cotangent))
    return [ZERO if x is ZERO else pending.get(id(x), ZERO) for x in inputs]


def pull_back(recorder: LinearTrace, pending: dict[int, Any], accumulate: Accumulate) -> None:
    """Propagate cotangents through the recorded equations to their operands, from the last equation to the first.

    ``pending`` has the cotangents received so far by the id of the tangent; those that an equation passes on
    are removed. ``accumulate(tangent, cotangent)`` is called for each operand's cotangent and has to add it
    to ``pending``.
    """
    previous = STATE.origin
    forwards = recorder.forward_values()
    try:
        for index in range(len(recorder.recorded) - 1, -1, -1):
            recorded = recorder.recorded[index]
            if recorded.__class__ is Pushforward:
                _transpose_pushforward(recorder, recorded, pending, accumulate)
            else:
                _transpose_equation(recorder, recorded, forwards[index], pending, accumulate)
    finally:
        STATE.origin = previous


def _transpose_equation(
    recorder: LinearTrace, equation: Any, forward: Any, pending: dict[int, Any], accumulate: Accumulate
) -> None:
    """Pass the cotangents of an equation's results on to its linear operands.

    ``pending`` and ``accumulate`` are those of :func:`pull_back`; ``forward`` is the value whose derivative
    the equation belongs to.
    """
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
    STATE.origin = make_origin("backward", forward, code, lasti, "" if origin is None else origin.scope)
    try:
        if operation.planned:
            linear_operands, operand_cts = _replay_transpose_rule(recorder, operation, operands, received)
        else:
            linear_operands, operand_cts = (
                operands,
                operation.transpose_rule(received, _mark_linear_operands(recorder, operands)),
            )
    except ShardingTypeError:  # leave it to XLA; a cotangent's sharding follows from its operand
        rule_operands = [
            x if x.__class__ is LinearInput else drop_explicit_sharding(x)
            for x in _mark_linear_operands(recorder, operands)
        ]
        unsharded = [ct if ct is ZERO else drop_explicit_sharding(ct) for ct in received]
        linear_operands, operand_cts = operands, operation.transpose_rule(unsharded, rule_operands)
    for x, ct in zip(linear_operands, operand_cts, strict=True):
        if ct is not None and ct is not ZERO:
            accumulate(x, ct)


def _transpose_pushforward(
    recorder: LinearTrace, pushforward: Pushforward, pending: dict[int, Any], accumulate: Accumulate
) -> None:
    """Pass the cotangents of a pushforward's results on to its tangents, by its recorded pullback if possible.

    The parameters are those of :func:`pull_back`.
    """
    results = pushforward.results
    kinds: tuple[Any, ...]
    if len(results) == 1:
        ct = pending.pop(id(results[0]), ZERO)
        if ct is ZERO:
            return
        received, kinds = [ct], (ct.aval if ct.__class__ in ARRAY_TYPES else operand_key(ct),)
    else:
        received = [pending.pop(id(result), ZERO) for result in results]
        kinds = tuple([ZERO if ct is ZERO else operand_key(ct) for ct in received])
        if all(kind is ZERO for kind in kinds):
            return
    jvp_origin, forward = pushforward.origin, pushforward.forward
    if jvp_origin.forward is not None:
        forward = jvp_origin.forward
    origin = make_origin("backward", forward, jvp_origin.code, jvp_origin.lasti, jvp_origin.scope)
    cache = pushforward.plan.pullbacks
    key, pullback = find_trace(cache, kinds)
    if pullback is None:
        try:
            pullback = cache.insert(key, _record_pullback(pushforward, received))
        except ShardingTypeError:
            pullback = cache.insert(key, _RecordedPullback(NOT_RECORDABLE, ()))
    if pullback.recorded is NOT_RECORDABLE:
        pending.update((id(x), ct) for x, ct in zip(results, received, strict=True) if ct is not ZERO)
        equations = pushforward.equations()
        for equation in reversed(equations):
            _transpose_equation(recorder, equation, forward, pending, accumulate)
    else:
        _replay_pullback(pullback, [*received, *pushforward.residuals], pushforward.tangents, accumulate, origin)


class _RecordedPullback(NamedTuple):
    """Recorded pullback of a pushforward, cut into segments.

    After each segment, a triple of operations, index of a value, and index of a tangent, that value is a
    cotangent of that tangent.
    """

    recorded: RecordedTrace
    segments: tuple[tuple[OpSequence, int, int], ...]


def _replay_pullback(
    pullback: _RecordedPullback, values: list[Any], tangents: Sequence[Any], add_ct: Accumulate, origin: Origin
) -> None:
    """Run the operations of a pullback, and pass each cotangent to ``add_ct`` as soon as it is computed.

    ``values`` are the cotangents of the pushforward's results and its residuals. ``add_ct(tangent,
    cotangent)`` is called in the order of the rules.
    """
    recorded, segments = pullback
    trace = STATE.trace
    used = recorded.used_operands
    values += recorded.literals if trace is not None and trace.staging else recorded.constants
    STATE.origin = origin
    for steps, result, target in segments:
        if steps:
            if trace is not None:
                trace.emit_at(steps, values, used, origin.code, origin.lasti, origin)
            else:
                emit_or_run(None, steps, values, used, origin)
            used = ()
        add_ct(tangents[target], values[result])


def _record_pullback(pushforward: Pushforward, received: Sequence[Any]) -> _RecordedPullback:
    """Record the pullback of a pushforward for cotangents of its results with the types of those in ``received``."""
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

    recorded = record_trace(FastLRUCache(1), None, rule, [*received, *pushforward.residuals])
    starts = [0, *(end for end, _ in ends)]
    segments = tuple(
        (_slice_sequence(recorded, start, end), result, target)
        for start, (end, target), result in zip(starts, ends, recorded.result_indices, strict=False)
    )
    return _RecordedPullback(recorded, segments)


def _slice_sequence(recorded: RecordedTrace, start: int, end: int) -> OpSequence:
    """Return operations ``start`` to ``end`` of a recorded rule as a sequence; its inputs are all values before."""
    first, count = recorded.steps.input_count, len(recorded.constants)
    used_later = {index for indices in (*recorded.operand_indices[end:], recorded.result_indices) for index in indices}
    operations = [
        (step[0], indices, step[2]) for step, indices in zip(recorded.steps, recorded.operand_indices, strict=True)
    ]
    before = first + sum(len(avals) for _, _, avals in operations[:start])
    return build_op_sequence(operations[start:end], before, range(first - count, first), used_later)


def _replay_transpose_rule(
    recorder: LinearTrace, operation: Operation, operands: Sequence[Any], received: Sequence[Any]
) -> tuple[Sequence[Any], list[Any]]:
    """Return operands of an equation and their cotangents, by its ``transpose_rule``, replayed if it is recorded.

    ``received`` are the cotangents of its results. The operands are the linear ones, or, where the rule has
    to run, all of them, and then cotangents of nonlinear ones are None.
    """
    linear_operands, values = [], [*received]
    kinds: list[Any] = [ZERO if ct is ZERO else operand_key(ct) for ct in received]
    for x in operands:
        if x.__class__ is LinearTracer and x._trace is recorder:
            linear_operands.append(x)
            kinds.append(make_linear_input(x.aval))
        else:
            values.append(x)
            kinds.append(operand_key(x))
    key, recorded = find_trace(operation.transpose_cache, kinds)
    if recorded is None:
        count, marks = len(received), kinds[-len(operands) :]

        def rule(tracers: Sequence[Any]) -> list[Any]:
            nonlinear = iter(tracers[count:])
            rule_operands = [x if x.__class__ is LinearInput else next(nonlinear) for x in marks]
            operand_cts = operation.transpose_rule(tracers[:count], rule_operands)
            return [ct for ct, mark in zip(operand_cts, rule_operands, strict=True) if mark.__class__ is LinearInput]

        recorded = record_trace(operation.transpose_cache, key, rule, values)
    if recorded is NOT_RECORDABLE:
        return operands, operation.transpose_rule(received, _mark_linear_operands(recorder, operands))
    return linear_operands, replay_trace(recorded, values)


def _mark_linear_operands(recorder: LinearTrace, operands: Sequence[Any]) -> list[Any]:
    """Return the operands for a ``transpose_rule``: ``LinearInput`` markers replace tangents of ``recorder``."""
    return [make_linear_input(x.aval) if x.__class__ is LinearTracer and x._trace is recorder else x for x in operands]


def pull_back_program(program: ClosedJaxpr, operands: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Return the cotangents of those operands of a program that are ``LinearInput`` markers, in order.

    ``cotangents`` are those of the results, or ZERO. Values of the program that do not depend on linear
    operands are computed again.
    """
    recorder = start_linear_trace(STATE.trace)
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
    """Return the program for the cotangents of linear operands, and the mask of the linear operands that get one.

    ``linear`` is the mask of the linear operands, ``has_ct`` that of the results with a nonzero cotangent.
    The program takes the nonlinear operands, then these cotangents. Linear operands marked in ``force`` get a
    cotangent in any case, of zeros if need be.
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
                make_linear_input(aval) if is_linear else next(remaining)
                for aval, is_linear in zip(in_avals, linear, strict=True)
            ]
            received = pull_back_program(program, operands, [next(remaining) if m else ZERO for m in has_ct])
            if force is not None:
                received = instantiate_zeros(received, linear_avals, force)
            nonzero_out[:] = [ct is not ZERO for ct in received]
            return [ct for ct in received if ct is not ZERO]

        avals = [aval for aval, is_linear in zip(in_avals, linear, strict=True) if not is_linear]
        avals += [aval for aval, is_nonzero in zip(program.out_avals, has_ct, strict=True) if is_nonzero]
        entry = program.derived[key] = (stage_with_consts(run_backward, avals, program.name), tuple(nonzero_out))
    return entry
