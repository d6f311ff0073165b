"""The scan operation: a program repeated over the leading axis of its operands, carrying values along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir.avals import ShapedArray
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import NOT_MAPPED, ZERO
from ...ir.operation import Operation
from ...operations.requirements import is_linear, type_of
from ...operations.shapes import mapped_in_front, moveaxis, zeros_of
from ...records.traits import LOOP
from ...trace.bind import bind
from ...transforms.batch import batch_program
from ...transforms.batch_trace import batch_size
from ...transforms.dce import dce_program, dependence, fixed_point, restricted_program
from ...transforms.differentiate import instantiated, jvp_program, linearize_program
from ...transforms.evaluate import evaluate
from ...transforms.taylor import in_groups, marked, separated, taylor_program
from ...transforms.taylor import joined as taylor_terms
from ..programs.marks import Marks, axes_in_front, chosen, in_places, mapped, moving, present, split_tangents
from ..programs.rearranged import permuted
from .scan_bodies import backward_body, halves_of, interleaved, with_carry_stacked
from .scan_lowering import ScanLowering
from .slices import stacked


class Scan(Operation, name="scan"):
    """The carry after ``length`` steps of a program, and what each step gave, stacked.

    The operands are constants of the loop, the carry at the start, and arrays of which each step gets one slice. The
    program takes (constants, carry, slices) to (carry, what is stacked).
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

    def of(self, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int) -> Scan:
        """A scan over the same steps of another program."""
        return Scan(jaxpr, self.length, num_carry, num_consts, self.reverse, self.unroll)

    def split(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Constants, carry and stacked operands (or what belongs to them)."""
        first, second = self.num_consts, self.num_consts + self.num_carry
        return operands[:first], operands[first:second], operands[second:]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        results = self.jaxpr.out_avals
        count = self.num_carry
        return [*results[:count], *(stacked(a, self.length) for a in results[count:])]

    def dependence(self, operands: Sequence[bool]) -> list[bool]:
        consts, carry, xs = self.split(tuple(operands))
        count = self.num_carry
        carry = fixed_point(lambda marks: dependence(self.jaxpr, (*consts, *marks, *xs))[:count], tuple(carry))
        return [*carry, *dependence(self.jaxpr, (*consts, *carry, *xs))[count:]]

    def dce_rule(self, used: Marks) -> tuple[Scan, Marks, Marks]:
        """The scan of what the used results need; a part of the carry that another part needs is kept."""
        count, first = self.num_carry, self.num_consts
        ys = used[count:]

        def needed(carry: Marks) -> Marks:
            return dce_program(self.jaxpr, (*carry, *ys))[1][first : first + count]

        carry = fixed_point(needed, used[:count])
        consts, _, xs = self.split(dce_program(self.jaxpr, (*carry, *ys))[1])
        kept = (*consts, *carry, *xs)
        body = restricted_program(self.jaxpr, (*carry, *ys), kept)
        return self.of(body, sum(consts), sum(carry)), kept, (*carry, *ys)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return ScanLowering(builder, self.jaxpr, self.length, self.reverse, self.unroll, self.split).results(operands)

    # Derivatives ----------------------------------------------------------------------------------------------------

    def _moving(self, marks: Marks, reached: Callable[[Marks], Sequence[bool]]) -> tuple[Marks, Marks, Marks]:
        """Which operands of a step move when the marked operands do, which parts of the carry are among them, and which
        results of a step therefore have to. ``reached`` says which results move when operands of a step do.
        """
        consts, start, xs = self.split(marks)
        count = self.num_carry
        carry = fixed_point(lambda carried: reached((*consts, *carried, *xs))[:count], tuple(start))
        return (*consts, *carry, *xs), carry, (*carry, *(False,) * (len(self.jaxpr.out_avals) - count))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        consts, init, xs = self.split(primals)
        const_t, init_t, xs_t = self.split(tangents)
        marks, carry, forced = self._moving(moving(tangents), lambda marks: jvp_program(self.jaxpr, marks)[1])
        program, out_moving = jvp_program(self.jaxpr, marks, forced)
        n, c, m = len(consts), len(init), len(primals)
        tangent = {i: m + k for k, i in enumerate(i for i, go in enumerate(marks) if go)}
        order = interleaved(range(n), range(n, n + c), range(n + c, m), tangent)
        r = len(out_moving)
        out_tangent = {i: r + k for k, i in enumerate(i for i, go in enumerate(out_moving) if go)}
        out_order = interleaved((), range(c), range(c, r), out_tangent)
        body = permuted(program, order, out_order)
        init_t = chosen(instantiated(init_t, self.jaxpr.in_avals[n : n + c], carry), carry)
        known_t, slices_t = present(const_t), present(xs_t)
        scan = self.of(body, n + len(known_t), c + len(init_t))
        results = bind(scan, *consts, *known_t, *init, *init_t, *xs, *slices_t)
        values: list[Any] = [ZERO] * (r + len(out_tangent))
        for place, y in zip(out_order, results, strict=True):
            values[place] = y
        return split_tangents(values, out_moving)

    def taylor_program_rule(
        self, primals: Sequence[Any], series: Sequence[Sequence[Any]]
    ) -> tuple[list[Any], list[list[Any]]]:
        order = len(series[0])
        marks, carry, forced = self._moving(marked(series), lambda m: taylor_program(self.jaxpr, order, m)[1])
        program, out_moving = taylor_program(self.jaxpr, order, marks, forced)
        consts, _, _ = self.split(marks)
        n, c, count = len(consts), len(carry), len(out_moving)
        places = in_groups([range(n), range(n, n + c), range(n + c, len(primals))], marks, order)
        out_places = in_groups([range(c), range(c, count)], out_moving, order)
        body = permuted(program, places, out_places)
        operands = [*primals, *taylor_terms(primals, series, marks)]
        scan = self.of(body, n + order * sum(consts), c + order * sum(carry))
        results = dict(zip(out_places, bind(scan, *(operands[place] for place in places)), strict=True))
        terms = [results[place] for place in range(count, len(results))]
        return [results[place] for place in range(count)], separated(terms, out_moving, order)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run a scan that stacks what the tangents will need, and record the scan of the tangents."""
        const_t, init_t, xs_t = self.split(tangents)
        marks, carry, forced = self._moving(
            moving(tangents), lambda marks: linearize_program(self.jaxpr, marks).out_moving
        )
        halves = halves_of(self.jaxpr, self.num_consts, self.num_carry, marks, forced)
        consts, _, _ = self.split(primals)
        results = bind(self.of(halves.forward, self.num_consts, self.num_carry), *primals)
        count = len(halves.out_moving)
        out_moving = halves.out_moving
        if not any(out_moving):
            return results[:count], [ZERO] * count
        invariant = evaluate(halves.invariant, *(consts[i] for i in halves.invariant_operands))
        whole = [primals[i] for i in halves.whole]
        sliced = [primals[i] for i in halves.sliced]
        init_avals = self.jaxpr.in_avals[self.num_consts : self.num_consts + self.num_carry]
        init_t = chosen(instantiated(init_t, init_avals, carry), carry)
        const_t, xs_t = present(const_t), present(xs_t)
        linear = self.of(halves.linear, len(invariant) + len(whole) + len(const_t), len(init_t))
        stacks = [results[i] for i in halves.stacked]
        moved = bind(linear, *invariant, *whole, *const_t, *init_t, *stacks, *sliced, *xs_t)
        return results[:count], in_places(moved, out_moving)

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        smaller, kept, given = self.dce_rule(moving(cotangents))
        if not (all(kept) and all(given)):  # what no cotangent reaches is not gone through backward
            found = iter(smaller.transpose_rule(chosen(cotangents, given), chosen(operands, kept)))
            return [next(found) if k else ZERO if is_linear(x) else None for x, k in zip(operands, kept, strict=True)]
        linear = tuple(is_linear(x) for x in operands)
        const_l, init_l, xs_l = self.split(linear)
        reached = self.dependence(linear)[: self.num_carry]
        if not all(reached):
            return self._transpose_beside_known(reached, cotangents, operands)
        inside = (*const_l, *(True,) * self.num_carry, *xs_l)
        ct_carry, ct_ys = cotangents[: self.num_carry], cotangents[self.num_carry :]
        out_avals = self.jaxpr.out_avals
        of_carry = instantiated(ct_carry, out_avals[: self.num_carry])
        arriving = (*(True,) * self.num_carry, *moving(ct_ys))
        consts, _, xs = self.split(operands)
        body = backward_body(self.jaxpr, inside, arriving, self.num_consts, self.num_carry)
        starts = [zeros_of(type_of(x)) for x in consts if is_linear(x)]
        known = [x for x in consts if not is_linear(x)]
        known_xs = [x for x in xs if not is_linear(x)]
        scan = Scan(body, self.length, len(starts) + self.num_carry, len(known), not self.reverse, self.unroll)
        results = bind(scan, *known, *starts, *of_carry, *known_xs, *present(ct_ys))
        s, c = len(starts), self.num_carry
        of_consts, of_init, of_xs = iter(results[:s]), results[s : s + c], iter(results[s + c :])
        return [
            *(next(of_consts) if one else None for one in const_l),
            *(ct if one else None for one, ct in zip(init_l, of_init, strict=True)),
            *(next(of_xs) if one else None for one in xs_l),
        ]

    def _transpose_beside_known(
        self, reached: Sequence[bool], cotangents: Sequence[Any], operands: Sequence[Any]
    ) -> list[Any]:
        """Transpose a scan that carries something that is not linear along (a counter): compute that part first, with
        its value at each step stacked, and give it to the linear part as one more operand to slice.
        """
        count, first = self.num_carry, self.num_consts
        known = tuple(not r for r in reached)
        forward, kept, given = self.dce_rule((*known, *(False,) * (len(self.jaxpr.out_avals) - count)))
        inputs = chosen(operands, kept)
        body = with_carry_stacked(forward.jaxpr, forward.num_consts, forward.num_carry)
        stacks = bind(forward.of(body, forward.num_consts, forward.num_carry), *inputs)[forward.num_carry :]
        order = [i for i, keep in enumerate(known) if keep]
        assert [i for i, g in enumerate(given[:count]) if g] == order
        carried = [i for i in range(count) if not known[i]]
        n = len(self.jaxpr.in_avals)
        body = permuted(
            self.jaxpr,
            [*range(first), *(first + i for i in carried), *(first + i for i in order), *range(first + count, n)],
            [*carried, *range(count, len(self.jaxpr.out_avals))],
        )
        scan = self.of(body, first, len(carried))
        consts, init, xs = self.split(operands)
        rest = [*consts, *(init[i] for i in carried), *stacks, *xs]
        found = scan.transpose_rule([*(cotangents[i] for i in carried), *cotangents[count:]], rest)
        of_init: list[Any] = [None] * count
        for i, ct in zip(carried, found[first : first + len(carried)], strict=True):
            of_init[i] = ct
        return [*found[:first], *of_init, *found[first + len(carried) + len(stacks) :]]

    # Batching -------------------------------------------------------------------------------------------------------

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = batch_size(operands, axes)
        consts, init, xs = self.split(operands)
        const_axes, init_axes, xs_axes = self.split(tuple(axes))
        # A slice has one axis less than the operand. A mapped axis in front moves behind the one that is sliced.
        xs = [moveaxis(x, 0, 1) if a == 0 and a is not NOT_MAPPED else x for x, a in zip(xs, xs_axes, strict=True)]
        slice_axes = [a if a is NOT_MAPPED else max(a - 1, 0) for a in xs_axes]
        count = self.num_carry

        def step(marks: Marks) -> Sequence[bool]:
            inner = (*const_axes, *axes_in_front(marks), *slice_axes)
            return mapped(batch_program(self.jaxpr, inner, size)[1][:count])

        carried = fixed_point(step, mapped(init_axes))
        inner = (*const_axes, *axes_in_front(carried), *slice_axes)
        out_axes = batch_program(self.jaxpr, inner, size)[1]
        forced = (*carried, *mapped(out_axes[count:]))
        body, _ = batch_program(self.jaxpr, inner, size, forced)
        init = [mapped_in_front(x, a, size) if m else x for x, a, m in zip(init, init_axes, carried, strict=True)]
        results = bind(self.of(body, self.num_consts, count), *consts, *init, *xs)
        return results, [*axes_in_front(carried), *(1 if f else NOT_MAPPED for f in forced[count:])]
