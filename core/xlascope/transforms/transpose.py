"""Backward: a linear program run from its results to its operands, cotangents added up where values were used twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.atoms import origin_of
from ..ir.jaxpr import ClosedJaxpr
from ..ir.markers import ZERO, LinearInput, linear_input
from ..operations.sums import ADD_ANY
from ..trace.bind import bind1
from ..trace.state import STATE
from .differentiate import LinearTrace, LinearTracer, instantiated
from .evaluate import evaluate
from .staging import stage_held


def backward(
    recorder: LinearTrace, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]
) -> list[Any]:
    """Cotangents of ``inputs`` (ZERO where none arrives) for cotangents of ``outputs`` of a recording."""
    arrived: dict[int, Any] = {}
    for tracer, cotangent in zip(outputs, cotangents, strict=True):
        if tracer is not ZERO and cotangent is not ZERO:
            old = arrived.get(id(tracer))
            arrived[id(tracer)] = cotangent if old is None else bind1(ADD_ANY, old, cotangent)
    previous = STATE.origin
    try:
        forwards = recorder.forward_of()
        for index in range(len(recorder.equations) - 1, -1, -1):
            operation, operands, results, code, lasti, origin = recorder.equations[index]
            if len(results) == 1:
                received = [arrived.pop(id(results[0]), ZERO)]
                if received[0] is ZERO:
                    continue
            else:
                received = [arrived.pop(id(r), ZERO) for r in results]
                if all(ct is ZERO for ct in received):
                    continue
            forward = origin.forward if origin is not None and origin.forward is not None else forwards[index]
            STATE.origin = origin_of("backward", forward, code, lasti, "" if origin is None else origin.scope)
            marked = [
                linear_input(x.aval) if x.__class__ is LinearTracer and x._trace is recorder else x for x in operands
            ]
            for x, mark, ct in zip(operands, marked, operation.transpose_rule(received, marked), strict=True):
                if mark.__class__ is LinearInput and ct is not None and ct is not ZERO:
                    old = arrived.get(id(x))
                    arrived[id(x)] = ct if old is None else bind1(ADD_ANY, old, ct)
    finally:
        STATE.origin = previous
    return [ZERO if x is ZERO else arrived.get(id(x), ZERO) for x in inputs]


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
