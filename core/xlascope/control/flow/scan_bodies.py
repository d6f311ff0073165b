"""What a scan's rules make of its body: the halves for reverse mode, and one step backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ir.jaxpr import ClosedJaxpr, Jaxpr
from ...ir.markers import ZERO
from ...operations.sums import ADD_ANY
from ...trace.bind import bind1
from ...trace.jaxpr_trace import stage
from ...transforms.dce import dce_program, needed_equations, spread_dependence
from ...transforms.differentiate import SplitProgram, linearize_program
from ...transforms.evaluate import evaluate
from ...transforms.transpose import transpose_program
from ..programs.marks import Marks, in_places
from ..programs.rearranged import permuted


def interleaved(consts: Any, carry: Any, xs: Any, tangent: dict[int, int]) -> list[int]:
    """Places of values and their tangents in a scan's order: constants, carry, slices, each with its tangents."""
    return [place for group in (consts, carry, xs) for place in (*group, *(tangent[i] for i in group if i in tangent))]


class Halves(NamedTuple):
    """A scan's body split for reverse mode.

    ``forward`` gives the results and residuals that differ from step to step; ``stacked`` are their places among its
    results. ``linear`` takes residuals that are the same in all steps (computed by ``invariant`` once, and operands
    ``whole``), tangents of constants and carry, the stacked residuals, operands ``sliced`` again, and tangents of
    slices.
    """

    forward: ClosedJaxpr
    stacked: list[int]
    invariant: ClosedJaxpr
    invariant_operands: list[int]
    linear: ClosedJaxpr
    whole: list[int]
    sliced: list[int]
    out_moving: Sequence[bool]


def halves_of(program: ClosedJaxpr, consts: int, carry: int, moving: Marks, forced: Marks) -> Halves:
    """The halves of a scan's body with so many constants and parts of the carry, of which the marked operands move."""
    key = ("scan halves", consts, carry, moving, forced)
    found = program.derived.get(key)
    if found is None:
        split = linearize_program(program, moving, forced)
        found = program.derived[key] = _split_halves(consts, carry, split, moving)
    return found


def _split_halves(consts: int, carry: int, split: SplitProgram, moving: Marks) -> Halves:
    jaxpr = split.forward.jaxpr
    first = consts + carry
    extra = jaxpr.outvars[len(split.out_moving) :]
    same = _same_in_all_steps(jaxpr, extra, consts)
    differing = [j for j in range(len(extra)) if j not in same]
    whole = sorted(p for p in split.residuals if 0 <= p < consts)
    carried = sorted(p for p in split.residuals if consts <= p < first)  # nobody stacks a part of the carry by itself
    sliced = sorted(p for p in split.residuals if p >= first)
    outvars = list(jaxpr.outvars[: len(split.out_moving)])
    stacked_places = [
        _place_in(outvars, x, carry) for x in (*(extra[j] for j in differing), *(jaxpr.invars[p] for p in carried))
    ]
    once, needed = dce_program(_program(jaxpr, [extra[j] for j in same], effects=False), (True,) * len(same))
    order = _order_of_linear(split.residuals, same, whole, differing, [*carried, *sliced], moving, first)
    return Halves(
        _program(jaxpr, outvars),
        stacked_places,
        once,
        [i for i, keep in enumerate(needed) if keep],
        permuted(split.linear, order, range(len(split.linear.out_avals))),
        whole,
        sliced,
        split.out_moving,
    )


def _same_in_all_steps(jaxpr: Jaxpr, values: Sequence[Any], consts: int) -> list[int]:
    """The numbers of those values that the constants of a loop are enough to compute, once for all steps."""
    varying = {id(v) for v in jaxpr.invars[consts:]}
    # What has an effect happens in each step, and may give something else each time.
    varying.update(id(v) for operation, _, outputs, *_ in jaxpr.raw if operation.effects for v in outputs)
    spread_dependence(jaxpr.raw, varying)
    return _computable(jaxpr, [j for j, x in enumerate(values) if id(x) not in varying], values, consts)


