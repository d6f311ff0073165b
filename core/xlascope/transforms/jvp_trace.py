"""Forward differentiation: values paired with tangents.

One interpreter serves both uses. With no recorder a tangent is computed beside its value (jvp). With a
recorder the rules run under it: operations that touch a tangent are recorded as a linear program, the others
run in the enclosing trace (linearize). A value is a tangent by its class, so no rule has to declare which of
its steps are linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.atoms import NO_LINE, origin_of
from ..ir.jaxpr import Origin
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..trace.copies import as_it_is
from ..trace.jaxpr_trace import bind_each_from
from ..trace.planned import ARRAYS
from ..trace.plans import NO_PLAN, follow, found_plan, kind_of, work_out
from ..trace.source import user_frame, with_line
from ..trace.state import STATE
from ..trace.steps import Steps
from ..trace.tracer import Tracer
from ..trace.values import aval_of
from ..xla.running.eager import run
from .pushforwards import innermost, push
from .recording import LinearTrace, LinearTracer


class JVPTracer(Tracer):
    """Primal value and its tangent."""

    __slots__ = ("_trace", "aval", "primal", "tangent")

    def __init__(self, trace: JVPTrace, primal: Any, tangent: Any) -> None:
        self._trace = trace
        self.primal = primal
        self.tangent = tangent
        try:
            self.aval = primal.aval
        except AttributeError:
            self.aval = aval_of(primal)

    def concrete(self) -> Any:
        return self.primal.concrete() if isinstance(self.primal, Tracer) else self.primal

    def inner(self) -> Any:
        return self.primal

    def innermost(self) -> Any:
        """Return the primal value at the bottom of nested differentiation."""
        value: Any = self
        while value.__class__ is JVPTracer:
            value = value.primal
        return value


ARRAYS.add(JVPTracer)


class JVPTrace:
    """Trace that differentiates each operation by its ``jvp`` rule; the module docstring explains ``recorder``."""

    __slots__ = ("alive", "inner", "parent", "recorder", "staging")

    def __init__(self, parent: Any, recorder: LinearTrace | None = None) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.recorder = recorder
        self.inner = parent if recorder is None else recorder
        self.alive = True

    def take(self, steps: Steps, values: list[Any], used: Sequence[int]) -> None:
        """Apply operations in order, all from one user line, which is looked up once."""
        previous = STATE.origin
        try:
            if previous is None:
                STATE.origin = origin_of("forward", None, *user_frame(2))
            for operation, operands_in, _ in steps:
                values += self.bind(operation, operands_in(values))
        finally:
            STATE.origin = previous

    take_from = bind_each_from

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Apply an operation and return its results, with tangents if an operand has one."""
        primals: list[Any] = []
        tangents: list[Any] = []
        kinds: list[Any] = []
        kind: Any
        has_tangent = False
        recorder = self.recorder
        for x in operands:
            if x.__class__ is JVPTracer and x._trace is self:
                primal, tangent = x.primal, x.tangent
                if tangent.__class__ is LinearTracer and tangent._trace is recorder:
                    kind = tangent.aval
                    has_tangent = True
                elif tangent is ZERO:
                    kind = ZERO
                else:
                    kind = (kind_of(tangent),)
                    has_tangent = True
            else:
                primal, tangent = as_it_is(x, self) if isinstance(x, np.ndarray) else x, ZERO  # a residual, perhaps
                kind = ZERO
            primals.append(primal)
            tangents.append(tangent)
            kinds += (kind, primal.aval if primal.__class__ in ARRAYS else kind_of(primal))
        if not has_tangent:
            return run(operation, primals) if self.parent is None else self.parent.bind(operation, primals)
        origin = STATE.origin
        if origin is None:  # all operations of the rule are at one user line: look it up once
            at = origin_of("forward", None, *user_frame(2))
        else:
            at = with_line(origin, 2) if origin.lasti == NO_LINE else origin
        replayed = None
        if recorder is not None and operation.plannable:
            replayed = push(operation, kinds, primals, tangents, recorder, at)
        results, out_tangents = self._ruled(operation, kinds, primals, tangents, at) if replayed is None else replayed
        if len(results) == 1:
            return [results[0] if out_tangents[0] is ZERO else JVPTracer(self, results[0], out_tangents[0])]
        return [y if t is ZERO else JVPTracer(self, y, t) for y, t in zip(results, out_tangents, strict=True)]

    def _ruled(
        self,
        operation: Operation,
        kinds: Sequence[Any],
        primals: Sequence[Any],
        tangents: Sequence[Any],
        origin: Origin,
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the results of an operation and their tangents, by its rule."""
        recorder = self.recorder
        before = STATE.trace, STATE.origin
        try:
            STATE.trace, STATE.origin = self.inner, origin
            if recorder is None:
                if operation.planned:
                    return _by_plan(operation, kinds, primals, tangents)
                return operation.jvp(primals, tangents)
            start = len(recorder.recorded)
            rule = operation.jvp if operation.linearize_rule is None else operation.linearize_rule
            results, out_tangents = rule(primals, tangents)
            if len(recorder.recorded) > start:
                recorder.forwards.append((start, innermost(results[0])))
            return results, out_tangents
        finally:
            STATE.trace, STATE.origin = before


def _by_plan(
    operation: Operation, kinds: Sequence[Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the result of the operation's ``jvp`` rule, replayed where it is recorded."""
    values = [*primals, *tangents]
    key, recorded = found_plan(operation.jvp_plans, kinds)
    count = len(primals)
    if recorded is None:

        def rule(values_in: Sequence[Any]) -> list[Any]:
            results, out_tangents = operation.jvp(values_in[:count], values_in[count:])
            return [*results, *out_tangents]

        recorded = work_out(operation.jvp_plans, key, rule, values)
    if recorded is NO_PLAN:
        return operation.jvp(primals, tangents)
    flat = follow(recorded, values)
    return flat[: len(flat) // 2], flat[len(flat) // 2 :]
