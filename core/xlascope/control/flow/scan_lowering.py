"""A scan as StableHLO: a while over a counter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.avals import ShapedArray, in_words, shaped
from ...ir.jaxpr import ClosedJaxpr
from .slices import stacked

_COUNTER = shaped((), np.dtype(np.int32))


class ScanLowering(NamedTuple):
    """Writes a scan; ``split`` parts what belongs to its operands into constants, carry and what is sliced."""

    builder: Any
    jaxpr: ClosedJaxpr
    length: int
    reverse: bool
    unroll: int
    split: Callable[[Sequence[Any]], tuple[Sequence[Any], Sequence[Any], Sequence[Any]]]

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """The carry after all steps, and what each step gave, stacked."""
        builder = self.builder
        consts, carry, xs = self.split(list(operands))
        ys = [builder.constant(0, a) for a in self.stacked_avals(len(carry))]
        rounds, rest = divmod(self.length, self.unroll) if self.length else (0, 0)
        if rounds == 1:
            rounds, rest = 0, self.length
        state = [*carry, *ys]
        if rounds:
            state = self._rounds(rounds, consts, xs, state)
        for step in range(self.length - rest, self.length):
            index = builder.constant(np.int32(step), _COUNTER)
            state = self._step(index, consts, xs, state)
        return state

    def stacked_avals(self, num_carry: int) -> list[ShapedArray]:
        """The types of what is stacked, of keys as words."""
        return [in_words(stacked(a, self.length)) for a in self.jaxpr.out_avals[num_carry:]]

    def _rounds(self, rounds: int, consts: Sequence[Any], xs: Sequence[Any], state: Sequence[Any]) -> list[Any]:
        """The loop over all steps but those left over by unrolling."""
        builder = self.builder
        in_consts, in_carry, in_xs = self.split(builder.in_avals)
        avals = [_COUNTER, *in_consts, *in_carry, *self.stacked_avals(len(in_carry)), *in_xs]
        first, last = len(consts), len(state)
        start = builder.constant(np.int32(0), _COUNTER)

        def going_on(counter: Any, *_: Any) -> list[Any]:
            end = builder.constant(np.int32(rounds), _COUNTER)
            return [builder.compare("LT", counter, end)]

        def body(counter: Any, *values: Any) -> list[Any]:
            own_consts, own_xs = values[:first], values[first + last :]
            own_state = list(values[first : first + last])
            for part in range(self.unroll):
                own_state = self._step(self._index(counter, part), own_consts, own_xs, own_state)
            one = builder.constant(np.int32(1), _COUNTER)
            return [builder.emit1("stablehlo.add", [counter, one], _COUNTER), *own_consts, *own_state, *own_xs]

        operands = [start, *consts, *state, *xs]
        with_token = builder.passes_token(self.jaxpr.effects)
        results = builder.while_loop(operands, avals, going_on, body, with_token=with_token)
        return results[1 + first : 1 + first + last]  # type: ignore[no-any-return]

    def _index(self, counter: Any, part: int) -> Any:
        """The number of a step: the ``part``-th of the round that the counter says."""
        builder = self.builder
        if self.unroll == 1:
            return counter
        width = builder.constant(np.int32(self.unroll), _COUNTER)
        first = builder.emit1("stablehlo.multiply", [counter, width], _COUNTER)
        return builder.emit1("stablehlo.add", [first, builder.constant(np.int32(part), _COUNTER)], _COUNTER)

    def _step(self, index: Any, consts: Sequence[Any], xs: Sequence[Any], state: Sequence[Any]) -> list[Any]:
        """One step: slices out of ``xs``, the body, what it gave into the stacked results."""
        builder = self.builder
        _, carry, in_slices = self.split(self.jaxpr.in_avals)
        count = len(carry)
        if self.reverse:
            end = builder.constant(np.int32(self.length - 1), _COUNTER)
            index = builder.emit1("stablehlo.subtract", [end, index], _COUNTER)
        slices = [builder.slice_leading(x, index, in_words(aval)) for x, aval in zip(xs, in_slices, strict=True)]
        results = builder.call_body(self.jaxpr, [*consts, *state[:count], *slices], 0)
        stacks = [
            builder.update_leading(whole, y, index, aval)
            for whole, y, aval in zip(state[count:], results[count:], self.stacked_avals(count), strict=True)
        ]
        return [*results[:count], *stacks]
