"""Staging: a trace that records each operation as an equation. Its tracers are the variables of the jaxpr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from ..ir.atoms import NO_LINE, Origin, make_origin
from ..ir.avals import ShapedArray
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, RawEquation, Var
from ..ir.operation import Operation
from ..ir.user_frames import is_library
from ..lru_cache import FastLRUCache
from ..runtime.boot import checked_traces, in_trace
from ..xla.arrays.key_array import KeyArray
from ..xla.devices.backend import ArrayImpl
from .checks import stage_with_checks
from .numpy_snapshots import snapshot_array
from .op_sequence import OpSequence, OpStep
from .operand_coercion import unwrap_operand
from .provenance import EndedTrace, TracedFunction
from .source import with_line
from .state import STATE
from .tracer import TracerBase, is_enclosing_trace, leaked_error
from .values import aval_of, scalar_literal


class JaxprTracer(TracerBase, Var):
    """Variable of the program that is being recorded. When its trace ends it becomes a plain ``Var``."""

    __slots__ = ()

    def __init__(self, aval: ShapedArray, trace: JaxprTrace) -> None:
        self.aval = aval
        self._trace = trace

    __hash__ = object.__hash__


_new_tracer: Callable[[type[JaxprTracer]], JaxprTracer] = object.__new__
#: The results of a recorded equation.
_get_outputs = itemgetter(2)
_literals: FastLRUCache[tuple[Any, Any], Literal] = FastLRUCache(4096)


def _intern_literal(x: np.generic) -> Literal:
    """Return the literal for a NumPy scalar; scalars of equal type and bits share one literal."""
    aval = aval_of(x)  # 64-bit scalars are narrower without enable_x64
    key = (x.tobytes(), aval)
    literal = _literals.get(key)
    if literal is None:
        literal = _literals.promote(key)
    return _literals.insert(key, scalar_literal(x, aval)) if literal is None else literal


class JaxprTrace:
    """Trace that records each operation as an equation; ``parent`` is the trace that was current when it began."""

    #: Whether operations end up as equations of a jaxpr, through any number of enclosing traces.
    staging: ClassVar[bool] = True
    __slots__ = ("alive", "consts", "constvars", "copies", "equations", "lifted", "parent", "traced")

    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.equations: list[RawEquation] = []
        self.constvars: list[JaxprTracer] = []
        self.consts: list[Any] = []
        self.lifted: dict[int, JaxprTracer] = {}
        #: NumPy arrays used in this program and in those nested in it, with the snapshots of their values, by id.
        self.copies: dict[int, tuple[Any, Any]] = {}
        self.alive = True
        self.traced: TracedFunction | None = None

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Record an operation as an equation and return its results, tracers of this trace.

        Optimized for speed: most tracing time is spent here.
        """
        inputs: Sequence[Any]
        types: tuple[ShapedArray, ...]
        count = len(operands)
        if count == 1:
            (x,) = operands
            if (x.__class__ is not JaxprTracer or x._trace is not self) and x.__class__ is not Literal:
                x = self.lift(x)
            inputs, types = (x,), (x.aval,)
        elif count == 2:
            x, y = operands
            if (x.__class__ is not JaxprTracer or x._trace is not self) and x.__class__ is not Literal:
                x = self.lift(x)
            if (y.__class__ is not JaxprTracer or y._trace is not self) and y.__class__ is not Literal:
                y = self.lift(y)
            inputs, types = (x, y), (x.aval, y.aval)
        else:
            inputs = [x if x.__class__ is JaxprTracer and x._trace is self else self.lift(x) for x in operands]
            types = tuple([x.aval for x in inputs])
        memo = operation.memo
        if memo is None and operation.stage_rule is not None:
            return operation.stage_rule(self, operands)
        outputs = []
        for aval in (memo and memo.get(types)) or operation.result_types(types):
            out = _new_tracer(JaxprTracer)
            out.aval = aval
            out._trace = self
            outputs.append(out)
        origin = STATE.origin
        if origin is None:
            frame = sys._getframe(2)
            while is_library[frame.f_code.co_filename]:
                above = frame.f_back
                if above is None:
                    self.equations.append((operation, inputs, outputs, None, -1, None))
                    return outputs
                frame = above
            self.equations.append((operation, inputs, outputs, frame.f_code, frame.f_lasti, None))
        else:
            if origin.lasti == NO_LINE:
                origin = with_line(origin, 3)
            self.equations.append((operation, inputs, outputs, origin.code, origin.lasti, origin))
        return outputs

    def bind_typed(
        self, operation: Operation, operands: Sequence[Any], avals: Sequence[ShapedArray], origin: Origin
    ) -> list[Any]:
        """Record an operation like :meth:`bind`, with the given result types (``avals``) and origin."""
        inputs = [x if x.__class__ is JaxprTracer and x._trace is self else self.lift(x) for x in operands]
        outputs = []
        for aval in avals:
            out = _new_tracer(JaxprTracer)
            out.aval = aval
            out._trace = self
            outputs.append(out)
        self.equations.append((operation, inputs, outputs, origin.code, origin.lasti, origin))
        return outputs

    def emit(self, steps: OpSequence, values: list[Any], used: Sequence[int]) -> None:
        """Record the operations of a sequence and append their results to ``values``.

        ``values`` are at first the inputs of the sequence; ``used`` are the indices of those inputs that
        operations use, which are replaced by operands of this program.
        """
        origin = STATE.origin
        if origin is None:
            frame: Any = sys._getframe(2)  # `user_frame` inlined, because public functions take this path
            while frame is not None and is_library[frame.f_code.co_filename]:
                frame = frame.f_back
            code, lasti = (None, -1) if frame is None else (frame.f_code, frame.f_lasti)
        else:
            if origin.lasti == NO_LINE:
                origin = with_line(origin, 3)
            code, lasti = origin.code, origin.lasti
        self.emit_at(steps, values, used, code, lasti, origin)

    def emit_at(
        self, steps: OpSequence, values: list[Any], used: Sequence[int], code: Any, lasti: int, origin: Any
    ) -> None:
        """Record the operations of a sequence like :meth:`emit`, at a given user line.

        ``code`` and ``lasti`` are the line: a code object and the offset of an instruction. ``origin`` is the
        full origin, if it is not None.
        """
        for i in used:
            x = values[i]
            if x.__class__ is not JaxprTracer or x._trace is not self:
                values[i] = self.lift(x)
        record, add = self.equations.append, values.append
        if steps.is_single_result:
            for operation, operands_in, (aval,) in steps:
                out = _new_tracer(JaxprTracer)
                out.aval = aval
                out._trace = self
                record((operation, operands_in(values), [out], code, lasti, origin))
                add(out)
            return
        for operation, operands_in, avals in steps:
            outputs = [JaxprTracer(aval, self) for aval in avals]
            record((operation, operands_in(values), outputs, code, lasti, origin))
            values += outputs

    def lift(self, x: Any) -> Any:
        """Return the operand that stands for ``x`` in this program.

        This is a literal for a scalar and a constant variable for an array or an outer tracer.
        """
        if isinstance(x, np.generic):
            return _intern_literal(x)
        if x.__class__ is Literal or (x.__class__ is JaxprTracer and x._trace is self):
            return x
        if isinstance(x, TracerBase):
            if not x._trace.alive or not is_enclosing_trace(x._trace, self):
                raise leaked_error(x)
            return self._lift_constant(x)
        if isinstance(x, (ArrayImpl, KeyArray)):
            return self._lift_constant(x)
        if isinstance(x, np.ndarray) and x.ndim:
            return self._lift_constant(snapshot_array(x, self))
        value = unwrap_operand(x)
        return scalar_literal(x, aval_of(x)) if value is x else self.lift(value)

    def _lift_constant(self, x: Any) -> JaxprTracer:
        variable = self.lifted.get(id(x))
        if variable is None:
            variable = self.lifted[id(x)] = JaxprTracer(aval_of(x), self)
            self.constvars.append(variable)
            self.consts.append(x)
        return variable

    def end(self, program: ClosedJaxpr | None) -> None:
        """End the trace: turn its tracers into plain variables, so that using them raises an error.

        ``program`` is the recorded program, None if tracing failed.
        """
        self.alive = False
        summary = EndedTrace(self.traced.name if self.traced is not None else "", program)
        close_variables(self.constvars, summary)
        close_variables(chain.from_iterable(map(_get_outputs, self.equations)), summary)
        if self.traced is not None:
            close_variables(self.traced.invars, summary)
            self.traced = None


