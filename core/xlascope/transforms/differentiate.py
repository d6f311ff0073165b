"""Forward differentiation of functions and of programs: jvp, and linearize, which records what happens to tangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dtypes import is_differentiable
from ..ir.avals import ShapedArray, strengthened
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, Origin, RawEquation, Var
from ..ir.markers import ZERO
from ..operations.shapes import zeros_of
from ..trace.state import STATE
from ..trace.tracer import Tracer
from ..trace.values import aval_of
from .evaluate import evaluate
from .jvp_trace import JVPTrace, JVPTracer
from .recording import LinearTrace, LinearTracer
from .staging import stage_held


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
        for (operation, operands, results, code, lasti, origin), forward in self.recorder.equations():
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
