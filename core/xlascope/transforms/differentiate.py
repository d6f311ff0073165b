"""Forward differentiation of functions and programs: jvp, and linearize, which records the linear part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dtypes import is_differentiable
from ..ir.avals import ShapedArray, strip_weak_type
from ..ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, Origin, RawEquation, Var
from ..ir.markers import ZERO
from ..operations.shapes import zeros_of
from ..trace.state import STATE
from ..trace.tracer import TracerBase
from ..trace.values import aval_of
from .evaluate import evaluate
from .jvp_trace import JVPTrace, JVPTracer
from .linear_trace import LinearTrace, LinearTracer
from .staging import stage_with_consts
from .varying_tangents import start_jvp_trace, start_linear_trace


def jvp(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Return the results of a function and their tangents, ``ZERO`` for zero tangents.

    ``function`` takes operands and returns a sequence of results; ``tangents`` has a tangent or ``ZERO`` for
    each of ``primals``. While a linear program is being recorded (a rule is differentiating a function by
    hand), the tangents are its variables: operations that do not touch them must not be recorded.
    """
    current = STATE.trace
    is_recording = isinstance(current, LinearTrace)
    trace = start_jvp_trace(current.parent, current) if is_recording else start_jvp_trace(current)
    return _run_jvp(trace, function, primals, tangents)


