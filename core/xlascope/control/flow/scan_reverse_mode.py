"""Reverse mode of scan: the forward and linear halves of its body, and the body of the backward scan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ir.jaxpr import ClosedJaxpr, Jaxpr
from ...ir.markers import ZERO
from ...operations.tangent_arithmetic import ADD_ANY
from ...trace.bind import bind1
from ...trace.jaxpr_trace import stage
from ...transforms.dce import dce_program, find_live_equations, propagate_dependence
from ...transforms.differentiate import SplitProgram, linearize_program
from ...transforms.evaluate import evaluate
from ...transforms.transpose import transpose_program
from ..programs.masks import Mask, scatter_by_mask
from ..programs.program_rewrites import permute_program


def interleave_tangents(consts: Any, carry: Any, xs: Any, tangent: dict[int, int]) -> list[int]:
    """Return indices in a scan's order: constants, carry, slices, each group followed by its tangents.

    ``tangent`` maps the index of a value with a tangent to the index of the tangent.
    """
    return [index for group in (consts, carry, xs) for index in (*group, *(tangent[i] for i in group if i in tangent))]


class SplitScanBody(NamedTuple):
    """A scan's body split for reverse mode.

    ``forward`` returns the results and the residuals that differ between iterations; ``stacked_results`` are the
    indices of these residuals among its results. ``linear`` takes the residuals that are the same in all iterations
    (computed once by ``invariant`` from the constants ``invariant_operands``, and the operands
    ``unsliced_operands``), tangents of constants and carry, the stacked residuals, the slices ``sliced_operands``,
    and tangents of slices. ``out_moving`` marks the results with tangents.
    """

    forward: ClosedJaxpr
    stacked_results: list[int]
    invariant: ClosedJaxpr
    invariant_operands: list[int]
    linear: ClosedJaxpr
    unsliced_operands: list[int]
    sliced_operands: list[int]
    out_moving: Sequence[bool]


def split_scan_body(program: ClosedJaxpr, consts: int, carry: int, nonzero: Mask, instantiate: Mask) -> SplitScanBody:
    """Return a scan's body split for tangents of the operands that ``nonzero`` marks.

    ``consts`` and ``carry`` are the numbers of constants and carry values. Results marked in ``instantiate`` get a
    tangent in any case.
    """
    key = ("scan halves", consts, carry, nonzero, instantiate)
    split_body = program.derived.get(key)
    if split_body is None:
        split = linearize_program(program, nonzero, instantiate)
        split_body = program.derived[key] = _build_split_body(consts, carry, split, nonzero)
    return split_body


def _build_split_body(consts: int, carry: int, split: SplitProgram, nonzero: Mask) -> SplitScanBody:
    """Return the split of a scan's body, given ``split``, that of the body as an ordinary program.

    ``consts`` and ``carry`` are the numbers of constants and carry values; ``nonzero`` marks the operands with
    tangents.
    """
    jaxpr = split.forward.jaxpr
    first = consts + carry
    extra = jaxpr.outvars[len(split.nonzero_out_tangents) :]
    same = _find_loop_invariants(jaxpr, extra, consts)
    varying = [j for j in range(len(extra)) if j not in same]
    unsliced = sorted(p for p in split.residuals if 0 <= p < consts)
    carry_residuals = sorted(
        p for p in split.residuals if consts <= p < first
    )  # the carry has to be stacked by this body
    sliced = sorted(p for p in split.residuals if p >= first)
    outvars = list(jaxpr.outvars[: len(split.nonzero_out_tangents)])
    stacked_places = [
        _index_of_stacked(outvars, x, carry)
        for x in (*(extra[j] for j in varying), *(jaxpr.invars[p] for p in carry_residuals))
    ]
    once, needed = dce_program(_build_program(jaxpr, [extra[j] for j in same], effects=False), (True,) * len(same))
    order = _linear_operand_order(split.residuals, same, unsliced, varying, [*carry_residuals, *sliced], nonzero, first)
    return SplitScanBody(
        _build_program(jaxpr, outvars),
        stacked_places,
        once,
        [i for i, keep in enumerate(needed) if keep],
        permute_program(split.linear, order, range(len(split.linear.out_avals))),
        unsliced,
        sliced,
        split.nonzero_out_tangents,
    )


def _find_loop_invariants(jaxpr: Jaxpr, values: Sequence[Any], consts: int) -> list[int]:
    """Return the indices of ``values`` that can be computed from the first ``consts`` operands, before the loop."""
    varying = {id(v) for v in jaxpr.invars[consts:]}
    # An operation with an effect runs in each step, and its result may differ each time.
    varying.update(id(v) for operation, _, outputs, *_ in jaxpr.raw if operation.effects for v in outputs)
    propagate_dependence(jaxpr.raw, varying)
    return _select_computable(jaxpr, [j for j, x in enumerate(values) if id(x) not in varying], values, consts)


def _linear_operand_order(
    residuals: Sequence[int],
    same: Sequence[int],
    unsliced: Sequence[int],
    varying: Sequence[int],
    sliced: Sequence[int],
    nonzero: Mask,
    first: int,
) -> list[int]:
    """Return the order of a linear half's operands (residuals, then tangents) that a scan requires.

    ``residuals`` are as in ``SplitProgram``. ``same`` and ``varying`` are the extra residuals that are the same in
    all iterations and those that are not, ``unsliced`` and ``sliced`` the operands of either kind. ``nonzero`` marks
    the operands with tangents, of which the first ``first`` are constants and carry.
    """
    operand = {residual: i for i, residual in enumerate(residuals)}
    before = len(operand) + sum(nonzero[:first])
    return [
        *(operand[-1 - j] for j in same),
        *(operand[p] for p in unsliced),
        *range(len(operand), before),
        *(operand[-1 - j] for j in varying),
        *(operand[p] for p in sliced),
        *range(before, len(operand) + sum(nonzero)),
    ]


def _index_of_stacked(outvars: list[Any], x: Any, start: int) -> int:
    """Return the index of ``x`` in ``outvars`` from index ``start`` on, and append it if it is missing."""
    for i in range(start, len(outvars)):
        if outvars[i] is x:
            return i
    outvars.append(x)
    return len(outvars) - 1


def _select_computable(jaxpr: Jaxpr, candidates: list[int], values: Sequence[Any], count: int) -> list[int]:
    """Return those ``candidates`` whose values can all be computed from the first ``count`` operands.

    ``candidates`` are indices of ``values``. An operation may need more operands than its result depends on, and more
    for two results than for each alone.
    """

    def is_enough(indices: list[int]) -> bool:
        program = _build_program(jaxpr, [values[j] for j in indices], effects=False)
        return not any(dce_program(program, (True,) * len(indices))[1][count:])

    if is_enough(candidates):
        return candidates
    computable: list[int] = []
    for j in candidates:
        if is_enough([*computable, j]):
            computable.append(j)
    return computable


def _build_program(jaxpr: Jaxpr, outvars: Sequence[Any], *, effects: bool = True) -> ClosedJaxpr:
    _, raw = find_live_equations(jaxpr.raw, outvars, effects=effects)
    return ClosedJaxpr(Jaxpr((), jaxpr.invars, outvars, raw, jaxpr.name))


def stack_carry(program: ClosedJaxpr, consts: int, carry: int) -> ClosedJaxpr:
    """Return a scan's body that also returns the carry at the start of the iteration, to be stacked.

    ``consts`` and ``carry`` are the numbers of constants and carry values.
    """
    key = ("carry stacked", consts, carry)
    stacked_program = program.derived.get(key)
    if stacked_program is None:
        jaxpr = program.jaxpr
        before = jaxpr.invars[consts : consts + carry]
        stacked_program = program.derived[key] = _build_program(jaxpr, [*jaxpr.outvars, *before])
    return stacked_program


def build_backward_body(
    program: ClosedJaxpr, linear: Mask, nonzero: Mask, num_consts: int, num_carry: int
) -> ClosedJaxpr:
    """Return the body of the backward scan.

    It maps (nonlinear constants, cotangents of linear constants so far, cotangent of the carry, nonlinear slices,
    cotangents of the stacked results) to (cotangents of linear constants, of the carry, of linear slices). ``linear``
    marks the linear operands of the forward body, ``nonzero`` its results with nonzero cotangents.
    """
    key = ("backward body", linear, nonzero, num_consts, num_carry)
    body = program.derived.get(key)
    if body is None:
        consts, xs = linear[:num_consts], linear[num_consts + num_carry :]
        instantiate = (*(False,) * sum(consts), *(True,) * (num_carry + sum(xs)))
        step, nonzero_out = transpose_program(program, linear, nonzero, instantiate)
        avals, count = program.in_avals, num_consts + num_carry
        nonlinear_consts = [a for a, is_lin in zip(avals[:num_consts], consts, strict=True) if not is_lin]
        sums = [a for a, is_lin in zip(avals[:num_consts], consts, strict=True) if is_lin]
        nonlinear_xs = [a for a, is_lin in zip(avals[count:], xs, strict=True) if not is_lin]
        carry = program.out_avals[:num_carry]
        ys = [a for a, is_nonzero in zip(program.out_avals[num_carry:], nonzero[num_carry:], strict=True) if is_nonzero]

        def backward(*operands: Any) -> list[Any]:
            reader = _SequenceReader(operands)
            known_values, so_far = reader.take(len(nonlinear_consts)), reader.take(len(sums))
            ct_carry, slices, ct_ys = reader.take(num_carry), reader.take(len(nonlinear_xs)), reader.take(len(ys))
            step_cotangents = scatter_by_mask(evaluate(step, *known_values, *slices, *ct_carry, *ct_ys), nonzero_out)
            added = [
                total if ct is ZERO else bind1(ADD_ANY, total, ct)
                for total, ct in zip(so_far, step_cotangents[: len(sums)], strict=True)
            ]
            return [*added, *step_cotangents[len(sums) :]]

        staged = stage(backward, [*nonlinear_consts, *sums, *carry, *nonlinear_xs, *ys], program.name)
        body = program.derived[key] = staged
    return body


class _SequenceReader:
    """Reader of a sequence in consecutive pieces: ``take(count)`` returns the next ``count`` values."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values
        self.start = 0

    def take(self, count: int) -> Sequence[Any]:
        self.start += count
        return self.values[self.start - count : self.start]