def _order_of_linear(
    residuals: Sequence[int],
    same: Sequence[int],
    whole: Sequence[int],
    differing: Sequence[int],
    sliced: Sequence[int],
    moving: Marks,
    first: int,
) -> list[int]:
    """The places of a linear half's operands (residuals, then tangents of what moves) in the order of a scan's."""
    operand = {where: i for i, where in enumerate(residuals)}
    before = len(operand) + sum(moving[:first])
    return [
        *(operand[-1 - j] for j in same),
        *(operand[p] for p in whole),
        *range(len(operand), before),
        *(operand[-1 - j] for j in differing),
        *(operand[p] for p in sliced),
        *range(before, len(operand) + sum(moving)),
    ]


def _place_in(outvars: list[Any], x: Any, start: int) -> int:
    """Where a value is among the stacked results (those from ``start`` on), to which it is added if it is not there."""
    for i in range(start, len(outvars)):
        if outvars[i] is x:
            return i
    outvars.append(x)
    return len(outvars) - 1


def _computable(jaxpr: Jaxpr, candidates: list[int], values: Sequence[Any], count: int) -> list[int]:
    """Those of ``candidates`` whose values the first ``count`` operands are enough to compute, all together.

    An operation may need more operands than its result depends on, and more for two results than for each by itself.
    """

    def enough(chosen: list[int]) -> bool:
        program = _program(jaxpr, [values[j] for j in chosen], effects=False)
        return not any(dce_program(program, (True,) * len(chosen))[1][count:])

    if enough(candidates):
        return candidates
    found: list[int] = []
    for j in candidates:
        if enough([*found, j]):
            found.append(j)
    return found


def _program(jaxpr: Jaxpr, outvars: Sequence[Any], *, effects: bool = True) -> ClosedJaxpr:
    _, raw = needed_equations(jaxpr.raw, outvars, effects=effects)
    return ClosedJaxpr(Jaxpr((), jaxpr.invars, outvars, raw, jaxpr.name))


def with_carry_stacked(program: ClosedJaxpr, consts: int, carry: int) -> ClosedJaxpr:
    """A scan's body that also gives the carry as it was at the start of the step, to be stacked."""
    key = ("carry stacked", consts, carry)
    found = program.derived.get(key)
    if found is None:
        jaxpr = program.jaxpr
        before = jaxpr.invars[consts : consts + carry]
        found = program.derived[key] = _program(jaxpr, [*jaxpr.outvars, *before])
    return found


def backward_body(program: ClosedJaxpr, linear: Marks, arriving: Marks, num_consts: int, num_carry: int) -> ClosedJaxpr:
    """One step backward: (known constants, cotangents of linear constants so far, cotangent of the carry, known
    slices, cotangents of what was stacked) to (cotangents of linear constants, of the carry, of linear slices).
    """
    key = ("backward body", linear, arriving, num_consts, num_carry)
    found = program.derived.get(key)
    if found is None:
        consts, xs = linear[:num_consts], linear[num_consts + num_carry :]
        forced = (*(False,) * sum(consts), *(True,) * (num_carry + sum(xs)))
        step, moved = transpose_program(program, linear, arriving, forced)
        avals, count = program.in_avals, num_consts + num_carry
        known = [a for a, one in zip(avals[:num_consts], consts, strict=True) if not one]
        sums = [a for a, one in zip(avals[:num_consts], consts, strict=True) if one]
        known_xs = [a for a, one in zip(avals[count:], xs, strict=True) if not one]
        carry = program.out_avals[:num_carry]
        ys = [a for a, there in zip(program.out_avals[num_carry:], arriving[num_carry:], strict=True) if there]

        def backward(*operands: Any) -> list[Any]:
            own = _Taker(operands)
            known_values, so_far = own.take(len(known)), own.take(len(sums))
            ct_carry, slices, ct_ys = own.take(num_carry), own.take(len(known_xs)), own.take(len(ys))
            found = in_places(evaluate(step, *known_values, *slices, *ct_carry, *ct_ys), moved)
            added = [
                total if ct is ZERO else bind1(ADD_ANY, total, ct)
                for total, ct in zip(so_far, found[: len(sums)], strict=True)
            ]
            return [*added, *found[len(sums) :]]

        made = stage(backward, [*known, *sums, *carry, *known_xs, *ys], program.name)
        found = program.derived[key] = made
    return found


class _Taker:
    """Hands out a list in pieces."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values
        self.start = 0

    def take(self, count: int) -> Sequence[Any]:
        self.start += count
        return self.values[self.start - count : self.start]
