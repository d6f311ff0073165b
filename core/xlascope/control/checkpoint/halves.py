"""How a checkpointed program is split: what it computes and saves, and what is computed again for the derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ir.effects import is_io
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, Origin, RawEquation, Var
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.state import STATE
from ...transforms.dce import dce_program, needed_equations
from ...transforms.differentiate import linearize_program
from ...transforms.evaluate import evaluate
from ..flow.scan import Scan
from ..flow.slices import stacked
from ..programs.call import Call
from .policies import Policy, saves


class Halves(NamedTuple):
    """``forward`` gives the results and what is saved; ``again`` takes the kept of (operands, saved), and tangents."""

    forward: ClosedJaxpr
    again: ClosedJaxpr
    kept: tuple[bool, ...]
    out_moving: Sequence[bool]


def halves_of(program: ClosedJaxpr, moving: tuple[bool, ...], policy: Policy | None) -> Halves:
    """The halves of a program for operands of which those marked move."""
    key = ("remat halves", moving, policy)
    found = program.derived.get(key)
    if found is None:
        found = program.derived[key] = _split(program, moving, policy)
    return found


def _split(program: ClosedJaxpr, moving: tuple[bool, ...], policy: Policy | None) -> Halves:
    if is_io(program.effects):
        raise NotImplementedError(
            f"io_callback in a checkpointed function ({program.name}) cannot be differentiated in reverse mode: the "
            "function runs again for its derivative, and with it what may happen just once. Take it out of the function"
        )
    split = linearize_program(program, moving)
    count = len(split.out_moving)
    whole = split.forward if policy is None else _inlined(split.forward)
    jaxpr = whole.jaxpr
    saved, raw, whole_raw = _cut(jaxpr.raw, jaxpr.outvars[count:], policy)
    operands = [*jaxpr.invars, *saved]
    residuals = ClosedJaxpr(Jaxpr((), operands, jaxpr.outvars[count:], raw, jaxpr.name))
    tangents = split.linear.in_avals[len(split.residuals) :]

    def again(*values: Any) -> list[Any]:
        known, moves = values[: len(operands)], values[len(operands) :]
        extra = evaluate(residuals, *known)
        chosen = [known[place] if place >= 0 else extra[-1 - place] for place in split.residuals]
        return evaluate(split.linear, *chosen, *moves)

    staged = stage(again, [*(v.aval for v in operands), *tangents], program.name)
    # Tangents stay even where nothing depends on them: they are counted by whoever calls.
    needed = dce_program(staged, (True,) * len(staged.out_avals))[1][: len(operands)]
    kept = [v for v, keep in zip(staged.jaxpr.invars, needed, strict=False) if keep]
    invars = [*kept, *staged.jaxpr.invars[len(operands) :]]
    outvars = staged.jaxpr.outvars
    trimmed = Jaxpr((), invars, outvars, needed_equations(staged.jaxpr.raw, outvars)[1], program.name)
    results = [*jaxpr.outvars[:count], *saved]
    forward = Jaxpr((), jaxpr.invars, results, needed_equations(whole_raw, results)[1], program.name)
    return Halves(ClosedJaxpr(forward), ClosedJaxpr(trimmed), needed, split.out_moving)


class _Cut(NamedTuple):
    """Equations cut in two: ``saved`` is what ``again`` needs of what ``forward`` computes, besides its operands."""

    saved: list[Any]
    again: list[RawEquation]
    forward: list[RawEquation]


def _cut(raw: Sequence[RawEquation], outvars: Sequence[Any], policy: Policy | None) -> _Cut:
    """Let the policy save some of what ``outvars`` depend on, and have the rest of it computed again."""
    needed = {id(x) for x in outvars if x.__class__ is not Literal}
    saved: list[Any] = []
    again: list[RawEquation] = []
    forward: list[RawEquation] = []
    for equation in reversed(raw):
        operation, inputs, outputs, *_ = equation
        wanted = [v for v in outputs if id(v) in needed]
        effects = bool(operation.effects)  # what shows values does so again
        if wanted and policy is not None:
            if saves(policy, operation, [x.aval for x in inputs]):
                saved += wanted
                wanted = []
                effects = False
            elif isinstance(operation, Scan):
                equation, repeated, stacks = _cut_scan(equation, [id(v) in needed for v in outputs], policy)
                saved += stacks
                again.append(repeated)
                needed.update(id(x) for x in inputs if x.__class__ is not Literal)
                wanted = []
                effects = False
        forward.append(equation)
        if wanted or effects:
            again.append(equation)
            needed.update(id(x) for x in inputs if x.__class__ is not Literal)
    return _Cut(saved[::-1], again[::-1], forward[::-1])


def _cut_scan(
    equation: RawEquation, used: Sequence[bool], policy: Policy
) -> tuple[RawEquation, RawEquation, list[Var]]:
    """A scan whose steps save what the policy says, a scan that takes it step by step to give what is used, and it."""
    scan, inputs, outputs, code, lasti, origin = equation
    assert isinstance(scan, Scan)
    jaxpr, count = _inlined(scan.jaxpr).jaxpr, scan.num_carry
    kept = [i for i, use in enumerate(used) if use or i < count]
    outvars = [jaxpr.outvars[i] for i in kept]
    cut = _cut(jaxpr.raw, outvars, policy)
    if not cut.saved:
        return equation, equation, []
    saving = ClosedJaxpr(Jaxpr((), jaxpr.invars, [*jaxpr.outvars, *cut.saved], cut.forward, jaxpr.name))
    taking = ClosedJaxpr(Jaxpr((), [*jaxpr.invars, *cut.saved], outvars, cut.again, jaxpr.name))
    stacks = [Var(stacked(v.aval, scan.length)) for v in cut.saved]
    return (
        (scan.of(saving, scan.num_consts, count), inputs, [*outputs, *stacks], code, lasti, origin),
        (scan.of(taking, scan.num_consts, count), [*inputs, *stacks], [outputs[i] for i in kept], code, lasti, origin),
        stacks,
    )


def _inlined(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program with the jitted functions that it calls written out, so that a policy sees what is in them."""
    if not any(equation[0].__class__ is Call for equation in program.jaxpr.raw):
        return program
    found = program.derived.get("inlined")
    if found is None:
        staged = stage(lambda *xs: _evaluate_inline(program, xs), program.in_avals, program.name)
        found = program.derived["inlined"] = staged
    return found


def _evaluate_inline(program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    values: dict[int, Any] = {id(v): x for v, x in zip(program.jaxpr.invars, operands, strict=True)}
    previous = STATE.origin
    try:
        for operation, inputs, outputs, code, lasti, origin in program.jaxpr.raw:
            STATE.origin = origin or previous or Origin("forward", None, code, lasti)
            given = [x.operand if x.__class__ is Literal else values[id(x)] for x in inputs]
            if isinstance(operation, Call):
                results = _evaluate_inline(operation.jaxpr, given)
            else:
                results = bind(operation, *given)
            values.update((id(v), y) for v, y in zip(outputs, results, strict=True))
    finally:
        STATE.origin = previous
    return [x.operand if x.__class__ is Literal else values[id(x)] for x in program.jaxpr.outvars]