def emit_each(trace: Any, steps: Sequence[OpStep], values: list[Any], used: Sequence[int]) -> None:
    """Apply the operations of a sequence one by one: ``emit`` of traces that treat each operation by a rule.

    ``values`` are the inputs, to which the results are appended. ``used`` is ignored.
    """
    for operation, operands_in, _ in steps:
        values += trace.bind(operation, operands_in(values))


def emit_each_at(
    trace: Any, steps: Sequence[OpStep], values: list[Any], used: Sequence[int], code: Any, lasti: int, origin: Any
) -> None:
    """Apply the operations of a sequence one by one at a given user line: ``emit_at`` of such traces.

    The rules read the line from the trace state. The parameters are those of :meth:`JaxprTrace.emit_at`.
    """
    previous = STATE.origin
    try:
        STATE.origin = make_origin("forward", None, code, lasti) if origin is None else origin
        emit_each(trace, steps, values, used)
    finally:
        STATE.origin = previous


def close_variables(variables: Iterable[Any], summary: EndedTrace) -> None:
    """Turn the tracers of a trace that has ended into plain variables; ``summary`` becomes their trace."""
    for variable in variables:
        variable.__class__ = Var
        variable._trace = summary


def stage(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[ShapedArray],
    name: str = "",
    argument_names: Sequence[str] | Callable[[], Sequence[str]] = (),
) -> ClosedJaxpr:
    """Trace ``function`` for operands of the given types and return the closed jaxpr.

    ``function`` takes operands, one for each of ``avals``, and returns a sequence of results.
    ``argument_names`` are the user's names for the operands, or a function that returns them.
    """
    if checked_traces.value:
        return stage_with_checks(
            lambda: _stage(function, avals, name, argument_names), name, is_jit=bool(argument_names)
        )
    return _stage(function, avals, name, argument_names)


def _stage(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[ShapedArray],
    name: str,
    argument_names: Sequence[str] | Callable[[], Sequence[str]],
) -> ClosedJaxpr:
    previous, previous_origin, was_in_trace = STATE.trace, STATE.origin, in_trace.value
    trace = JaxprTrace(previous)
    invars = [JaxprTracer(aval, trace) for aval in avals]
    trace.traced = TracedFunction(name, invars, argument_names)
    program = None
    try:
        STATE.trace, STATE.origin = trace, None
        in_trace.set_local(True)
        outvars = [trace.lift(x) for x in function(*invars)]
        jaxpr = Jaxpr(trace.constvars, invars, outvars, trace.equations, name, argument_names)
        program = ClosedJaxpr(jaxpr, trace.consts)
        return program
    finally:
        STATE.trace, STATE.origin = previous, previous_origin
        in_trace.set_local(was_in_trace)
        trace.end(program)
