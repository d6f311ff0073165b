"""Forward differentiation: values with tangents beside them.

One interpreter serves both uses. With no recorder a tangent is computed beside its value (jvp). With a recorder the
rules run under it: what touches a tangent is recorded as a linear program, the rest runs in the trace outside
(linearize). A tangent is linear by where it lives, so no rule has to say which of its steps are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dtypes import is_differentiable
from ..ir.atoms import NO_LINE, origin_of
from ..ir.avals import ShapedArray, shaped, strengthened
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, Origin, RawEquation, Var
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..operations.shapes import BroadcastInDim, zeros_of
from ..trace.source import user_frame, with_line
from ..trace.state import STATE
from ..trace.tracer import Tracer
from ..trace.values import aval_of
from ..xla.dispatch import run
from .dce import results_depending
from .evaluate import evaluate
from .staging import stage_held


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


class LinearTracer(Tracer):
    """A tangent: a variable of the linear program being recorded."""

    __slots__ = ("_trace", "aval")

    def __init__(self, aval: ShapedArray, trace: LinearTrace) -> None:
        self.aval = aval
        self._trace = trace


_new: Callable[[type[LinearTracer]], LinearTracer] = object.__new__


class LinearTrace:
    """Records operations on tangents, and hands the others to the trace outside."""

    __slots__ = ("alive", "equations", "forwards", "parent", "staging")

    def __init__(self, parent: Any) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.equations: list[RawEquation] = []
        #: For each stretch of equations, the index of its first and the forward value that it belongs to.
        self.forwards: list[tuple[int, Any]] = []
        self.alive = True

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Record an operation if an operand is a tangent of this trace, else run it outside."""
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
        self.equations.append((operation, operands, outputs, origin.code, origin.lasti, origin))  # type: ignore[arg-type]
        return outputs

    def _bind_composite(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """Record an operation that holds a program; results that no tangent reaches are computed outside."""
        if operation.expand is not None:
            previous = STATE.trace
            STATE.trace = self
            try:
                expanded: list[Any] = operation.expand(*operands)
                return expanded
            finally:
                STATE.trace = previous
        marks = [x.__class__ is LinearTracer and x._trace is self for x in operands]
        avals = operation.abstract_eval([aval_of(x) for x in operands])
        reached = results_depending(operation, marks, len(avals))
        recorded = self.record(operation, operands, avals)
        if all(reached):
            return recorded
        assert operation.dce_rule is not None
        known, kept, given = operation.dce_rule(tuple(not r for r in reached))
        inputs = [x for x, keep in zip(operands, kept, strict=True) if keep]
        values = iter(run(known, inputs) if self.parent is None else self.parent.bind(known, inputs))
        found = [next(values) if g else None for g in given]
        return [y if r else value for y, r, value in zip(recorded, reached, found, strict=True)]

    def zeros(self, aval: ShapedArray) -> LinearTracer:
        """A tangent of zeros that the recorded program makes itself."""
        zero = Literal(aval.dtype.type(0), shaped((), aval.dtype))
        made: LinearTracer = self.record(BroadcastInDim(aval.shape, ()), [zero], [aval])[0]
        return made

    def forward_of(self) -> list[Any]:
        """For each equation, the forward value that it belongs to."""
        found: list[Any] = [None] * len(self.equations)
        end = len(self.equations)
        for start, forward in reversed(self.forwards):
            found[start:end] = [forward] * (end - start)
            end = start
        return found


class JVPTrace:
    """Differentiates each operation by its ``jvp`` rule; see the module's text for ``recorder``."""

    __slots__ = ("alive", "inner", "parent", "recorder", "staging")

    def __init__(self, parent: Any, recorder: LinearTrace | None = None) -> None:
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.recorder = recorder
        self.inner = parent if recorder is None else recorder
        self.alive = True

    def bind(self, operation: Operation, operands: Sequence[Any]) -> list[Any]:
        """The results of an operation, with tangents where an operand has one."""
        primals, tangents, moving = [], [], False
        for x in operands:
            if x.__class__ is JVPTracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                moving = moving or x.tangent is not ZERO
            else:
                primals.append(x)
                tangents.append(ZERO)
        if not moving:
            return run(operation, primals) if self.parent is None else self.parent.bind(operation, primals)
        recorder = self.recorder
        previous, origin = STATE.trace, STATE.origin
        try:
            STATE.trace = self.inner
            if origin is None:  # all steps of the rule stand on one line of the user's: look for it once
                STATE.origin = origin_of("forward", None, *user_frame(2))
            elif origin.lasti == NO_LINE:
                STATE.origin = with_line(origin, 2)
            if recorder is None:
                results, moved = operation.jvp(primals, tangents)
            else:
                start = len(recorder.equations)
                results, moved = (operation.linearize_rule or operation.jvp)(primals, tangents)
                if len(recorder.equations) > start:
                    recorder.forwards.append((start, _innermost(results[0])))
        finally:
            STATE.trace, STATE.origin = previous, origin
        if len(results) == 1:
            return results if moved[0] is ZERO else [JVPTracer(self, results[0], moved[0])]
        return [y if t is ZERO else JVPTracer(self, y, t) for y, t in zip(results, moved, strict=True)]


def _innermost(value: Any) -> Any:
    """The value at the bottom of nested differentiation."""
    while value.__class__ is JVPTracer:
        value = value.primal
    return value


def jvp(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """The flat results of a flat function and their tangents (ZERO where nothing moves).

    While a linear program is being recorded (a rule is differentiating a function by hand), the tangents are its
    variables: what does not touch them must not be recorded.
    """
    current = STATE.trace
    trace = JVPTrace(current.parent, current) if current.__class__ is LinearTrace else JVPTrace(current)
    return _run(trace, function, primals, tangents)


def _run(
    trace: JVPTrace, function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    previous = STATE.trace
    operands = [x if t is ZERO else JVPTracer(trace, x, t) for x, t in zip(primals, tangents, strict=True)]
    try:
        STATE.trace = trace
        results = function(*operands)
    finally:
        STATE.trace = previous
        trace.alive = False
    mine = [y.__class__ is JVPTracer and y._trace is trace for y in results]
    return (
        [y.primal if own else y for y, own in zip(results, mine, strict=True)],
        [y.tangent if own else ZERO for y, own in zip(results, mine, strict=True)],
    )


class LinearProgram:
    """What a function does to small changes: recorded once, applied forward (jvp) or backward (vjp)."""

    __slots__ = ("inputs", "outputs", "recorder")

    def __init__(self, recorder: LinearTrace, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self.recorder = recorder
        self.inputs = inputs
        self.outputs = list(outputs)

    def force(self, avals: Sequence[ShapedArray], forced: Sequence[bool]) -> None:
        """Let the marked outputs be recorded zeros where nothing moves them."""
        for i, (aval, wanted) in enumerate(zip(avals, forced, strict=True)):
            if self.outputs[i] is ZERO and wanted and is_differentiable(aval.dtype):
                self.outputs[i] = self.recorder.zeros(strengthened(aval))

    def program(self) -> tuple[ClosedJaxpr, list[Any]]:
        """The recording as a program of (residuals, tangents that move), and the residuals."""
        residuals: dict[int, tuple[Any, Var]] = {}
        variables: dict[int, Var] = {}

        def new(x: LinearTracer) -> Var:
            made = variables[id(x)] = Var(x.aval)
            return made

        def operand(x: Any) -> Any:
            if x.__class__ is Literal:
                return x
            if id(x) in variables:
                return variables[id(x)]
            aval = aval_of(x)
            if not aval.shape and not isinstance(x, Tracer) and not hasattr(x, "block_until_ready"):
                return Literal(x, aval)
            return residuals.setdefault(id(x), (x, Var(aval)))[1]

        inputs = [new(x) for x in self.inputs if x is not ZERO]
        raw: list[RawEquation] = []
        for equation, forward in zip(self.recorder.equations, self.recorder.forward_of(), strict=True):
            operation, operands, results, code, lasti, origin = equation
            if origin is None:
                origin = Origin("tangent", forward, code, lasti)
            elif origin.role == "forward":
                origin = Origin("tangent", forward, code, lasti, origin.scope)
            raw.append((operation, [operand(x) for x in operands], [new(x) for x in results], code, lasti, origin))  # type: ignore[arg-type]
        outputs = [operand(x) for x in self.outputs if x is not ZERO]
        invars = [v for _, v in residuals.values()] + inputs
        return ClosedJaxpr(Jaxpr((), invars, outputs, raw)), [x for x, _ in residuals.values()]


def linearize(function: Callable[..., Sequence[Any]], primals: Sequence[Any]) -> tuple[list[Any], LinearProgram]:
    """The flat results of a flat function, and the linear program of its tangents.

    An operand of integer or boolean type does not move.
    """
    recorder = LinearTrace(STATE.trace)
    avals = [aval_of(x) for x in primals]
    tangents = [LinearTracer(strengthened(a), recorder) if is_differentiable(a.dtype) else ZERO for a in avals]
    results, moved = _run(JVPTrace(STATE.trace, recorder), function, primals, tangents)
    recorder.alive = False
    return results, LinearProgram(recorder, tangents, moved)


# Programs -----------------------------------------------------------------------------------------------------------


def jvp_program(
    program: ClosedJaxpr, moving: tuple[bool, ...], forced: tuple[bool, ...] | None = None
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """A program of (operands, tangents of the moving ones) to (results, tangents of those that move); and which do.

    Results marked in ``forced`` get a tangent, of zeros where nothing moves them.
    """
    key = ("jvp", moving, forced)
    found = program.derived.get(key)
    if found is None:
        out_moving: list[bool] = []

        def derivative(*arguments: Any) -> list[Any]:
            count = len(moving)
            given = iter(arguments[count:])
            tangents = [next(given) if m else ZERO for m in moving]
            results, moved = jvp(lambda *xs: evaluate(program, *xs), arguments[:count], tangents)
            if forced is not None:
                moved = instantiated(moved, program.out_avals, forced)
            out_moving[:] = [t is not ZERO for t in moved]
            return [*results, *(t for t in moved if t is not ZERO)]

        avals = program.in_avals
        made = stage_held(
            derivative, [*avals, *(strengthened(a) for a, m in zip(avals, moving, strict=True) if m)], program.name
        )
        found = program.derived[key] = (made, tuple(out_moving))
    return found


def instantiated(
    tangents: Sequence[Any], avals: Sequence[ShapedArray], forced: Sequence[bool] | None = None
) -> list[Any]:
    """Tangents or cotangents, with arrays of zeros for those that are ZERO (where ``forced``, if that is given)."""
    wanted = [True] * len(avals) if forced is None else forced
    return [
        zeros_of(strengthened(aval)) if t is ZERO and force and is_differentiable(aval.dtype) else t
        for t, aval, force in zip(tangents, avals, wanted, strict=True)
    ]


class SplitProgram:
    """A program split for reverse mode: ``forward`` gives results and residuals, ``linear`` takes tangents on.

    ``residuals`` says where each residual of ``linear`` is found: operand i as i, extra result j as -1 - j.
    """

    __slots__ = ("forward", "linear", "out_moving", "residuals")

    def __init__(
        self, forward: ClosedJaxpr, linear: ClosedJaxpr, residuals: Sequence[int], out_moving: Sequence[bool]
    ) -> None:
        self.forward = forward
        self.linear = linear
        self.residuals = tuple(residuals)
        self.out_moving = tuple(out_moving)


def linearize_program(
    program: ClosedJaxpr, moving: tuple[bool, ...], forced: tuple[bool, ...] | None = None
) -> SplitProgram:
    """Split a program for reverse mode, for operands of which those marked move.

    Results marked in ``forced`` get a tangent, of zeros where nothing moves them.
    """
    key = ("linearize", moving, forced)
    found = program.derived.get(key)
    if found is None:
        found = program.derived[key] = _split(program, moving, forced)
    return found


def _split(program: ClosedJaxpr, moving: tuple[bool, ...], forced: tuple[bool, ...] | None) -> SplitProgram:
    kept: dict[str, Any] = {}

    def forward(*operands: Any) -> list[Any]:
        def moved_only(*given: Any) -> list[Any]:
            rest = iter(given)
            return evaluate(program, *(next(rest) if m else x for x, m in zip(operands, moving, strict=True)))

        results, recording = linearize(moved_only, [x for x, m in zip(operands, moving, strict=True) if m])
        if forced is not None:
            recording.force(program.out_avals, forced)
        linear, residuals = recording.program()
        linear.jaxpr.name = program.name
        places = {id(x): i for i, x in enumerate(operands)}
        extra = [x for x in residuals if id(x) not in places]
        places.update((id(x), -1 - j) for j, x in enumerate(extra))
        kept["linear"], kept["moving"] = linear, [t is not ZERO for t in recording.outputs]
        kept["residuals"] = [places[id(x)] for x in residuals]
        return [*results, *extra]

    made = stage_held(forward, program.in_avals, program.name)
    return SplitProgram(made, kept["linear"], kept["residuals"], kept["moving"])
