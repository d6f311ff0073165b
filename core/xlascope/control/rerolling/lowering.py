"""Repeats as StableHLO: a while over a counter that reads stacks, where each repeat has its place, and writes others.

What only reads a stack or writes into one is named by the equations whose values are in it: it copies them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.avals import ShapedArray, in_words, shaped
from ...ir.jaxpr import ClosedJaxpr
from ...records.op_names import REPEATS
from ..flow.slices import stacked

_NAME = REPEATS.rpartition("/")[2]
_COUNTER = shaped((), np.dtype(np.int32))


class RepeatedLowering(NamedTuple):
    """Writes a loop; ``split`` parts what belongs to its operands into constants, carry and stacks."""

    builder: Any
    jaxpr: ClosedJaxpr
    repeats: int
    reads: Sequence[tuple[int, int, int]]
    read_names: Sequence[str]
    kept_names: Sequence[str]
    split: Callable[[Sequence[Any]], tuple[Sequence[Any], Sequence[Any], Sequence[Any]]]

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """The carry after all repeats, and what each gave, stacked."""
        builder = self.builder
        consts, carry, stacks = self.split(list(operands))
        kept = self._kept(len(carry))
        state = [*carry, *(builder.constant(0, aval) for aval in kept)]
        in_consts, in_carry, in_stacks = self.split(builder.in_avals)
        avals = [_COUNTER, *in_consts, *in_carry, *kept, *in_stacks]
        first, last = 1 + len(consts), 1 + len(consts) + len(state)

        def going_on(counter: Any, *_: Any) -> list[Any]:
            with builder.called("counter"):
                return [builder.compare("LT", counter, builder.constant(np.int32(self.repeats), _COUNTER))]

        def repeat(counter: Any, *values: Any) -> list[Any]:
            values = (counter, *values)
            after = self._repeat(counter, values[1:first], values[first:last], values[last:])
            with builder.called("counter"):
                one = builder.constant(np.int32(1), _COUNTER)
                following = builder.emit1("stablehlo.add", [counter, one], _COUNTER)
            return [following, *values[1:first], *after, *values[last:]]

        start = builder.constant(np.int32(0), _COUNTER)
        with builder.called(_NAME):
            results = builder.while_loop([start, *consts, *state, *stacks], avals, going_on, repeat)
        return results[first:last]  # type: ignore[no-any-return]

    def _kept(self, num_carry: int) -> list[ShapedArray]:
        """The types of what is stacked, of keys as words."""
        return [in_words(stacked(aval, self.repeats)) for aval in self.jaxpr.out_avals[num_carry:]]

    def _repeat(self, counter: Any, consts: Sequence[Any], state: Sequence[Any], stacks: Sequence[Any]) -> list[Any]:
        builder = self.builder
        _, carry, slices = self.split(self.jaxpr.in_avals)
        count = len(carry)
        read = []
        for aval, (number, start, step), name in zip(slices, self.reads, self.read_names, strict=True):
            with builder.called(name):
                place = self._place(counter, start, step)
                read.append(builder.slice_leading(stacks[number], place, in_words(aval)))
        results = builder.call_body(self.jaxpr, [*consts, *state[:count], *read])
        kept = []
        values = zip(state[count:], results[count:], self._kept(count), self.kept_names, strict=True)
        for stack, value, aval, name in values:
            with builder.called(name):
                kept.append(builder.update_leading(stack, value, counter, aval))
        return [*results[:count], *kept]

    def _place(self, counter: Any, start: int, step: int) -> Any:
        """Where a repeat reads."""
        builder = self.builder
        if (start, step) == (0, 1):
            return counter
        wide = builder.emit1("stablehlo.multiply", [counter, builder.constant(np.int32(step), _COUNTER)], _COUNTER)
        return builder.emit1("stablehlo.add", [wide, builder.constant(np.int32(start), _COUNTER)], _COUNTER)
