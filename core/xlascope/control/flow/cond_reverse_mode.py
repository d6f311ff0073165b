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
from ..programs.program_rewrites import latest_program


class SplitBranches(NamedTuple):
    """Branches of a cond split for reverse mode, with a common list of residuals.

    The ``forward`` programs return results and residuals. The ``linear`` programs take residuals, the operands whose
    indices are in ``operands``, and tangents.
    """

    forward: tuple[ClosedJaxpr, ...]
    linear: tuple[ClosedJaxpr, ...]
    operands: Sequence[int]


def split_branches(splits: Sequence[SplitProgram]) -> SplitBranches:
    """Return the forward and linear halves of all branches, given each branch split on its own.

    Residuals of different branches with one type share a slot, so that all branches return the same types.
    """
    key = ("halves", *splits)
    owner = latest_program([split.forward for split in splits])
    branches = owner.derived.get(key)
    if branches is None:
        count = len(splits[0].nonzero_out_tangents)
        slot_avals: list[ShapedArray] = []
        slots_by_branch = [_assign_residual_slots(split.forward.out_avals[count:], slot_avals) for split in splits]
        operands = sorted({index for split in splits for index in split.residuals if index >= 0})
        forward = tuple(
            [
                _build_forward_branch(s, slots, slot_avals, count)
                for s, slots in zip(splits, slots_by_branch, strict=True)
            ]
        )
        linear = tuple(
            [
                _build_linear_branch(s, slots, slot_avals, operands)
                for s, slots in zip(splits, slots_by_branch, strict=True)
            ]
        )
        branches = owner.derived[key] = SplitBranches(forward, linear, operands)
    return branches


def _assign_residual_slots(avals: Sequence[ShapedArray], slot_avals: list[ShapedArray]) -> list[int]:
    """Return a slot, an index into ``slot_avals``, for each residual of one branch.

    ``avals`` are the residuals' types. Slots are appended to ``slot_avals`` where none of the type is free.
    """
    slots: list[int] = []
    for aval in avals:
        free = [i for i, slot_aval in enumerate(slot_avals) if slot_aval is aval and i not in slots]
        if not free:
            slot_avals.append(aval)
            free = [len(slot_avals) - 1]
        slots.append(free[0])
    return slots


def _build_forward_branch(
    split: SplitProgram, slots: Sequence[int], slot_avals: Sequence[ShapedArray], count: int
) -> ClosedJaxpr:
    """Return the forward half of a branch, with residual j in slot ``slots[j]`` and zeros in unused slots.

    ``count`` is the number of results before the residuals.
    """

    def run_forward(*operands: Any) -> list[Any]:
        results = evaluate(split.forward, *operands)
        residuals: list[Any] = [None] * len(slot_avals)
        for slot, x in zip(slots, results[count:], strict=True):
            residuals[slot] = x
        return results[:count] + [zeros_of(a) if x is None else x for x, a in zip(residuals, slot_avals, strict=True)]

    return stage(run_forward, split.forward.in_avals, split.forward.name)


def _build_linear_branch(
    split: SplitProgram, slots: Sequence[int], slot_avals: Sequence[ShapedArray], operands: Sequence[int]
) -> ClosedJaxpr:
    """Return the linear half of a branch, which takes all residual slots, operands and tangents.

    ``operands`` are the indices of the cond's operands that any branch takes as residuals.
    """
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
