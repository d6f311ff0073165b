"""Values that XLA's fusion leaves in memory for all users (``ComputeGloballyUnfusible`` in XLA).

These are values that read more than they write, unless each of their users fuses them on every path to it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from .cost_model import REUSING_OPS
from .graph import ValueGraph

_SMALL_OPS = frozenset({"broadcast_in_dim", "constant", "iota"})


def compute_globally_unfusible(graph: ValueGraph, materialized: Set[int], readers: Sequence[int]) -> set[int]:
    """Return the values that XLA leaves in memory for all of their users, since some user cannot fuse them.

    ``materialized`` are the values behind barriers, ``readers`` has for each value the number of kernels that read it.
    """
    candidates = [number for number in range(len(graph) - 1, -1, -1) if _reads_more_than_it_writes(graph, number)]
    if not candidates:
        return set()
    paths = _FusionPaths(graph, materialized, readers)
    for number in candidates:
        if number in graph.results or not all(
            paths.can_fuse_on_all_paths(number, user) for user in graph.users[number]
        ):
            paths.unfusible.add(number)
    return paths.unfusible


def _reads_more_than_it_writes(graph: ValueGraph, number: int) -> bool:
    """Return whether a value has several operands of at least its rank, and they have more elements than it has."""
    operands = graph.operands[number]
    if len(operands) < 2 or not graph.is_fusible[number]:
        return False
    elements, _, rank = graph.size[number]
    if sum(graph.kind[x] not in _SMALL_OPS and graph.size[x].rank >= rank for x in operands) < 2:
        return False
    return sum(graph.size[x].elements for x in operands) > elements


class _FusionPaths:
    """Paths from values to their users in a graph, and whether values can be fused along them.

    Results are cached by producer and consumer. ``unfusible`` is extended by the caller as values are found.
    """

    def __init__(self, graph: ValueGraph, materialized: Set[int], readers: Sequence[int]) -> None:
        self.graph, self.materialized, self.readers = graph, materialized, readers
        self.unfusible: set[int] = set()
        self.can_fuse_between: dict[tuple[int, int], bool] = {}
        #: By value, what it depends on, as a bit set; itself included.
        self.dependencies: list[int] = []
        for number, operands in enumerate(graph.operands):
            bits = 1 << number
            for operand in operands:
                bits |= self.dependencies[operand]
            self.dependencies.append(bits)

    def can_fuse_on_all_paths(self, producer: int, consumer: int) -> bool:
        """Return whether each step on every path from ``producer`` to ``consumer`` can be fused into the next."""
        answers, pending = self.can_fuse_between, [consumer]
        answers[producer, producer] = True
        while pending:  # no recursion: paths are as long as programs
            answer = self._answer_or_dependency(producer, pending[-1])
            if isinstance(answer, bool):
                answers[producer, pending.pop()] = answer
            else:
                pending.append(answer)
        return answers[producer, consumer]

    def _answer_or_dependency(self, producer: int, consumer: int) -> bool | int:
        """Return whether all paths from producer to consumer can be fused, or an operand to decide first.

        That is an operand of the consumer whose paths from the producer have not been examined.
        """
        bit = 1 << producer
        for operand in self.graph.operands[consumer]:
            if not self.dependencies[operand] & bit:
                continue
            if not self._can_fuse(operand, consumer):
                return False
            answer = self.can_fuse_between.get((producer, operand))
            if answer is not True:
                return operand if answer is None else False
        return True

    def _can_fuse(self, producer: int, consumer: int) -> bool:
        """Return whether value ``producer`` can be fused into ``consumer``, which is one of its users."""
        graph = self.graph
        if (
            not (graph.is_fusible[producer] and graph.is_fusible[consumer])
            or producer in self.unfusible
            or producer in self.materialized
        ):
            return False
        return not graph.is_expensive[producer] or (
            self.readers[producer] <= 1 and graph.kind[consumer] not in REUSING_OPS
        )