def _run_jvp(
    trace: JVPTrace, function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Run a function on tracers of ``trace`` and return its results and their tangents, ``ZERO`` for zero tangents."""
    previous = STATE.trace
    operands = [x if t is ZERO else JVPTracer(trace, x, t) for x, t in zip(primals, tangents, strict=True)]
    try:
        STATE.trace = trace
        results = function(*operands)
    finally:
        STATE.trace = previous
        trace.alive = False
    owned = [y.__class__ is JVPTracer and y._trace is trace for y in results]
    return (
        [y.primal if is_own else y for y, is_own in zip(results, owned, strict=True)],
        [y.tangent if is_own else ZERO for y, is_own in zip(results, owned, strict=True)],
    )


class LinearProgram:
    """Linearization of a function: recorded once, applied forward (jvp) or backward (vjp).

    ``recorder`` has the equations; ``inputs`` are the tangents of the operands and ``outputs`` those of the
    results, both with ``ZERO`` for zero tangents.
    """

    __slots__ = ("inputs", "outputs", "recorder")

    def __init__(self, recorder: LinearTrace, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self.recorder = recorder
        self.inputs = inputs
        self.outputs = list(outputs)

    def instantiate_zeros(self, avals: Sequence[ShapedArray], instantiate: Sequence[bool]) -> None:
        """Replace ``ZERO`` by a recorded tangent of zeros in the outputs marked in ``instantiate``.

        ``avals`` are the types of the outputs; those that are not differentiable keep ``ZERO``.
        """
        for i, (aval, force) in enumerate(zip(avals, instantiate, strict=True)):
            if self.outputs[i] is ZERO and force and is_differentiable(aval.dtype):
                self.outputs[i] = self.recorder.zeros(strip_weak_type(aval))

    def to_program(self) -> tuple[ClosedJaxpr, list[Any]]:
        """Return the recording as a program, and the values of its residuals.

        The program takes the residuals and then the nonzero tangents of the inputs; it returns those of the
        outputs.
        """
        return self.recorder.run_as_recorded(self._to_program)

    def _to_program(self) -> tuple[ClosedJaxpr, list[Any]]:
        residuals: dict[int, tuple[Any, Var]] = {}
        variables: dict[int, Var] = {}

        def new_var(x: LinearTracer) -> Var:
            variable = variables[id(x)] = Var(x.aval)
            return variable

        def lift(x: Any) -> Any:
            if x.__class__ is Literal:
                return x
            if id(x) in variables:
                return variables[id(x)]
            aval = aval_of(x)
            if not aval.shape and not isinstance(x, TracerBase) and not hasattr(x, "block_until_ready"):
                return Literal(x, aval)
            return residuals.setdefault(id(x), (x, Var(aval)))[1]

        inputs = [new_var(x) for x in self.inputs if x is not ZERO]
        raw: list[RawEquation] = []
        for (operation, operands, results, code, lasti, origin), forward in self.recorder.equations():
            if origin is None:
                origin = Origin("tangent", forward, code, lasti)
            elif origin.role == "forward":
                origin = Origin("tangent", forward, code, lasti, origin.scope)
            raw.append((operation, [lift(x) for x in operands], [new_var(x) for x in results], code, lasti, origin))  # type: ignore[arg-type]
        outputs = [lift(x) for x in self.outputs if x is not ZERO]
        invars = [v for _, v in residuals.values()] + inputs
        return ClosedJaxpr(Jaxpr((), invars, outputs, raw)), [x for x, _ in residuals.values()]


def linearize(function: Callable[..., Sequence[Any]], primals: Sequence[Any]) -> tuple[list[Any], LinearProgram]:
    """Return the results of a function at ``primals``, and the linear program for their tangents.

    ``function`` takes operands and returns a sequence of results. An operand of integer or boolean type has
    no tangent.
    """
    recorder = start_linear_trace(STATE.trace)
    avals = [aval_of(x) for x in primals]
    tangents = [LinearTracer(strip_weak_type(a), recorder) if is_differentiable(a.dtype) else ZERO for a in avals]
    results, out_tangents = _run_jvp(start_jvp_trace(STATE.trace, recorder), function, primals, tangents)
    recorder.alive = False
    return results, LinearProgram(recorder, tangents, out_tangents)


# Programs -----------------------------------------------------------------------------------------------------------


def jvp_program(
    program: ClosedJaxpr, nonzero: tuple[bool, ...], instantiate: tuple[bool, ...] | None = None
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """Return the program that computes results and their nonzero tangents, and the mask of the results that have these.

    ``nonzero`` is the mask of the operands with nonzero tangents: the program takes all operands, then these
    tangents. Results marked in ``instantiate`` get a tangent in any case, of zeros if need be.
    """
    key = ("jvp", nonzero, instantiate)
    entry = program.derived.get(key)
    if entry is None:
        nonzero_out: list[bool] = []

        def run_jvp(*arguments: Any) -> list[Any]:
            count = len(nonzero)
            remaining = iter(arguments[count:])
            tangents = [next(remaining) if m else ZERO for m in nonzero]
            results, out_tangents = jvp(lambda *xs: evaluate(program, *xs), arguments[:count], tangents)
            if instantiate is not None:
                out_tangents = instantiate_zeros(out_tangents, program.out_avals, instantiate)
            nonzero_out[:] = [t is not ZERO for t in out_tangents]
            return [*results, *(t for t in out_tangents if t is not ZERO)]

        avals = program.in_avals
        staged = stage_with_consts(
            run_jvp, [*avals, *(strip_weak_type(a) for a, m in zip(avals, nonzero, strict=True) if m)], program.name
        )
        entry = program.derived[key] = (staged, tuple(nonzero_out))
    return entry


def instantiate_zeros(
    tangents: Sequence[Any], avals: Sequence[ShapedArray], instantiate: Sequence[bool] | None = None
) -> list[Any]:
    """Return tangents or cotangents with ``ZERO`` replaced by arrays of zeros.

    This is done for all of them or those marked in ``instantiate``.

    ``avals`` are the types of the values; those that are not differentiable keep ``ZERO``.
    """
    mask = [True] * len(avals) if instantiate is None else instantiate
    return [
        zeros_of(strip_weak_type(aval)) if t is ZERO and force and is_differentiable(aval.dtype) else t
        for t, aval, force in zip(tangents, avals, mask, strict=True)
    ]


class SplitProgram:
    """Program split for reverse mode: ``forward`` computes results and residuals, ``linear`` maps tangents.

    ``linear`` takes its residuals, then nonzero tangents. ``residuals`` says where each residual comes from:
    i stands for operand i of ``forward``, -1 - j for its result j after the results of the original program.
    ``nonzero_out_tangents`` is the mask of the results with a tangent.
    """

    __slots__ = ("forward", "linear", "nonzero_out_tangents", "residuals")

    def __init__(
        self, forward: ClosedJaxpr, linear: ClosedJaxpr, residuals: Sequence[int], nonzero_out_tangents: Sequence[bool]
    ) -> None:
        self.forward = forward
        self.linear = linear
        self.residuals = tuple(residuals)
        self.nonzero_out_tangents = tuple(nonzero_out_tangents)


def linearize_program(
    program: ClosedJaxpr, nonzero: tuple[bool, ...], instantiate: tuple[bool, ...] | None = None
) -> SplitProgram:
    """Split a program for reverse mode; ``nonzero`` is the mask of the operands with nonzero tangents.

    Results marked in ``instantiate`` get a tangent in any case, of zeros if need be.
    """
    key = ("linearize", nonzero, instantiate)
    entry = program.derived.get(key)
    if entry is None:
        entry = program.derived[key] = _split_program(program, nonzero, instantiate)
    return entry


def _split_program(
    program: ClosedJaxpr, nonzero: tuple[bool, ...], instantiate: tuple[bool, ...] | None
) -> SplitProgram:
    """Return a program split for reverse mode; see :func:`linearize_program`, which caches the result."""
    linearized: dict[str, Any] = {}

    def run_forward(*operands: Any) -> list[Any]:
        def apply_to_nonzero(*arguments: Any) -> list[Any]:
            remaining = iter(arguments)
            return evaluate(program, *(next(remaining) if m else x for x, m in zip(operands, nonzero, strict=True)))

        results, recording = linearize(apply_to_nonzero, [x for x, m in zip(operands, nonzero, strict=True) if m])
        if instantiate is not None:
            recording.instantiate_zeros(program.out_avals, instantiate)
        linear, residuals = recording.to_program()
        linear.jaxpr.name = program.name
        places = {id(x): i for i, x in enumerate(operands)}
        extra = [x for x in residuals if id(x) not in places]
        places.update((id(x), -1 - j) for j, x in enumerate(extra))
        linearized["linear"], linearized["moving"] = linear, [t is not ZERO for t in recording.outputs]
        linearized["residuals"] = [places[id(x)] for x in residuals]
        return [*results, *extra]

    staged = stage_with_consts(run_forward, program.in_avals, program.name)
    return SplitProgram(staged, linearized["linear"], linearized["residuals"], linearized["moving"])
