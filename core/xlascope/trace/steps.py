"""Operations to take one after the other: what plans are made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import itemgetter
from typing import Any

from ..ir.avals import ShapedArray
from ..ir.operation import Operation
from ..recent import Recent

#: What gives the operands of a step from the values counted so far.
Getter = Callable[[Sequence[Any]], Sequence[Any]]
#: An operation to take: what gives its operands, and its results' types.
Step = tuple[Operation, Getter, tuple[ShapedArray, ...]]

#: Ways to take the same steps that are kept: by the axes that are mapped.
_MOST = 16


class Steps(tuple[Step, ...]):
    """Operations to take in order. Values are counted: those that are there before, then what each step gives."""

    #: How many values are there before the first step, and how many after the last.
    first: int
    last: int
    #: Whether each step gives one value.
    single: bool
    #: Which of those that are there before the steps are applied to, and which of these are constants.
    needs: tuple[int, ...]
    constants: tuple[int, ...]
    #: Which of the values that the steps give are asked for afterwards.
    wanted: tuple[int, ...]
    #: How to take them at once for all examples of a batch, by the kinds of the values needed.
    batched: Recent[Any, Any]


def steps_of(
    taken: Sequence[tuple[Operation, Sequence[int], tuple[ShapedArray, ...]]],
    first: int,
    constants: range,
    wanted: Collection[int],
) -> Steps:
    """Steps from operations, the places of their operands among the values, and the types of their results.

    ``first`` values are there before; those at ``constants`` are the same whenever the steps are taken.
    """
    steps = Steps((operation, taken_from(places), avals) for operation, places, avals in taken)
    steps.first = first
    steps.last = first + sum(len(avals) for _, _, avals in taken)
    steps.single = all(len(avals) == 1 for _, _, avals in taken)
    before = sorted({place for _, places, _ in taken for place in places if place < first})
    steps.needs = tuple(place for place in before if place not in constants)
    steps.constants = tuple(place for place in before if place in constants)
    steps.wanted = tuple(sorted({place for place in wanted if first <= place < steps.last}))
    steps.batched = Recent(_MOST)
    return steps


def taken_from(places: Sequence[int]) -> Getter:
    """What gives the values at those places, without a step of Python."""
    if len(places) > 1:
        return itemgetter(*places)
    start = places[0] if places else 0
    return itemgetter(slice(start, start + len(places)))
