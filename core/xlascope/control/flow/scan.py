"""The scan operation: a program repeated over the leading axis of its operands, carrying values along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.avals import ShapedArray, shaped
from ...ir.effects import is_ordered
from ...ir.jaxpr import ClosedJaxpr
from ...ir.markers import NOT_MAPPED, ZERO
from ...ir.operation import Operation
from ...operations.families import is_linear, type_of
from ...operations.shapes import mapped_in_front, moveaxis, zeros_of
from ...trace.bind import bind
from ...transforms.batch import batch_program, batch_size
from ...transforms.dce import dce_program, dependence, fixed_point, restricted_program
from ...transforms.differentiate import instantiated, jvp_program, linearize_program
from ...transforms.evaluate import evaluate
from ...transforms.taylor import in_groups, marked, separated, taylor_program
from ...transforms.taylor import joined as taylor_terms
from ..programs.rearranged import permuted
from .scan_bodies import backward_body, chosen, halves_of, interleaved, with_carry_stacked
from .slices import stacked

Marks = tuple[bool, ...]


class Scan(Operation, name="scan"):
    """The carry after ``length`` steps of a program, and what each step gave, stacked.

    The operands are constants of the loop, the carry at the start, and arrays of which each step gets one slice. The
    program takes (constants, carry, slices) to (carry, what is stacked).
    """

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

    # Lowering: a while over a counter -------------------------------------------------------------------------------

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        avals = builder.in_avals
        consts, carry, xs = self.split(list(operands))
        ys = [builder.constant(0, a) for a in self.abstract_eval(avals)[self.num_carry :]]
        rounds, rest = divmod(self.length, self.unroll) if self.length else (0, 0)
        if rounds == 1:
            rounds, rest = 0, self.length
        state = [*carry, *ys]
        if rounds:
            state = self._rounds(builder, rounds, consts, xs, state)
        for step in range(self.length - rest, self.length):
            index = builder.constant(np.int32(step), _COUNTER)
            state = self._step(builder, index, consts, xs, state)
        return state

    def _rounds(
        self, builder: Any, rounds: int, consts: Sequence[Any], xs: Sequence[Any], state: Sequence[Any]
    ) -> list[Any]:
        """The loop over all steps but those left over by unrolling."""
        in_consts, in_carry, in_xs = self.split(builder.in_avals)
        in_ys = self.abstract_eval(builder.in_avals)[self.num_carry :]
        avals = [_COUNTER, *in_consts, *in_carry, *in_ys, *in_xs]
        first, last = len(consts), len(state)
        start = builder.constant(np.int32(0), _COUNTER)

        def going_on(counter: Any, *_: Any) -> list[Any]:
            end = builder.constant(np.int32(rounds), _COUNTER)
            return [builder.compare("LT", counter, end)]

        def body(counter: Any, *values: Any) -> list[Any]:
            own_consts, own_xs = values[:first], values[first + last :]
            own_state = list(values[first : first + last])
            for part in range(self.unroll):
                index = counter
                if self.unroll > 1:
                    width = builder.constant(np.int32(self.unroll), _COUNTER)
                    index = builder.emit1("stablehlo.multiply", [counter, width], _COUNTER)
                    index = builder.emit1(
                        "stablehlo.add", [index, builder.constant(np.int32(part), _COUNTER)], _COUNTER
                    )
                own_state = self._step(builder, index, own_consts, own_xs, own_state)
            one = builder.constant(np.int32(1), _COUNTER)
            return [builder.emit1("stablehlo.add", [counter, one], _COUNTER), *own_consts, *own_state, *own_xs]

        operands = [start, *consts, *state, *xs]
        results = builder.while_loop(operands, avals, going_on, body, ordered=is_ordered(self.effects))
        return results[1 + first : 1 + first + last]  # type: ignore[no-any-return]

    def _step(
        self, builder: Any, index: Any, consts: Sequence[Any], xs: Sequence[Any], state: Sequence[Any]
    ) -> list[Any]:
        """One step: slices out of ``xs``, the body, what it gave into the stacked results."""
        count = self.num_carry
        if self.reverse:
            end = builder.constant(np.int32(self.length - 1), _COUNTER)
            index = builder.emit1("stablehlo.subtract", [end, index], _COUNTER)
        slices = [
            builder.slice_leading(x, index, aval)
            for x, aval in zip(xs, self.split(self.jaxpr.in_avals)[2], strict=True)
        ]
        results = builder.call_body(self.jaxpr, [*consts, *state[:count], *slices], 0)
        stacks = [
            builder.update_leading(whole, y, index, stacked(aval, self.length))
            for whole, y, aval in zip(state[count:], results[count:], self.jaxpr.out_avals[count:], strict=True)
        ]
        return [*results[:count], *stacks]

    # Derivatives ----------------------------------------------------------------------------------------------------

    def moving_carry(self, moving: Marks, reached: Callable[[Marks], Sequence[bool]]) -> Marks:
        """Which parts of the carry move when the marked operands do; ``reached`` says which results of a step do."""
        consts, carry, xs = self.split(moving)
        count = self.num_carry
        return fixed_point(lambda marks: reached((*consts, *marks, *xs))[:count], tuple(carry))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        consts, init, xs = self.split(primals)
        const_t, init_t, xs_t = self.split(tangents)
        carry = self.moving_carry(
            tuple(t is not ZERO for t in tangents), lambda marks: jvp_program(self.jaxpr, marks)[1]
        )
        moving = (*(t is not ZERO for t in const_t), *carry, *(t is not ZERO for t in xs_t))
        forced = (*carry, *(False,) * (len(self.jaxpr.out_avals) - len(carry)))
        program, out_moving = jvp_program(self.jaxpr, moving, forced)
        n, c, m = len(consts), len(init), len(primals)
        tangent = {i: m + k for k, i in enumerate(i for i, go in enumerate(moving) if go)}
        order = interleaved(range(n), range(n, n + c), range(n + c, m), tangent)
        r = len(out_moving)
        out_tangent = {i: r + k for k, i in enumerate(i for i, go in enumerate(out_moving) if go)}
        out_order = interleaved((), range(c), range(c, r), out_tangent)
        body = permuted(program, order, out_order)
        init_t = chosen(instantiated(init_t, self.jaxpr.in_avals[n : n + c], carry), carry)
        known_t, slices_t = [t for t in const_t if t is not ZERO], [t for t in xs_t if t is not ZERO]
        scan = self.of(body, n + len(known_t), c + len(init_t))
        results = bind(scan, *consts, *known_t, *init, *init_t, *xs, *slices_t)
        values: list[Any] = [ZERO] * (r + len(out_tangent))
        for place, y in zip(out_order, results, strict=True):
            values[place] = y
        return values[:r], [values[out_tangent[i]] if go else ZERO for i, go in enumerate(out_moving)]

    def taylor_program_rule(
        self, primals: Sequence[Any], series: Sequence[Sequence[Any]]
    ) -> tuple[list[Any], list[list[Any]]]:
        marks, order = marked(series), len(series[0])
        carry = self.moving_carry(marks, lambda m: taylor_program(self.jaxpr, order, m)[1])
        consts, _, xs = self.split(marks)
        moving = (*consts, *carry, *xs)
        forced = (*carry, *(False,) * (len(self.jaxpr.out_avals) - len(carry)))
        program, out_moving = taylor_program(self.jaxpr, order, moving, forced)
        n, c, count = len(consts), len(carry), len(out_moving)
        places = in_groups([range(n), range(n, n + c), range(n + c, len(primals))], moving, order)
        out_places = in_groups([range(c), range(c, count)], out_moving, order)
        body = permuted(program, places, out_places)
        operands = [*primals, *taylor_terms(primals, series, moving)]
        scan = self.of(body, n + order * sum(consts), c + order * sum(carry))
        results = dict(zip(out_places, bind(scan, *(operands[place] for place in places)), strict=True))
        terms = [results[place] for place in range(count, len(results))]
        return [results[place] for place in range(count)], separated(terms, out_moving, order)

    def linearize_rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Run a scan that stacks what the tangents will need, and record the scan of the tangents."""
        const_t, init_t, xs_t = self.split(tangents)
        carry = self.moving_carry(
            tuple(t is not ZERO for t in tangents), lambda marks: linearize_program(self.jaxpr, marks).out_moving
        )
        moving = (*(t is not ZERO for t in const_t), *carry, *(t is not ZERO for t in xs_t))
        forced = (*carry, *(False,) * (len(self.jaxpr.out_avals) - len(carry)))
        halves = halves_of(self.jaxpr, self.num_consts, self.num_carry, moving, forced)
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
        const_t, xs_t = [t for t in const_t if t is not ZERO], [t for t in xs_t if t is not ZERO]
        linear = self.of(halves.linear, len(invariant) + len(whole) + len(const_t), len(init_t))
        stacks = [results[i] for i in halves.stacked]
        moved = iter(bind(linear, *invariant, *whole, *const_t, *init_t, *stacks, *sliced, *xs_t))
        return results[:count], [next(moved) if m else ZERO for m in out_moving]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        smaller, kept, given = self.dce_rule(tuple(ct is not ZERO for ct in cotangents))
        if not (all(kept) and all(given)):  # what no cotangent reaches is not gone through backward
            rest = [x for x, keep in zip(operands, kept, strict=True) if keep]
            found = iter(smaller.transpose_rule([ct for ct, g in zip(cotangents, given, strict=True) if g], rest))
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
        arriving = (*(True,) * self.num_carry, *(ct is not ZERO for ct in ct_ys))
        consts, _, xs = self.split(operands)
        body = backward_body(self.jaxpr, inside, arriving, self.num_consts, self.num_carry)
        starts = [zeros_of(type_of(x)) for x in consts if is_linear(x)]
        known = [x for x in consts if not is_linear(x)]
        stacks = [ct for ct in ct_ys if ct is not ZERO]
        known_xs = [x for x in xs if not is_linear(x)]
        scan = Scan(body, self.length, len(starts) + self.num_carry, len(known), not self.reverse, self.unroll)
        results = bind(scan, *known, *starts, *of_carry, *known_xs, *stacks)
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
        inputs = [x for x, keep in zip(operands, kept, strict=True) if keep]
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
            inner = (0 if m else NOT_MAPPED for m in marks)
            found = batch_program(self.jaxpr, (*const_axes, *inner, *slice_axes), size)[1]
            return [a is not NOT_MAPPED for a in found[:count]]

        mapped = fixed_point(step, tuple(a is not NOT_MAPPED for a in init_axes))
        inner = (*const_axes, *(0 if m else NOT_MAPPED for m in mapped), *slice_axes)
        out_axes = batch_program(self.jaxpr, inner, size)[1]
        forced = (*mapped, *(a is not NOT_MAPPED for a in out_axes[count:]))
        body, _ = batch_program(self.jaxpr, inner, size, forced)
        init = [mapped_in_front(x, a, size) if m else x for x, a, m in zip(init, init_axes, mapped, strict=True)]
        results = bind(self.of(body, self.num_consts, count), *consts, *init, *xs)
        return results, [*(0 if m else NOT_MAPPED for m in mapped), *(1 if f else NOT_MAPPED for f in forced[count:])]


_COUNTER = shaped((), np.dtype(np.int32))
