"""Recording of tangents: a linear program as a list of equations, and of pushforwards that stand for several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ..ir.atoms import NO_LINE
from ..ir.avals import ShapedArray, make_aval
from ..ir.jaxpr import Literal, Origin, RawEquation
from ..ir.operation import Operation
from ..operations.shapes import BroadcastInDim
from ..runtime.boot import enable_x64
from ..trace.op_sequence import OpSequence
from ..trace.source import user_frame, with_line
from ..trace.state import STATE
from ..trace.trace_cache import ARRAY_TYPES
from ..trace.tracer import TracerBase
from ..trace.values import aval_of
from ..xla.execution.eager import execute
from .dce import find_dependent_op_results

T = TypeVar("T")


class LinearTracer(TracerBase):
    """Tangent of a value: a variable of the linear program that is being recorded."""

    __slots__ = ("_trace", "aval")

    def __init__(self, aval: ShapedArray, trace: LinearTrace) -> None:
        self.aval = aval
        self._trace = trace


ARRAY_TYPES.add(LinearTracer)
_new_tracer: Callable[[type[LinearTracer]], LinearTracer] = object.__new__


class Pushforward:
    """Linear map of one operation's tangents, as a recorded rule whose equations are expanded on demand.

    ``plan`` is the recorded rule. ``residuals`` are the values that its equations need, ``tangents`` those
    that they are applied to, ``results`` those that they give; ``forward`` is the value of which this
    computes the derivative.
    """

    __slots__ = ("forward", "origin", "plan", "residuals", "results", "tangents")

    def __init__(
        self,
        plan: Any,
        residuals: Sequence[Any],
        tangents: Sequence[LinearTracer],
        results: Sequence[LinearTracer],
        origin: Origin,
        forward: Any = None,
    ) -> None:
        self.plan = plan
        self.residuals = residuals
        self.tangents = tangents
        self.results = results
        self.origin = origin
        self.forward = forward

    def equations(self) -> list[RawEquation]:
        """Return the equations of the pushforward, with new variables for intermediate values."""
        origin = self.origin
        values = [*self.residuals, *self.tangents]
        positions = iter(self.plan.made)
        expanded: list[RawEquation] = []
        for operation, operands_in, avals in self.plan.inside:
            outputs = [
                LinearTracer(aval, self.tangents[0]._trace) if position is None else self.results[position]
                for aval, position in zip(avals, positions, strict=False)
            ]
            expanded.append((operation, operands_in(values), outputs, origin.code, origin.lasti, origin))  # type: ignore[arg-type]
            values += outputs
        return expanded


class LinearTrace:
    """Trace that records operations on its tangents; other operations run in the enclosing trace, ``parent``."""

    __slots__ = ("alive", "forwards", "is_wide", "parent", "recorded", "staging")

    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.recorded: list[RawEquation | Pushforward] = []
        #: For each run of equations, the index of its first and the forward value that it belongs to.
        self.forwards: list[tuple[int, Any]] = []
        self.alive = True
        #: Whether 64-bit types were enabled: numbers among the operands have the types that they had then.
        self.is_wide: bool = enable_x64.value

    def run_as_recorded(self, function: Callable[[], T]) -> T:
        """Call ``function`` with 64-bit types enabled or not, as they were during the recording; return its result."""
        if enable_x64.value == self.is_wide:
            return function()
        before = enable_x64.swap_local(self.is_wide)
        try:
            return function()
        finally:
            enable_x64.swap_local(before)

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Record an operation if an operand is a tangent of this trace, else run it in the enclosing trace."""
        for x in operands:
            if x.__class__ is LinearTracer and x._trace is self:
                break
        else:
            return execute(operation, operands) if self.parent is None else self.parent.bind(operation, operands)
        recorded: list[Any]
        if operation.composite:
            recorded = self._bind_composite(operation, operands)
        else:
            types = tuple([x.aval if x.__class__ is LinearTracer else aval_of(x) for x in operands])
            memo = operation.memo
            recorded = self.record(operation, operands, (memo and memo.get(types)) or operation.result_types(types))
        return recorded

    def emit(self, steps: OpSequence, values: list[Any], used: Sequence[int]) -> None:
        """Record or run the operations of a sequence, like :meth:`bind`, and append their results to ``values``.

        ``used`` is ignored.
        """
        for operation, operands_in, avals in steps:
            operands = operands_in(values)
            for x in operands:
                if x.__class__ is LinearTracer and x._trace is self:
                    values += self.record(operation, operands, avals)
                    break
            else:
                values += execute(operation, operands) if self.parent is None else self.parent.bind(operation, operands)

    def emit_at(
        self, steps: OpSequence, values: list[Any], used: Sequence[int], code: Any, lasti: int, origin: Any
    ) -> None:
        """Record or run the operations of a sequence like :meth:`emit`, at a given user line.

        ``code`` and ``lasti`` are the line: a code object and the offset of an instruction. ``origin`` is the
        full origin, if it is not None.
        """
        previous = STATE.origin
        try:
            STATE.origin = Origin("forward", None, code, lasti) if origin is None else origin
            self.emit(steps, values, used)
        finally:
            STATE.origin = previous

    def record(self, operation: Operation, operands: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        """Record an operation and return its results, tangents with the types ``avals``."""
        outputs = []
        for aval in avals:
            out = _new_tracer(LinearTracer)
            out.aval = aval
            out._trace = self
            outputs.append(out)
        origin = STATE.origin or Origin("forward", None, *user_frame(3))
        if origin.lasti == NO_LINE:
            origin = with_line(origin, 3)
        self.recorded.append((operation, operands, outputs, origin.code, origin.lasti, origin))  # type: ignore[arg-type]
        return outputs

    def _bind_composite(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Record an operation that holds a program and return its results.

        Results that depend on no tangent are computed in the enclosing trace.
        """
        if operation.expand is not None:
            previous = STATE.trace
            try:
                STATE.trace = self
                expanded: list[Any] = operation.expand(*operands)
                return expanded
            finally:
                STATE.trace = previous
        marks = [x.__class__ is LinearTracer and x._trace is self for x in operands]
        avals = operation.result_types(tuple([aval_of(x) for x in operands]))
        reached = find_dependent_op_results(operation, marks, len(avals))
        recorded = self.record(operation, operands, avals)
        if all(reached):
            return recorded
        assert operation.dce_rule is not None
        eager, used_operands, is_computed = operation.dce_rule(tuple(not r for r in reached))
        inputs = [x for x, keep in zip(operands, used_operands, strict=True) if keep]
        values = iter(execute(eager, inputs) if self.parent is None else self.parent.bind(eager, inputs))
        eager_results = [next(values) if g else None for g in is_computed]
        return [y if r else value for y, r, value in zip(recorded, reached, eager_results, strict=True)]

    def zeros(self, aval: ShapedArray) -> LinearTracer:
        """Record a tangent of zeros of that type and return it."""
        zero = Literal(aval.dtype.type(0), make_aval((), aval.dtype))
        tangent: LinearTracer = self.record(BroadcastInDim(aval.shape, ()), [zero], [aval])[0]
        return tangent

    def equations(self) -> Iterator[tuple[RawEquation, Any]]:
        """Yield each equation with the forward value whose derivative it belongs to; pushforwards are expanded."""
        for recorded, forward in zip(self.recorded, self.forward_values(), strict=True):
            if isinstance(recorded, Pushforward):
                for equation in recorded.equations():
                    yield equation, recorded.forward
            else:
                yield recorded, forward

    def forward_values(self) -> list[Any]:
        """Return for each recorded equation the forward value whose derivative it belongs to, or None."""
        values: list[Any] = [None] * len(self.recorded)
        end = len(self.recorded)
        for start, forward in reversed(self.forwards):
            values[start:end] = [forward] * (end - start)
            end = start
        return values
