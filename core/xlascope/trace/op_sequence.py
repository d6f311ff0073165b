"""Sequences of operations, the content of recorded traces."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import itemgetter
from typing import Any

from ..ir.avals import ShapedArray
from ..ir.operation import Operation
from ..lru_cache import FastLRUCache

#: Picks the operands of an operation from the values so far.
OperandGetter = Callable[[Sequence[Any]], Sequence[Any]]
#: An operation, how to pick its operands, and the types of its results.
OpStep = tuple[Operation, OperandGetter, tuple[ShapedArray, ...]]

#: Generation size of the cache of batched forms of a sequence, one for each combination of mapped axes.
_BATCHED_GENERATION_SIZE = 16


class OpSequence(tuple[OpStep, ...]):
    """Operations to apply in order, each with a function that picks its operands and with its result types.

    Values are numbered: the inputs first, then the results of each operation.
    """

    #: The number of values before the first operation, and after the last.
    input_count: int
    value_count: int
    #: Whether each operation has one result.
    is_single_result: bool
    #: The inputs that operations use, and the constants among those.
    input_indices: tuple[int, ...]
    constant_indices: tuple[int, ...]
    #: The results that are used afterwards.
    output_indices: tuple[int, ...]
    #: The sequence for a whole batch, recorded once for each combination of kinds of its inputs.
    batched_traces: FastLRUCache[Any, Any]


def build_op_sequence(
    operations: Sequence[tuple[Operation, Sequence[int], tuple[ShapedArray, ...]]],
    first: int,
    constants: range,
    used_later: Collection[int],
) -> OpSequence:
    """Build a sequence of operations, each given with the indices of its operands and with its result types.

    Indices count the values: ``first`` inputs, then all results in order. The inputs at the indices ``constants`` are
    the same whenever the sequence is applied. ``used_later`` are the indices of values that are used after the
    sequence.
    """
    steps = OpSequence((operation, make_getter(indices), avals) for operation, indices, avals in operations)
    steps.input_count = first
    steps.value_count = first + sum(len(avals) for _, _, avals in operations)
    steps.is_single_result = all(len(avals) == 1 for _, _, avals in operations)
    before = sorted({index for _, indices, _ in operations for index in indices if index < first})
    steps.input_indices = tuple(index for index in before if index not in constants)
    steps.constant_indices = tuple(index for index in before if index in constants)
    steps.output_indices = tuple(sorted({index for index in used_later if first <= index < steps.value_count}))
    steps.batched_traces = FastLRUCache(_BATCHED_GENERATION_SIZE)
    return steps


def make_getter(indices: Sequence[int]) -> OperandGetter:
    """Return a function that picks the elements at these indices from a sequence, implemented in C.

    For fewer than two indices it returns a slice of the sequence, else a tuple.
    """
    if len(indices) > 1:
        return itemgetter(*indices)
    start = indices[0] if indices else 0
    return itemgetter(slice(start, start + len(indices)))
