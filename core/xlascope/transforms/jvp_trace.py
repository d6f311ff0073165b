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

from ..ir.atoms import NO_LINE, make_origin
from ..ir.jaxpr import Origin
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..trace.jaxpr_trace import emit_each_at
from ..trace.numpy_snapshots import snapshot_array
from ..trace.op_sequence import OpSequence
from ..trace.source import user_frame, with_line
from ..trace.state import STATE
from ..trace.trace_cache import ARRAY_TYPES
from ..trace.trace_recording import NOT_RECORDABLE, find_trace, operand_key, record_trace, replay_trace
from ..trace.tracer import TracerBase
from ..trace.values import aval_of
from ..xla.execution.eager import execute
from .linear_trace import LinearTrace, LinearTracer
from .pushforwards import innermost_primal, push_forward


class JVPTracer(TracerBase):
    """Tracer for a value that has a tangent: ``primal`` is the value, ``tangent`` its tangent."""

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
        return self.primal.concrete() if isinstance(self.primal, TracerBase) else self.primal

    def inner(self) -> Any:
        return self.primal

    def innermost(self) -> Any:
        """Return the primal value at the innermost level of nested differentiation."""
        value: Any = self
        while value.__class__ is JVPTracer:
            value = value.primal
        return value


ARRAY_TYPES.add(JVPTracer)


class JVPTrace:
    """Trace that differentiates each operation by its ``jvp`` rule.

    ``parent`` is the enclosing trace. With a ``recorder``, operations on tangents are recorded there as a
    linear program; without one, tangents are computed beside the values.
    """

    __slots__ = ("alive", "inner", "parent", "recorder", "staging")

    def __init__(self, parent: Any, recorder: LinearTrace | None = None) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.recorder = recorder
        self.inner = parent if recorder is None else recorder
        self.alive = True

    def emit(self, steps: OpSequence, values: list[Any], used: Sequence[int]) -> None:
        """Apply the operations of a sequence and append their results to ``values``; all have the same user line."""
        previous = STATE.origin
        try:
            if previous is None:
                STATE.origin = make_origin("forward", None, *user_frame(2))
            for operation, operands_in, _ in steps:
                values += self.bind(operation, operands_in(values))
        finally:
            STATE.origin = previous

    emit_at = emit_each_at

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Apply an operation and return its results: tracers of this trace where the tangent is nonzero."""
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
                    kind = (operand_key(tangent),)
                    has_tangent = True
            else:
                primal, tangent = (
                    snapshot_array(x, self) if isinstance(x, np.ndarray) else x,
                    ZERO,
                )  # a residual, perhaps
                kind = ZERO
            primals.append(primal)
            tangents.append(tangent)
            kinds += (kind, primal.aval if primal.__class__ in ARRAY_TYPES else operand_key(primal))
        if not has_tangent:
            return execute(operation, primals) if self.parent is None else self.parent.bind(operation, primals)
        origin = STATE.origin
        if origin is None:  # all operations of the rule are at one user line: look it up once
            at = make_origin("forward", None, *user_frame(2))
        else:
            at = with_line(origin, 2) if origin.lasti == NO_LINE else origin
        replayed = None
        if recorder is not None and operation.is_recordable:
            replayed = push_forward(operation, kinds, primals, tangents, recorder, at)
        results, out_tangents = (
            self._apply_jvp_rule(operation, kinds, primals, tangents, at) if replayed is None else replayed
        )
        if len(results) == 1:
            return [results[0] if out_tangents[0] is ZERO else JVPTracer(self, results[0], out_tangents[0])]
        return [y if t is ZERO else JVPTracer(self, y, t) for y, t in zip(results, out_tangents, strict=True)]

    def _apply_jvp_rule(
        self,
        operation: Operation,
        kinds: Sequence[Any],
        primals: Sequence[Any],
        tangents: Sequence[Any],
        origin: Origin,
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the results of an operation and their tangents, by its ``jvp`` or ``linearize_rule``.

        ``kinds`` is the part of the cache key for each operand and its tangent; ``origin`` is that of the
        equations.
        """
        recorder = self.recorder
        before = STATE.trace, STATE.origin
        try:
            STATE.trace, STATE.origin = self.inner, origin
            if recorder is None:
                if operation.planned:
                    return _replay_jvp_rule(operation, kinds, primals, tangents)
                return operation.jvp(primals, tangents)
            start = len(recorder.recorded)
            rule = operation.jvp if operation.linearize_rule is None else operation.linearize_rule
            results, out_tangents = rule(primals, tangents)
            if len(recorder.recorded) > start:
                recorder.forwards.append((start, innermost_primal(results[0])))
            return results, out_tangents
        finally:
            STATE.trace, STATE.origin = before


def _replay_jvp_rule(
    operation: Operation, kinds: Sequence[Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the results of an operation's ``jvp`` rule, by its recorded operations if possible: results and tangents.

    ``kinds`` is the cache key for the operands and their tangents.
    """
    values = [*primals, *tangents]
    key, recorded = find_trace(operation.jvp_cache, kinds)
    count = len(primals)
    if recorded is None:

        def rule(values_in: Sequence[Any]) -> list[Any]:
            results, out_tangents = operation.jvp(values_in[:count], values_in[count:])
            return [*results, *out_tangents]

        recorded = record_trace(operation.jvp_cache, key, rule, values)
    if recorded is NOT_RECORDABLE:
        return operation.jvp(primals, tangents)
    flat = replay_trace(recorded, values)
    return flat[: len(flat) // 2], flat[len(flat) // 2 :]
