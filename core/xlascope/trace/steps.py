"""Sequences of operations, the content of recorded traces."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import itemgetter
from typing import Any

from ..ir.avals import ShapedArray
from ..ir.operation import Operation
from ..recent import Recent

#: Picks the operands of an operation from the values so far.
Getter = Callable[[Sequence[Any]], Sequence[Any]]
#: An operation, how to pick its operands, and the types of its results.
Step = tuple[Operation, Getter, tuple[ShapedArray, ...]]

#: Generation size of the cache of batched forms of a sequence, one for each combination of mapped axes.
_MOST = 16


class Steps(tuple[Step, ...]):
    """Operations to apply in order.

    Values are numbered: the inputs first, then the results of each operation.
    """

    #: The number of values before the first operation, and after the last.
    first: int
    last: int
    #: Whether each operation has one result.
    single: bool
    #: The inputs that operations use, and the constants among those.
    needs: tuple[int, ...]
    constants: tuple[int, ...]
    #: The results that are used afterwards.
    wanted: tuple[int, ...]
    #: The sequence for a whole batch, recorded once for each combination of kinds of its inputs.
    batched: Recent[Any, Any]


def steps_of(
    operations: Sequence[tuple[Operation, Sequence[int], tuple[ShapedArray, ...]]],
    first: int,
    constants: range,
    wanted: Collection[int],
) -> Steps:
    """Build a sequence from operations, the indices of their operands among the values, and their result types.

    There are ``first`` inputs; those at ``constants`` are the same whenever the sequence is applied.
    """
    steps = Steps((operation, taken_from(indices), avals) for operation, indices, avals in operations)
    steps.first = first
    steps.last = first + sum(len(avals) for _, _, avals in operations)
    steps.single = all(len(avals) == 1 for _, _, avals in operations)
    before = sorted({index for _, indices, _ in operations for index in indices if index < first})
    steps.needs = tuple(index for index in before if index not in constants)
    steps.constants = tuple(index for index in before if index in constants)
    steps.wanted = tuple(sorted({index for index in wanted if first <= index < steps.last}))
    steps.batched = Recent(_MOST)
    return steps


def taken_from(indices: Sequence[int]) -> Getter:
    """Return a function that picks the values at these indices, implemented in C."""
    if len(indices) > 1:
        return itemgetter(*indices)
    start = indices[0] if indices else 0
    return itemgetter(slice(start, start + len(indices)))
