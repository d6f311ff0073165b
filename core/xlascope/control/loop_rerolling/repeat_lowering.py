"""Lowering of repeats to StableHLO: a while loop with a counter that reads from stacks and writes to others.

Operations that only read or write a stack are named after the equations whose values it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ir.avals import ShapedArray, make_aval, physical_aval
from ...ir.jaxpr import ClosedJaxpr
from ...records.op_names import REPEATS
from ..flow.slice_avals import to_stacked_aval

_NAME = REPEATS.rpartition("/")[2]
_COUNTER = make_aval((), np.dtype(np.int32))


class RepeatedLowering(NamedTuple):
    """Lowering of one :class:`~.repeat_op.RepeatLoop` to StableHLO.

    ``split_operands`` splits the loop's operands into constants, carry and stacks. The other fields are those of the
    operation; ``write_names`` are its ``kept_names``.
    """

    builder: Any
    jaxpr: ClosedJaxpr
    repeats: int
    reads: Sequence[tuple[int, int, int]]
    read_names: Sequence[str]
    write_names: Sequence[str]
    split_operands: Callable[[Sequence[Any]], tuple[Sequence[Any], Sequence[Any], Sequence[Any]]]

    def lower(self, operands: Sequence[Any]) -> list[Any]:
        """Lower the loop and return the MLIR values of the final carry and the stacked results."""
        builder = self.builder
        consts, carry, stacks = self.split_operands(list(operands))
        stack_avals = self._stack_avals(len(carry))
        state = [*carry, *(builder.constant(0, aval) for aval in stack_avals)]
        in_consts, in_carry, in_stacks = self.split_operands(builder.in_avals)
        avals = [_COUNTER, *in_consts, *in_carry, *stack_avals, *in_stacks]
        first, last = 1 + len(consts), 1 + len(consts) + len(state)

        def is_not_finished(counter: Any, *_: Any) -> list[Any]:
            with builder.name_scope("counter"):
                return [builder.compare("LT", counter, builder.constant(np.int32(self.repeats), _COUNTER))]

        def lower_body(counter: Any, *values: Any) -> list[Any]:
            values = (counter, *values)
            after = self._lower_repeat(counter, values[1:first], values[first:last], values[last:])
            with builder.name_scope("counter"):
                increment = builder.constant(np.int32(1), _COUNTER)
                next_counter = builder.emit1("stablehlo.add", [counter, increment], _COUNTER)
            return [next_counter, *values[1:first], *after, *values[last:]]

        start = builder.constant(np.int32(0), _COUNTER)
        with builder.name_scope(_NAME):
            results = builder.while_loop([start, *consts, *state, *stacks], avals, is_not_finished, lower_body)
        return results[first:last]  # type: ignore[no-any-return]

    def _stack_avals(self, num_carry: int) -> list[ShapedArray]:
        """Return the types of the stacked results, in which typed keys are arrays of key words."""
        return [physical_aval(to_stacked_aval(aval, self.repeats)) for aval in self.jaxpr.out_avals[num_carry:]]

    def _lower_repeat(
        self, counter: Any, consts: Sequence[Any], state: Sequence[Any], stacks: Sequence[Any]
    ) -> list[Any]:
        """Lower the loop's body: read from the stacks, call the program, and write results into their stacks.

        ``counter`` is the index of the repeat; ``state`` are the carry and the stacked results so far, of which the
        new values are returned.
        """
        builder = self.builder
        _, carry, slices = self.split_operands(self.jaxpr.in_avals)
        count = len(carry)
        read_slices = []
        for aval, (number, start, step), name in zip(slices, self.reads, self.read_names, strict=True):
            with builder.name_scope(name):
                index = self._read_index(counter, start, step)
                read_slices.append(builder.slice_leading(stacks[number], index, physical_aval(aval)))
        results = builder.call_body(self.jaxpr, [*consts, *state[:count], *read_slices])
        updated_stacks = []
        values = zip(state[count:], results[count:], self._stack_avals(count), self.write_names, strict=True)
        for stack, value, aval, name in values:
            with builder.name_scope(name):
                updated_stacks.append(builder.update_leading(stack, value, counter, aval))
        return [*results[:count], *updated_stacks]

    def _read_index(self, counter: Any, start: int, step: int) -> Any:
        """Return the index ``start + counter * step`` as an MLIR value."""
        builder = self.builder
        if (start, step) == (0, 1):
            return counter
        wide = builder.emit1("stablehlo.multiply", [counter, builder.constant(np.int32(step), _COUNTER)], _COUNTER)
        return builder.emit1("stablehlo.add", [wide, builder.constant(np.int32(start), _COUNTER)], _COUNTER)
