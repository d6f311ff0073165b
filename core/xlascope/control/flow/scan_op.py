"""The scan operation: a program repeated over the leading axis of its operands, with a carry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import NOT_MAPPED, ZERO
from ...ir.operation import Operation
from ...operations.operand_checks import is_linear, type_of
from ...operations.shapes import mapped_in_front, moveaxis, zeros_of
from ...records.traits import LOOP
from ...trace.bind import bind
from ...transforms.batch import batch_program
from ...transforms.batch_trace import batch_size
from ...transforms.dce import dce_program, find_dependent_results, fixed_point, restrict_program
from ...transforms.differentiate import instantiate_zeros, jvp_program, linearize_program
from ...transforms.evaluate import evaluate
from ...transforms.taylor import find_moving, group_indices, taylor_program, unflatten_coefficients
from ...transforms.taylor import flatten_coefficients as taylor_terms
from ..programs.masks import (
    Mask,
    drop_zero_tangents,
    leading_axes,
    mapped_axes_mask,
    nonzero_tangents_mask,
    scatter_by_mask,
    select_by_mask,
    split_tangents,
)
from ..programs.program_rewrites import permute_program
from .scan_lowering import ScanLowering
from .scan_reverse_mode import build_backward_body, interleave_tangents, split_scan_body, stack_carry
from .slice_avals import to_stacked_aval


class Scan(Operation, name="scan"):
    """Operation that returns the carry after ``length`` iterations of a program, and the stacked other results.

    The operands are constants of the loop, the initial carry, and arrays of which each iteration gets one slice. The
    program maps (constants, carry, slices) to (carry, results to stack).
    """

    traits = LOOP
    composite = True

    jaxpr: ClosedJaxpr
    length: int
    num_carry: int
    num_consts: int
    reverse: bool
    unroll: int

    @property
    def holder(self) -> ClosedJaxpr:
        return self.jaxpr

    def bodies(self) -> Sequence[ClosedJaxpr]:
        return (self.jaxpr,)

    def flops_of_bodies(self, flops: Sequence[int]) -> int:
        return self.length * sum(flops)

    def with_body(self, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int) -> Scan:
        """Return a scan over the same iterations with another body.

        The body's first operands are ``num_consts`` constants and ``num_carry`` carry values.
        """
        return Scan(jaxpr, self.length, num_carry, num_consts, self.reverse, self.unroll)

    def split_operands(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Split the operands into three: constants, carry, and arrays of which each iteration gets a slice.

        Any sequence of values that correspond to the operands can be split.
        """
        first, second = self.num_consts, self.num_consts + self.num_carry
        return operands[:first], operands[first:second], operands[second:]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        results = self.jaxpr.out_avals
        count = self.num_carry
        return [*results[:count], *(to_stacked_aval(a, self.length) for a in results[count:])]

    def dependence(self, operands: Sequence[bool]) -> list[bool]:
        consts, carry, xs = self.split_operands(tuple(operands))
        count = self.num_carry
        carry = fixed_point(
            lambda marks: find_dependent_results(self.jaxpr, (*consts, *marks, *xs))[:count], tuple(carry)
        )
        return [*carry, *find_dependent_results(self.jaxpr, (*consts, *carry, *xs))[count:]]

    def dce_rule(self, used: Mask) -> tuple[Scan, Mask, Mask]:
        """Return the scan that computes only the results marked in ``used``, and the carry that they depend on.

        Also returns the mask of the operands that it takes, and the mask of the results that it returns: those in
        ``used``, and those of the carry that it keeps.
        """
        count, first = self.num_carry, self.num_consts
        ys = used[count:]

        def find_needed_carry(carry: Mask) -> Mask:
            return dce_program(self.jaxpr, (*carry, *ys))[1][first : first + count]

        carry = fixed_point(find_needed_carry, used[:count])
        consts, _, xs = self.split_operands(dce_program(self.jaxpr, (*carry, *ys))[1])
        needed_operands = (*consts, *carry, *xs)
        body = restrict_program(self.jaxpr, (*carry, *ys), needed_operands)
        return self.with_body(body, sum(consts), sum(carry)), needed_operands, (*carry, *ys)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return ScanLowering(builder, self.jaxpr, self.length, self.reverse, self.unroll, self.split_operands).lower(
            operands
        )

    # Derivatives ----------------------------------------------------------------------------------------------------

    def _propagate_through_carry(
        self, marks: Mask, propagate: Callable[[Mask], Sequence[bool]]
    ) -> tuple[Mask, Mask, Mask]:
        """Propagate a mask of operands through the carry to a fixed point.

        ``propagate`` maps a mask of the body's operands to the mask of its results. Returns the mask of the body's
        operands, that of the carry, and the mask of results that must be set as a consequence.
        """
        consts, start, xs = self.split_operands(marks)
        count = self.num_carry
        carry = fixed_point(lambda carry_mask: propagate((*consts, *carry_mask, *xs))[:count], tuple(start))
        return (*consts, *carry, *xs), carry, (*carry, *(False,) * (len(self.jaxpr.out_avals) - count))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        consts, init, xs = self.split_operands(primals)
        const_t, init_t, xs_t = self.split_operands(tangents)
        marks, carry, instantiate = self._propagate_through_carry(
            nonzero_tangents_mask(tangents), lambda marks: jvp_program(self.jaxpr, marks)[1]
        )
        program, out_moving = jvp_program(self.jaxpr, marks, instantiate)
        n, c, m = len(consts), len(init), len(primals)
        tangent = {i: m + k for k, i in enumerate(i for i, go in enumerate(marks) if go)}
        order = interleave_tangents(range(n), range(n, n + c), range(n + c, m), tangent)
        r = len(out_moving)
        out_tangent = {i: r + k for k, i in enumerate(i for i, go in enumerate(out_moving) if go)}
        out_order = interleave_tangents((), range(c), range(c, r), out_tangent)
        body = permute_program(program, order, out_order)
        init_t = select_by_mask(instantiate_zeros(init_t, self.jaxpr.in_avals[n : n + c], carry), carry)
        consts_t, slices_t = drop_zero_tangents(const_t), drop_zero_tangents(xs_t)
        scan = self.with_body(body, n + len(consts_t), c + len(init_t))
        results = bind(scan, *consts, *consts_t, *init, *init_t, *xs, *slices_t)
        values: list[Any] = [ZERO] * (r + len(out_tangent))
        for index, y in zip(out_order, results, strict=True):
            values[index] = y
        return split_tangents(values, out_moving)

    def taylor_program_rule(
        self, primals: Sequence[Any], series: Sequence[Sequence[Any]]
    ) -> tuple[list[Any], list[list[Any]]]:
        order = len(series[0])
        marks, carry, instantiate = self._propagate_through_carry(
            find_moving(series), lambda m: taylor_program(self.jaxpr, order, m)[1]
        )
        program, out_moving = taylor_program(self.jaxpr, order, marks, instantiate)
        consts, _, _ = self.split_operands(marks)
        n, c, count = len(consts), len(carry), len(out_moving)
        operand_order = group_indices([range(n), range(n, n + c), range(n + c, len(primals))], marks, order)
        result_order = group_indices([range(c), range(c, count)], out_moving, order)
        body = permute_program(program, operand_order, result_order)
        operands = [*primals, *taylor_terms(primals, series, marks)]
        scan = self.with_body(body, n + order * sum(consts), c + order * sum(carry))
        results = dict(zip(result_order, bind(scan, *(operands[index] for index in operand_order)), strict=True))
        terms = [results[index] for index in range(count, len(results))]
        return [results[index] for index in range(count)], unflatten_coefficients(terms, out_moving, order)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run a scan that stacks the residuals, and record the scan of the tangents.

        Returns the results and their tangents; a tangent is ZERO where it is known to be zero.
        """
        const_t, init_t, xs_t = self.split_operands(tangents)
        marks, carry, instantiate = self._propagate_through_carry(
            nonzero_tangents_mask(tangents), lambda marks: linearize_program(self.jaxpr, marks).nonzero_out_tangents
        )
        split_body = split_scan_body(self.jaxpr, self.num_consts, self.num_carry, marks, instantiate)
        consts, _, _ = self.split_operands(primals)
        results = bind(self.with_body(split_body.forward, self.num_consts, self.num_carry), *primals)
        count = len(split_body.out_moving)
        out_moving = split_body.out_moving
        if not any(out_moving):
            return results[:count], [ZERO] * count
        invariant = evaluate(split_body.invariant, *(consts[i] for i in split_body.invariant_operands))
        unsliced = [primals[i] for i in split_body.unsliced_operands]
        sliced = [primals[i] for i in split_body.sliced_operands]
        init_avals = self.jaxpr.in_avals[self.num_consts : self.num_consts + self.num_carry]
        init_t = select_by_mask(instantiate_zeros(init_t, init_avals, carry), carry)
        const_t, xs_t = drop_zero_tangents(const_t), drop_zero_tangents(xs_t)
        linear = self.with_body(split_body.linear, len(invariant) + len(unsliced) + len(const_t), len(init_t))
        stacks = [results[i] for i in split_body.stacked_results]
        tangents_out = bind(linear, *invariant, *unsliced, *const_t, *init_t, *stacks, *sliced, *xs_t)
        return results[:count], scatter_by_mask(tangents_out, out_moving)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        smaller, needed_operands, used_results = self.dce_rule(nonzero_tangents_mask(cotangents))
        if not (all(needed_operands) and all(used_results)):  # skip the parts that no cotangent reaches
            input_cotangents = iter(
                smaller.transpose_rule(
                    select_by_mask(cotangents, used_results), select_by_mask(operands, needed_operands)
                )
            )
            return [
                next(input_cotangents) if k else ZERO if is_linear(x) else None
                for x, k in zip(operands, needed_operands, strict=True)
            ]
        linear = tuple(is_linear(x) for x in operands)
        const_l, init_l, xs_l = self.split_operands(linear)
        is_linear_carry = self.dependence(linear)[: self.num_carry]
        if not all(is_linear_carry):
            return self._transpose_with_nonlinear_carry(is_linear_carry, cotangents, operands)
        inside = (*const_l, *(True,) * self.num_carry, *xs_l)
        ct_carry, ct_ys = cotangents[: self.num_carry], cotangents[self.num_carry :]
        out_avals = self.jaxpr.out_avals
        of_carry = instantiate_zeros(ct_carry, out_avals[: self.num_carry])
        nonzero = (*(True,) * self.num_carry, *nonzero_tangents_mask(ct_ys))
        consts, _, xs = self.split_operands(operands)
        body = build_backward_body(self.jaxpr, inside, nonzero, self.num_consts, self.num_carry)
        starts = [zeros_of(type_of(x)) for x in consts if is_linear(x)]
        nonlinear_consts = [x for x in consts if not is_linear(x)]
        nonlinear_xs = [x for x in xs if not is_linear(x)]
        scan = Scan(
            body, self.length, len(starts) + self.num_carry, len(nonlinear_consts), not self.reverse, self.unroll
        )
        results = bind(scan, *nonlinear_consts, *starts, *of_carry, *nonlinear_xs, *drop_zero_tangents(ct_ys))
        s, c = len(starts), self.num_carry
        of_consts, of_init, of_xs = iter(results[:s]), results[s : s + c], iter(results[s + c :])
        return [
            *(next(of_consts) if is_lin else None for is_lin in const_l),
            *(ct if is_lin else None for is_lin, ct in zip(init_l, of_init, strict=True)),
            *(next(of_xs) if is_lin else None for is_lin in xs_l),
        ]

    def _transpose_with_nonlinear_carry(
        self, is_linear_carry: Sequence[bool], cotangents: Sequence[Any], operands: Sequence[Any]
    ) -> list[Any]:
        """Return the cotangents of the operands of a scan whose carry has nonlinear parts, such as a counter.

        ``is_linear_carry`` marks the linear parts. The nonlinear parts are computed first, and their values at each
        iteration are stacked and sliced by the scan of the linear parts.
        """
        count, first = self.num_carry, self.num_consts
        nonlinear = tuple(not r for r in is_linear_carry)
        forward, needed_operands, used_results = self.dce_rule(
            (*nonlinear, *(False,) * (len(self.jaxpr.out_avals) - count))
        )
        inputs = select_by_mask(operands, needed_operands)
        body = stack_carry(forward.jaxpr, forward.num_consts, forward.num_carry)
        stacks = bind(forward.with_body(body, forward.num_consts, forward.num_carry), *inputs)[forward.num_carry :]
        order = [i for i, keep in enumerate(nonlinear) if keep]
        assert [i for i, g in enumerate(used_results[:count]) if g] == order
        linear_carry = [i for i in range(count) if not nonlinear[i]]
        n = len(self.jaxpr.in_avals)
        body = permute_program(
            self.jaxpr,
            [*range(first), *(first + i for i in linear_carry), *(first + i for i in order), *range(first + count, n)],
            [*linear_carry, *range(count, len(self.jaxpr.out_avals))],
        )
        scan = self.with_body(body, first, len(linear_carry))
        consts, init, xs = self.split_operands(operands)
        all_operands = [*consts, *(init[i] for i in linear_carry), *stacks, *xs]
        input_cotangents = scan.transpose_rule(
            [*(cotangents[i] for i in linear_carry), *cotangents[count:]], all_operands
        )
        of_init: list[Any] = [None] * count
        for i, ct in zip(linear_carry, input_cotangents[first : first + len(linear_carry)], strict=True):
            of_init[i] = ct
        return [*input_cotangents[:first], *of_init, *input_cotangents[first + len(linear_carry) + len(stacks) :]]

    # Batching -------------------------------------------------------------------------------------------------------

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        consts, init, xs = self.split_operands(operands)
        const_axes, init_axes, xs_axes = self.split_operands(tuple(axes))
        # A slice has one axis less than the operand. A mapped axis in front moves behind the one that is sliced.
        xs = [moveaxis(x, 0, 1) if a == 0 and a is not NOT_MAPPED else x for x, a in zip(xs, xs_axes, strict=True)]
        slice_axes = [a if a is NOT_MAPPED else max(a - 1, 0) for a in xs_axes]
        count = self.num_carry

        def step(marks: Mask) -> Sequence[bool]:
            inner = (*const_axes, *leading_axes(marks), *slice_axes)
            return mapped_axes_mask(batch_program(self.jaxpr, inner, size)[1][:count])

        carry_mask = fixed_point(step, mapped_axes_mask(init_axes))
        inner = (*const_axes, *leading_axes(carry_mask), *slice_axes)
        out_axes = batch_program(self.jaxpr, inner, size)[1]
        force_mapped = (*carry_mask, *mapped_axes_mask(out_axes[count:]))
        body, _ = batch_program(self.jaxpr, inner, size, force_mapped)
        init = [mapped_in_front(x, a, size) if m else x for x, a, m in zip(init, init_axes, carry_mask, strict=True)]
        results = bind(self.with_body(body, self.num_consts, count), *consts, *init, *xs)
        return results, [*leading_axes(carry_mask), *(1 if f else NOT_MAPPED for f in force_mapped[count:])]
