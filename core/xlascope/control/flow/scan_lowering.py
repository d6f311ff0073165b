"""Lowering of scan to StableHLO: a while loop with a counter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.avals import ShapedArray, in_words, shaped
from ...ir.jaxpr import ClosedJaxpr
from .slices import stacked

_COUNTER = shaped((), np.dtype(np.int32))


class ScanLowering(NamedTuple):
    """Lowering of one scan; ``split_operands`` splits its operands into constants, carry and arrays to slice."""

    builder: Any
    jaxpr: ClosedJaxpr
    length: int
    reverse: bool
    unroll: int
    split: Callable[[Sequence[Any]], tuple[Sequence[Any], Sequence[Any], Sequence[Any]]]

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """Lower the scan and return the final carry and the stacked results."""
        builder = self.builder
        consts, carry, xs = self.split(list(operands))
        ys = [builder.constant(0, a) for a in self.stacked_avals(len(carry))]
        rounds, remainder = divmod(self.length, self.unroll) if self.length else (0, 0)
        if rounds == 1:
            rounds, remainder = 0, self.length
        state = [*carry, *ys]
        if rounds:
            state = self._rounds(rounds, consts, xs, state)
        for step in range(self.length - remainder, self.length):
            index = builder.constant(np.int32(step), _COUNTER)
            state = self._step(index, consts, xs, state)
        return state

    def stacked_avals(self, num_carry: int) -> list[ShapedArray]:
        """Return the types of the stacked results, with keys as arrays of words."""
        return [in_words(stacked(a, self.length)) for a in self.jaxpr.out_avals[num_carry:]]

    def _rounds(self, rounds: int, consts: Sequence[Any], xs: Sequence[Any], state: Sequence[Any]) -> list[Any]:
        """Lower the loop over all steps except those that unrolling leaves over."""
        builder = self.builder
        in_consts, in_carry, in_xs = self.split(builder.in_avals)
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
                own_state = self._step(self._index(counter, part), own_consts, own_xs, own_state)
            increment = builder.constant(np.int32(1), _COUNTER)
            return [builder.emit1("stablehlo.add", [counter, increment], _COUNTER), *own_consts, *own_state, *own_xs]

        operands = [start, *consts, *state, *xs]
        with_token = builder.passes_token(self.jaxpr.effects)
        results = builder.while_loop(operands, avals, is_not_finished, body, with_token=with_token)
        return results[1 + first : 1 + first + last]  # type: ignore[no-any-return]

    def _index(self, counter: Any, part: int) -> Any:
        """Return the index of the ``part``-th step in the round that the counter gives."""
        builder = self.builder
        if self.unroll == 1:
            return counter
        width = builder.constant(np.int32(self.unroll), _COUNTER)
        first = builder.emit1("stablehlo.multiply", [counter, width], _COUNTER)
        return builder.emit1("stablehlo.add", [first, builder.constant(np.int32(part), _COUNTER)], _COUNTER)

    def _step(self, index: Any, consts: Sequence[Any], xs: Sequence[Any], state: Sequence[Any]) -> list[Any]:
        """Lower one step: slice ``xs``, call the body, and write its results into the stacked ones."""
        builder = self.builder
        _, carry, in_slices = self.split(self.jaxpr.in_avals)
        count = len(carry)
        if self.reverse:
            end = builder.constant(np.int32(self.length - 1), _COUNTER)
            index = builder.emit1("stablehlo.subtract", [end, index], _COUNTER)
        slices = [builder.slice_leading(x, index, in_words(aval)) for x, aval in zip(xs, in_slices, strict=True)]
        results = builder.call_body(self.jaxpr, [*consts, *state[:count], *slices], 0)
        stacks = [
            builder.update_leading(stack, y, index, aval)
            for stack, y, aval in zip(state[count:], results[count:], self.stacked_avals(count), strict=True)
        ]
        return [*results[:count], *stacks]
