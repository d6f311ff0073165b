"""The trace that differentiates: values with tangents beside them.

One interpreter serves both uses. With no recorder a tangent is computed beside its value (jvp). With a recorder the
rules run under it: what touches a tangent is recorded as a linear program, the rest runs in the trace outside
(linearize). A tangent is linear by where it lives, so no rule has to say which of its steps are.
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
    """A value and its tangent."""

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
        """The value at the bottom of nested differentiation."""
        value: Any = self
        while value.__class__ is JVPTracer:
            value = value.primal
        return value


ARRAYS.add(JVPTracer)


class JVPTrace:
    """Differentiates each operation by its ``jvp`` rule; see the module's text for ``recorder``."""

    __slots__ = ("alive", "inner", "parent", "recorder", "staging")

    def __init__(self, parent: Any, recorder: LinearTrace | None = None) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.recorder = recorder
        self.inner = parent if recorder is None else recorder
        self.alive = True

    def take(self, steps: Steps, values: list[Any], used: Sequence[int]) -> None:
        """Operations one after the other, all from one line of the user's: look for it once."""
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
        """The results of an operation, with tangents where an operand has one."""
        primals: list[Any] = []
        tangents: list[Any] = []
        kinds: list[Any] = []
        kind: Any
        moving = False
        recorder = self.recorder
        for x in operands:
            if x.__class__ is JVPTracer and x._trace is self:
                primal, tangent = x.primal, x.tangent
                if tangent.__class__ is LinearTracer and tangent._trace is recorder:
                    kind = tangent.aval
                    moving = True
                elif tangent is ZERO:
                    kind = ZERO
                else:
                    kind = (kind_of(tangent),)
                    moving = True
            else:
                primal, tangent = as_it_is(x, self) if isinstance(x, np.ndarray) else x, ZERO  # it may be kept
                kind = ZERO
            primals.append(primal)
            tangents.append(tangent)
            kinds += (kind, primal.aval if primal.__class__ in ARRAYS else kind_of(primal))
        if not moving:
            return run(operation, primals) if self.parent is None else self.parent.bind(operation, primals)
        origin = STATE.origin
        if origin is None:  # all steps of the rule stand on one line of the user's: look for it once
            here = origin_of("forward", None, *user_frame(2))
        else:
            here = with_line(origin, 2) if origin.lasti == NO_LINE else origin
        found = None
        if recorder is not None and operation.plannable:
            found = push(operation, kinds, primals, tangents, recorder, here)
        results, moved = self._ruled(operation, kinds, primals, tangents, here) if found is None else found
        if len(results) == 1:
            return [results[0] if moved[0] is ZERO else JVPTracer(self, results[0], moved[0])]
        return [y if t is ZERO else JVPTracer(self, y, t) for y, t in zip(results, moved, strict=True)]

    def _ruled(
        self,
        operation: Operation,
        kinds: Sequence[Any],
        primals: Sequence[Any],
        tangents: Sequence[Any],
        origin: Origin,
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """The results of an operation and their tangents, by its rule."""
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
            results, moved = rule(primals, tangents)
            if len(recorder.recorded) > start:
                recorder.forwards.append((start, innermost(results[0])))
            return results, moved
        finally:
            STATE.trace, STATE.origin = before


def _by_plan(
    operation: Operation, kinds: Sequence[Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Sequence[Any], Sequence[Any]]:
    """What the operation's ``jvp`` rule gives, by its plan."""
    values = [*primals, *tangents]
    key, plan = found_plan(operation.jvp_plans, kinds)
    count = len(primals)
    if plan is None:

        def rule(given: Sequence[Any]) -> list[Any]:
            results, moved = operation.jvp(given[:count], given[count:])
            return [*results, *moved]

        plan = work_out(operation.jvp_plans, key, rule, values)
    if plan is NO_PLAN:
        return operation.jvp(primals, tangents)
    found = follow(plan, values)
    return found[: len(found) // 2], found[len(found) // 2 :]
