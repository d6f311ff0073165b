"""Recording of tangents: a linear program as a list of equations, and of pushforwards that stand for several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..ir.atoms import NO_LINE
from ..ir.avals import ShapedArray, shaped
from ..ir.jaxpr import Literal, Origin, RawEquation
from ..ir.operation import Operation
from ..operations.shapes import BroadcastInDim
from ..trace.planned import ARRAYS
from ..trace.source import user_frame, with_line
from ..trace.state import STATE
from ..trace.steps import Steps
from ..trace.tracer import Tracer
from ..trace.values import aval_of
from ..xla.running.eager import run
from .dce import results_depending


class LinearTracer(Tracer):
    """Tangent: a variable of the linear program being recorded."""

    __slots__ = ("_trace", "aval")

    def __init__(self, aval: ShapedArray, trace: LinearTrace) -> None:
        self.aval = aval
        self._trace = trace


ARRAYS.add(LinearTracer)
_new: Callable[[type[LinearTracer]], LinearTracer] = object.__new__


class Pushforward:
    """Linear map of one operation's tangents, as a recorded rule whose equations are expanded on demand.

    ``residuals`` are the values that the equations need, ``tangents`` those that they are applied to, ``results``
    those that they give; ``forward`` is the value of which it is the derivative.
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
        """Expand the pushforward to equations."""
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
    """Trace that records operations on tangents, and passes the others on to the enclosing trace."""

    __slots__ = ("alive", "forwards", "parent", "recorded", "staging")

    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.recorded: list[RawEquation | Pushforward] = []
        #: For each run of equations, the index of its first and the forward value that it belongs to.
        self.forwards: list[tuple[int, Any]] = []
        self.alive = True

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Record an operation if an operand is a tangent of this trace, else run it in the enclosing trace."""
        for x in operands:
            if x.__class__ is LinearTracer and x._trace is self:
                break
        else:
            return run(operation, operands) if self.parent is None else self.parent.bind(operation, operands)
        recorded: list[Any]
        if operation.composite:
            recorded = self._bind_composite(operation, operands)
        else:
            types = tuple([x.aval if x.__class__ is LinearTracer else aval_of(x) for x in operands])
            memo = operation.memo
            recorded = self.record(operation, operands, (memo and memo.get(types)) or operation.result_types(types))
        return recorded

    def take(self, steps: Steps, values: list[Any], used: Sequence[int]) -> None:
        """Record or run operations with known result types, like :meth:`bind`; append the results to ``values``."""
        for operation, operands_in, avals in steps:
            operands = operands_in(values)
            for x in operands:
                if x.__class__ is LinearTracer and x._trace is self:
                    values += self.record(operation, operands, avals)
                    break
            else:
                values += run(operation, operands) if self.parent is None else self.parent.bind(operation, operands)

    def take_from(
        self, steps: Steps, values: list[Any], used: Sequence[int], code: Any, lasti: int, origin: Any
    ) -> None:
        """Record operations like :meth:`emit`, at a known user line and with a known origin, if there is one."""
        previous = STATE.origin
        try:
            STATE.origin = Origin("forward", None, code, lasti) if origin is None else origin
            self.take(steps, values, used)
        finally:
            STATE.origin = previous

    def record(self, operation: Operation, operands: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        """Record an operation with results of those types, all of which count as tangents."""
        outputs = []
        for aval in avals:
            out = _new(LinearTracer)
            out.aval = aval
            out._trace = self
            outputs.append(out)
        origin = STATE.origin or Origin("forward", None, *user_frame(3))
        if origin.lasti == NO_LINE:
            origin = with_line(origin, 3)
        self.recorded.append((operation, operands, outputs, origin.code, origin.lasti, origin))  # type: ignore[arg-type]
        return outputs

    def _bind_composite(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Record an operation that holds a program; results that depend on no tangent are computed outside."""
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
        reached = results_depending(operation, marks, len(avals))
        recorded = self.record(operation, operands, avals)
        if all(reached):
            return recorded
        assert operation.dce_rule is not None
        eager, used_operands, is_computed = operation.dce_rule(tuple(not r for r in reached))
        inputs = [x for x, keep in zip(operands, used_operands, strict=True) if keep]
        values = iter(run(eager, inputs) if self.parent is None else self.parent.bind(eager, inputs))
        eager_results = [next(values) if g else None for g in is_computed]
        return [y if r else value for y, r, value in zip(recorded, reached, eager_results, strict=True)]

    def zeros(self, aval: ShapedArray) -> LinearTracer:
        """Record a tangent of zeros."""
        zero = Literal(aval.dtype.type(0), shaped((), aval.dtype))
        tangent: LinearTracer = self.record(BroadcastInDim(aval.shape, ()), [zero], [aval])[0]
        return tangent

    def equations(self) -> Iterator[tuple[RawEquation, Any]]:
        """Yield every equation, with pushforwards expanded, and the forward value that it belongs to."""
        for recorded, forward in zip(self.recorded, self.forward_of(), strict=True):
            if isinstance(recorded, Pushforward):
                for equation in recorded.equations():
                    yield equation, recorded.forward
            else:
                yield recorded, forward

    def forward_of(self) -> list[Any]:
        """Return the forward value of each recorded equation."""
        values: list[Any] = [None] * len(self.recorded)
        end = len(self.recorded)
        for start, forward in reversed(self.forwards):
            values[start:end] = [forward] * (end - start)
            end = start
        return values
