"""Lowering of scan to StableHLO: a while loop with a counter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.avals import ShapedArray, make_aval, physical_aval
from ...ir.jaxpr import ClosedJaxpr
from .slice_avals import to_stacked_aval

_COUNTER = make_aval((), np.dtype(np.int32))


class ScanLowering(NamedTuple):
    """Lowering of one scan to StableHLO.

    ``split_operands`` splits the scan's operands into constants, carry and arrays to slice; the other fields are
    those of the operation.
    """

    builder: Any
    jaxpr: ClosedJaxpr
    length: int
    reverse: bool
    unroll: int
    split_operands: Callable[[Sequence[Any]], tuple[Sequence[Any], Sequence[Any], Sequence[Any]]]

    def lower(self, operands: Sequence[Any]) -> list[Any]:
        """Lower the scan and return the MLIR values of the final carry and the stacked results."""
        builder = self.builder
        consts, carry, xs = self.split_operands(list(operands))
        ys = [builder.constant(0, a) for a in self.stacked_avals(len(carry))]
        rounds, remainder = divmod(self.length, self.unroll) if self.length else (0, 0)
        if rounds == 1:
            rounds, remainder = 0, self.length
        state = [*carry, *ys]
        if rounds:
            state = self._lower_rounds(rounds, consts, xs, state)
        for step in range(self.length - remainder, self.length):
            index = builder.constant(np.int32(step), _COUNTER)
            state = self._lower_step(index, consts, xs, state)
        return state

    def stacked_avals(self, num_carry: int) -> list[ShapedArray]:
        """Return the types of the stacked results, in which typed keys are arrays of key words."""
        return [physical_aval(to_stacked_aval(a, self.length)) for a in self.jaxpr.out_avals[num_carry:]]

    def _lower_rounds(self, rounds: int, consts: Sequence[Any], xs: Sequence[Any], state: Sequence[Any]) -> list[Any]:
        """Lower the while loop of ``rounds`` rounds, each of which runs ``unroll`` iterations of the scan.

        ``state`` are the carry and the stacked results; their values after the loop are returned.
        """
        builder = self.builder
        in_consts, in_carry, in_xs = self.split_operands(builder.in_avals)
        avals = [_COUNTER, *in_consts, *in_carry, *self.stacked_avals(len(in_carry)), *in_xs]
        first, last = len(consts), len(state)
        start = builder.constant(np.int32(0), _COUNTER)

        def is_not_finished(counter: Any, *_: Any) -> list[Any]:
            end = builder.constant(np.int32(rounds), _COUNTER)
            return [builder.compare("LT", counter, end)]

        def body(counter: Any, *values: Any) -> list[Any]:
            own_consts, own_xs = values[:first], values[first + last :]
            own_state = list(values[first : first + last])
            for part in range(self.unroll):
                own_state = self._lower_step(self._step_index(counter, part), own_consts, own_xs, own_state)
            increment = builder.constant(np.int32(1), _COUNTER)
            return [builder.emit1("stablehlo.add", [counter, increment], _COUNTER), *own_consts, *own_state, *own_xs]

        operands = [start, *consts, *state, *xs]
        with_token = builder.needs_token(self.jaxpr.effects)
        results = builder.while_loop(operands, avals, is_not_finished, body, with_token=with_token)
        return results[1 + first : 1 + first + last]  # type: ignore[no-any-return]

    def _step_index(self, counter: Any, part: int) -> Any:
        """Return the index of an iteration as an MLIR value: ``counter * unroll + part``.

        ``counter`` counts the runs of the lowered loop's body, each of which holds ``unroll`` iterations; ``part``
        counts these.
        """
        builder = self.builder
        if self.unroll == 1:
            return counter
        width = builder.constant(np.int32(self.unroll), _COUNTER)
        first = builder.emit1("stablehlo.multiply", [counter, width], _COUNTER)
        return builder.emit1("stablehlo.add", [first, builder.constant(np.int32(part), _COUNTER)], _COUNTER)

    def _lower_step(self, index: Any, consts: Sequence[Any], xs: Sequence[Any], state: Sequence[Any]) -> list[Any]:
        """Lower one iteration: slice ``xs``, call the body, and write its results into the stacked ones.

        ``index`` counts iterations from 0, also in reverse; ``state`` are the carry and the stacked results, whose
        new values are returned.
        """
        builder = self.builder
        _, carry, in_slices = self.split_operands(self.jaxpr.in_avals)
        count = len(carry)
        if self.reverse:
            end = builder.constant(np.int32(self.length - 1), _COUNTER)
            index = builder.emit1("stablehlo.subtract", [end, index], _COUNTER)
        slices = [builder.slice_leading(x, index, physical_aval(aval)) for x, aval in zip(xs, in_slices, strict=True)]
        results = builder.call_body(self.jaxpr, [*consts, *state[:count], *slices], 0)
        stacks = [
            builder.update_leading(stack, y, index, aval)
            for stack, y, aval in zip(state[count:], results[count:], self.stacked_avals(count), strict=True)
        ]
        return [*results[:count], *stacks]
