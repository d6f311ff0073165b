"""Split of a checkpointed program: the part that is computed and saved, and the part that is recomputed."""

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
    """A checkpointed program split for reverse mode.

    ``forward`` returns the results and the saved values. ``recompute`` takes those of (operands, saved values)
    that ``used_inputs`` marks, and tangents.
    """

    forward: ClosedJaxpr
    again: ClosedJaxpr
    kept: tuple[bool, ...]
    out_moving: Sequence[bool]


def halves_of(program: ClosedJaxpr, nonzero: tuple[bool, ...], policy: Policy | None) -> Halves:
    """Return the split of a program for tangents of the marked operands."""
    key = ("remat halves", nonzero, policy)
    split = program.derived.get(key)
    if split is None:
        split = program.derived[key] = _split(program, nonzero, policy)
    return split


def _split(program: ClosedJaxpr, nonzero: tuple[bool, ...], policy: Policy | None) -> Halves:
    if is_io(program.effects):
        raise NotImplementedError(
            f"io_callback in a checkpointed function ({program.name}) cannot be differentiated in reverse mode: the "
            "function runs again for its derivative, and with it what may happen just once. Take it out of the function"
        )
    split = linearize_program(program, nonzero)
    count = len(split.out_moving)
    forward_program = split.forward if policy is None else _inlined(split.forward)
    jaxpr = forward_program.jaxpr
    saved, raw, forward_raw = _cut(jaxpr.raw, jaxpr.outvars[count:], policy)
    operands = [*jaxpr.invars, *saved]
    residuals = ClosedJaxpr(Jaxpr((), operands, jaxpr.outvars[count:], raw, jaxpr.name))
    tangents = split.linear.in_avals[len(split.residuals) :]

    def recompute_tangents(*values: Any) -> list[Any]:
        operand_values, tangent_values = values[: len(operands)], values[len(operands) :]
        extra = evaluate(residuals, *operand_values)
        residual_values = [operand_values[index] if index >= 0 else extra[-1 - index] for index in split.residuals]
        return evaluate(split.linear, *residual_values, *tangent_values)

    staged = stage(recompute_tangents, [*(v.aval for v in operands), *tangents], program.name)
    # Keep tangents even if nothing depends on them: the caller relies on their number.
    needed = dce_program(staged, (True,) * len(staged.out_avals))[1][: len(operands)]
    used_operands = [v for v, keep in zip(staged.jaxpr.invars, needed, strict=False) if keep]
    invars = [*used_operands, *staged.jaxpr.invars[len(operands) :]]
    outvars = staged.jaxpr.outvars
    trimmed = Jaxpr((), invars, outvars, needed_equations(staged.jaxpr.raw, outvars)[1], program.name)
    results = [*jaxpr.outvars[:count], *saved]
    forward = Jaxpr((), jaxpr.invars, results, needed_equations(forward_raw, results)[1], program.name)
    return Halves(ClosedJaxpr(forward), ClosedJaxpr(trimmed), needed, split.out_moving)


class _Cut(NamedTuple):
    """Partition of equations: ``saved`` are the values of ``forward`` that ``recomputed`` needs as well."""

    saved: list[Any]
    again: list[RawEquation]
    forward: list[RawEquation]


def _cut(raw: Sequence[RawEquation], outvars: Sequence[Any], policy: Policy | None) -> _Cut:
    """Partition equations: the policy saves some values that ``outvars`` depend on; the others are recomputed."""
    needed = {id(x) for x in outvars if x.__class__ is not Literal}
    saved: list[Any] = []
    recomputed: list[RawEquation] = []
    forward: list[RawEquation] = []
    for equation in reversed(raw):
        operation, inputs, outputs, *_ = equation
        needed_outputs = [v for v in outputs if id(v) in needed]
        effects = bool(operation.effects)  # effects such as debug.print happen again
        if needed_outputs and policy is not None:
            if saves(policy, operation, [x.aval for x in inputs]):
                saved += needed_outputs
                needed_outputs = []
                effects = False
            elif isinstance(operation, Scan):
                equation, recomputed_scan, stacks = _cut_scan(equation, [id(v) in needed for v in outputs], policy)
                saved += stacks
                recomputed.append(recomputed_scan)
                needed.update(id(x) for x in inputs if x.__class__ is not Literal)
                needed_outputs = []
                effects = False
        forward.append(equation)
        if needed_outputs or effects:
            recomputed.append(equation)
            needed.update(id(x) for x in inputs if x.__class__ is not Literal)
    return _Cut(saved[::-1], recomputed[::-1], forward[::-1])


def _cut_scan(
    equation: RawEquation, used: Sequence[bool], policy: Policy
) -> tuple[RawEquation, RawEquation, list[Var]]:
    """Partition a scan into one whose steps save values and one that recomputes the used results from them.

    Returns both equations, and the variables of the saved values.
    """
    scan, inputs, outputs, code, lasti, origin = equation
    assert isinstance(scan, Scan)
    jaxpr, count = _inlined(scan.jaxpr).jaxpr, scan.num_carry
    used_results = [i for i, use in enumerate(used) if use or i < count]
    outvars = [jaxpr.outvars[i] for i in used_results]
    partition = _cut(jaxpr.raw, outvars, policy)
    if not partition.saved:
        return equation, equation, []
    saving_body = ClosedJaxpr(
        Jaxpr((), jaxpr.invars, [*jaxpr.outvars, *partition.saved], partition.forward, jaxpr.name)
    )
    reading_body = ClosedJaxpr(Jaxpr((), [*jaxpr.invars, *partition.saved], outvars, partition.again, jaxpr.name))
    stacks = [Var(stacked(v.aval, scan.length)) for v in partition.saved]
    return (
        (scan.of(saving_body, scan.num_consts, count), inputs, [*outputs, *stacks], code, lasti, origin),
        (
            scan.of(reading_body, scan.num_consts, count),
            [*inputs, *stacks],
            [outputs[i] for i in used_results],
            code,
            lasti,
            origin,
        ),
        stacks,
    )


def _inlined(program: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program with its calls of jitted functions inlined, so that a policy sees their equations."""
    if not any(equation[0].__class__ is Call for equation in program.jaxpr.raw):
        return program
    inlined = program.derived.get("inlined")
    if inlined is None:
        staged = stage(lambda *xs: _evaluate_inline(program, xs), program.in_avals, program.name)
        inlined = program.derived["inlined"] = staged
    return inlined


def _evaluate_inline(program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    values: dict[int, Any] = {id(v): x for v, x in zip(program.jaxpr.invars, operands, strict=True)}
    previous = STATE.origin
    try:
        for operation, inputs, outputs, code, lasti, origin in program.jaxpr.raw:
            STATE.origin = origin or previous or Origin("forward", None, code, lasti)
            operand_values = [x.operand if x.__class__ is Literal else values[id(x)] for x in inputs]
            if isinstance(operation, Call):
                results = _evaluate_inline(operation.jaxpr, operand_values)
            else:
                results = bind(operation, *operand_values)
            values.update((id(v), y) for v, y in zip(outputs, results, strict=True))
    finally:
        STATE.origin = previous
    return [x.operand if x.__class__ is Literal else values[id(x)] for x in program.jaxpr.outvars]
