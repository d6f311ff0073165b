"""Split of a checkpointed program: the part that is computed and saved, and the part that is recomputed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ir.effects import is_io
from ...ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, Origin, RawEquation, Var
from ...trace.bind import bind
from ...trace.jaxpr_trace import stage
from ...trace.state import STATE
from ...trace.values import exact_result, literal_operand
from ...transforms.dce import dce_program, find_live_equations
from ...transforms.differentiate import linearize_program
from ...transforms.evaluate import evaluate
from ..flow.scan_op import Scan
from ..flow.slice_avals import to_stacked_aval
from ..programs.call import JitCall
from .policies import Policy, should_save


class SplitRemat(NamedTuple):
    """A checkpointed program split for reverse mode.

    ``forward`` takes the operands and returns the results and the saved values. ``recompute`` takes those of
    (operands, saved values) that ``used_inputs`` marks, and then the nonzero tangents; it returns the tangents of the
    results that ``out_moving`` marks.
    """

    forward: ClosedJaxpr
    recompute: ClosedJaxpr
    used_inputs: tuple[bool, ...]
    out_moving: Sequence[bool]


def split_remat(program: ClosedJaxpr, nonzero: tuple[bool, ...], policy: Policy | None) -> SplitRemat:
    """Return the split of a program for the case that the operands marked by ``nonzero`` have tangents.

    ``policy`` selects the saved values; None saves none. The split is cached in ``program.derived``.
    """
    key = ("remat halves", nonzero, policy)
    split = program.derived.get(key)
    if split is None:
        split = program.derived[key] = _build_split(program, nonzero, policy)
    return split


def _build_split(program: ClosedJaxpr, nonzero: tuple[bool, ...], policy: Policy | None) -> SplitRemat:
    """Return the split that :func:`split_remat` caches.

    ``nonzero`` marks the operands with tangents; ``policy`` selects the saved values, None saves none. Raises
    NotImplementedError for a program with ``io_callback``.
    """
    if is_io(program.effects):
        raise NotImplementedError(
            f"io_callback in a checkpointed function ({program.name}) cannot be differentiated in reverse mode: the "
            "function runs again for its derivative, and with it what may happen just once. Take it out of the function"
        )
    split = linearize_program(program, nonzero)
    count = len(split.nonzero_out_tangents)
    forward_program = split.forward if policy is None else _inline_calls(split.forward)
    jaxpr = forward_program.jaxpr
    saved, raw, forward_raw = _partition_equations(jaxpr.raw, jaxpr.outvars[count:], policy)
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
    trimmed = Jaxpr((), invars, outvars, find_live_equations(staged.jaxpr.raw, outvars)[1], program.name)
    results = [*jaxpr.outvars[:count], *saved]
    forward = Jaxpr((), jaxpr.invars, results, find_live_equations(forward_raw, results)[1], program.name)
    return SplitRemat(ClosedJaxpr(forward), ClosedJaxpr(trimmed), needed, split.nonzero_out_tangents)


class _PartitionedEquations(NamedTuple):
    """Equations to run in the forward pass, and those to run again in the backward pass.

    ``saved`` are the variables that ``forward`` computes and ``recomputed`` reads.
    """

    saved: list[Any]
    recomputed: list[RawEquation]
    forward: list[RawEquation]


def _partition_equations(
    raw: Sequence[RawEquation], outvars: Sequence[Any], policy: Policy | None
) -> _PartitionedEquations:
    """Partition equations into those of the forward pass and those that the backward pass recomputes.

    The backward pass needs ``outvars``. Values that they depend on and that ``policy`` saves are not recomputed.
    """
    needed = {id(x) for x in outvars if x.__class__ is not Literal}
    saved: list[Any] = []
    recomputed: list[RawEquation] = []
    forward: list[RawEquation] = []
    for equation in reversed(raw):
        operation, inputs, outputs, *_ = equation
        needed_outputs = [v for v in outputs if id(v) in needed]
        effects = bool(operation.effects)  # effects such as debug.print happen again
        if needed_outputs and policy is not None:
            if should_save(policy, operation, [x.aval for x in inputs]):
                saved += needed_outputs
                needed_outputs = []
                effects = False
            elif isinstance(operation, Scan):
                equation, recomputed_scan, stacks = _partition_scan(
                    equation, [id(v) in needed for v in outputs], policy
                )
                saved += stacks
                recomputed.append(recomputed_scan)
                needed.update(id(x) for x in inputs if x.__class__ is not Literal)
                needed_outputs = []
                effects = False
        forward.append(equation)
        if needed_outputs or effects:
            recomputed.append(equation)
            needed.update(id(x) for x in inputs if x.__class__ is not Literal)
    return _PartitionedEquations(saved[::-1], recomputed[::-1], forward[::-1])


def _partition_scan(
    equation: RawEquation, used: Sequence[bool], policy: Policy
) -> tuple[RawEquation, RawEquation, list[Var]]:
    """Partition a scan into one whose iterations save values, and one that recomputes results from them.

    ``used`` marks the results that the backward pass needs. Returns both equations, and the variables of the stacked
    saved values. If the policy saves nothing in the body, both are the equation itself.
    """
    scan, inputs, outputs, code, lasti, origin = equation
    assert isinstance(scan, Scan)
    jaxpr, count = _inline_calls(scan.jaxpr).jaxpr, scan.num_carry
    used_results = [i for i, use in enumerate(used) if use or i < count]
    outvars = [jaxpr.outvars[i] for i in used_results]
    partition = _partition_equations(jaxpr.raw, outvars, policy)
    if not partition.saved:
        return equation, equation, []
    saving_body = ClosedJaxpr(
        Jaxpr((), jaxpr.invars, [*jaxpr.outvars, *partition.saved], partition.forward, jaxpr.name)
    )
    reading_body = ClosedJaxpr(Jaxpr((), [*jaxpr.invars, *partition.saved], outvars, partition.recomputed, jaxpr.name))
    stacks = [Var(to_stacked_aval(v.aval, scan.length)) for v in partition.saved]
    return (
        (scan.with_body(saving_body, scan.num_consts, count), inputs, [*outputs, *stacks], code, lasti, origin),
        (
            scan.with_body(reading_body, scan.num_consts, count),
            [*inputs, *stacks],
            [outputs[i] for i in used_results],
            code,
            lasti,
            origin,
        ),
        stacks,
    )


def _inline_calls(program: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program with its calls of jitted functions inlined, so that a policy sees their equations."""
    if not any(equation[0].__class__ is JitCall for equation in program.jaxpr.raw):
        return program
    inlined = program.derived.get("inlined")
    if inlined is None:
        staged = stage(lambda *xs: _evaluate_inline(program, xs), program.in_avals, program.name)
        inlined = program.derived["inlined"] = staged
    return inlined


def _evaluate_inline(program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    """Evaluate a program one equation at a time, inlining the jitted functions that it calls; return its results."""
    values: dict[int, Any] = {id(v): x for v, x in zip(program.jaxpr.invars, operands, strict=True)}
    previous = STATE.origin
    try:
        for operation, inputs, outputs, code, lasti, origin in program.jaxpr.raw:
            STATE.origin = origin or previous or Origin("forward", None, code, lasti)
            operand_values = [literal_operand(x) if x.__class__ is Literal else values[id(x)] for x in inputs]
            if isinstance(operation, JitCall):
                results = _evaluate_inline(operation.jaxpr, operand_values)
            else:
                results = bind(operation, *operand_values)
            values.update((id(v), y) for v, y in zip(outputs, results, strict=True))
    finally:
        STATE.origin = previous
    return [exact_result(x.operand, x.aval) if x.__class__ is Literal else values[id(x)] for x in program.jaxpr.outvars]
