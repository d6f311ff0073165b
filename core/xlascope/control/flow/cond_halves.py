"""Reverse mode of cond: forward and linear halves of all branches, with a common list of residuals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...operations.shapes import zeros_of
from ...trace.jaxpr_trace import stage
from ...transforms.differentiate import SplitProgram
from ...transforms.evaluate import evaluate
from ..programs.rearranged import youngest


class Halves(NamedTuple):
    """Branches split for reverse mode.

    The ``forward`` programs return results and residuals. The ``linear`` programs take residuals, the operands
    whose indices are in ``operands``, and tangents.
    """

    forward: tuple[ClosedJaxpr, ...]
    linear: tuple[ClosedJaxpr, ...]
    operands: Sequence[int]


def halves_of(splits: Sequence[SplitProgram]) -> Halves:
    """Return the forward and linear halves of all branches, in which residuals of one type share a slot."""
    key = ("halves", *splits)
    owner = youngest([split.forward for split in splits])
    branches = owner.derived.get(key)
    if branches is None:
        count = len(splits[0].out_moving)
        slot_avals: list[ShapedArray] = []
        slots_by_branch = [_places_for(split.forward.out_avals[count:], slot_avals) for split in splits]
        operands = sorted({index for split in splits for index in split.residuals if index >= 0})
        forward = tuple(
            [_forward(s, slots, slot_avals, count) for s, slots in zip(splits, slots_by_branch, strict=True)]
        )
        linear = tuple(
            [_linear(s, slots, slot_avals, operands) for s, slots in zip(splits, slots_by_branch, strict=True)]
        )
        branches = owner.derived[key] = Halves(forward, linear, operands)
    return branches


def _places_for(avals: Sequence[ShapedArray], slot_avals: list[ShapedArray]) -> list[int]:
    """Assign a slot in ``slot_avals`` to each residual, and append slots where none of its type is free."""
    slots: list[int] = []
    for aval in avals:
        free = [i for i, slot_aval in enumerate(slot_avals) if slot_aval is aval and i not in slots]
        if not free:
            slot_avals.append(aval)
            free = [len(slot_avals) - 1]
        slots.append(free[0])
    return slots


def _forward(split: SplitProgram, slots: Sequence[int], slot_avals: Sequence[ShapedArray], count: int) -> ClosedJaxpr:
    def run_forward(*operands: Any) -> list[Any]:
        results = evaluate(split.forward, *operands)
        residuals: list[Any] = [None] * len(slot_avals)
        for slot, x in zip(slots, results[count:], strict=True):
            residuals[slot] = x
        return results[:count] + [zeros_of(a) if x is None else x for x, a in zip(residuals, slot_avals, strict=True)]

    return stage(run_forward, split.forward.in_avals, split.forward.name)


def _linear(
    split: SplitProgram, slots: Sequence[int], slot_avals: Sequence[ShapedArray], operands: Sequence[int]
) -> ClosedJaxpr:
    in_avals = split.forward.in_avals
    tangent_avals = split.linear.in_avals[len(split.residuals) :]

    def run_linear(*arguments: Any) -> list[Any]:
        residuals, primal_operands = (
            arguments[: len(slot_avals)],
            arguments[len(slot_avals) : len(slot_avals) + len(operands)],
        )
        tangents = arguments[len(slot_avals) + len(operands) :]
        residual_values = [
            primal_operands[operands.index(p)] if p >= 0 else residuals[slots[-1 - p]] for p in split.residuals
        ]
        return evaluate(split.linear, *residual_values, *tangents)

    avals = [*slot_avals, *(in_avals[i] for i in operands), *tangent_avals]
    return stage(run_linear, avals, split.linear.name)
