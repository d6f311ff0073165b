"""Lowering of repeats to StableHLO: a while loop with a counter that reads from stacks and writes to others.

Operations that only read or write a stack are named after the equations whose values it holds.
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
    """Lowering of one loop; ``split_operands`` splits its operands into constants, carry and stacks."""

    builder: Any
    jaxpr: ClosedJaxpr
    repeats: int
    reads: Sequence[tuple[int, int, int]]
    read_names: Sequence[str]
    kept_names: Sequence[str]
    split: Callable[[Sequence[Any]], tuple[Sequence[Any], Sequence[Any], Sequence[Any]]]

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """Lower the loop and return the final carry and the stacked results."""
        builder = self.builder
        consts, carry, stacks = self.split(list(operands))
        stack_avals = self._kept(len(carry))
        state = [*carry, *(builder.constant(0, aval) for aval in stack_avals)]
        in_consts, in_carry, in_stacks = self.split(builder.in_avals)
        avals = [_COUNTER, *in_consts, *in_carry, *stack_avals, *in_stacks]
        first, last = 1 + len(consts), 1 + len(consts) + len(state)

        def is_not_finished(counter: Any, *_: Any) -> list[Any]:
            with builder.called("counter"):
                return [builder.compare("LT", counter, builder.constant(np.int32(self.repeats), _COUNTER))]

        def lower_body(counter: Any, *values: Any) -> list[Any]:
            values = (counter, *values)
            after = self._repeat(counter, values[1:first], values[first:last], values[last:])
            with builder.called("counter"):
                increment = builder.constant(np.int32(1), _COUNTER)
                next_counter = builder.emit1("stablehlo.add", [counter, increment], _COUNTER)
            return [next_counter, *values[1:first], *after, *values[last:]]

        start = builder.constant(np.int32(0), _COUNTER)
        with builder.called(_NAME):
            results = builder.while_loop([start, *consts, *state, *stacks], avals, is_not_finished, lower_body)
        return results[first:last]  # type: ignore[no-any-return]

    def _kept(self, num_carry: int) -> list[ShapedArray]:
        """Return the types of the stacked results, with keys as arrays of words."""
        return [in_words(stacked(aval, self.repeats)) for aval in self.jaxpr.out_avals[num_carry:]]

    def _repeat(self, counter: Any, consts: Sequence[Any], state: Sequence[Any], stacks: Sequence[Any]) -> list[Any]:
        builder = self.builder
        _, carry, slices = self.split(self.jaxpr.in_avals)
        count = len(carry)
        read = []
        for aval, (number, start, step), name in zip(slices, self.reads, self.read_names, strict=True):
            with builder.called(name):
                index = self._place(counter, start, step)
                read.append(builder.slice_leading(stacks[number], index, in_words(aval)))
        results = builder.call_body(self.jaxpr, [*consts, *state[:count], *read])
        written = []
        values = zip(state[count:], results[count:], self._kept(count), self.kept_names, strict=True)
        for stack, value, aval, name in values:
            with builder.called(name):
                written.append(builder.update_leading(stack, value, counter, aval))
        return [*results[:count], *written]

    def _place(self, counter: Any, start: int, step: int) -> Any:
        """Return the index at which a repeat reads."""
        builder = self.builder
        if (start, step) == (0, 1):
            return counter
        wide = builder.emit1("stablehlo.multiply", [counter, builder.constant(np.int32(step), _COUNTER)], _COUNTER)
        return builder.emit1("stablehlo.add", [wide, builder.constant(np.int32(start), _COUNTER)], _COUNTER)
