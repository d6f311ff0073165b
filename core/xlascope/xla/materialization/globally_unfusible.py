"""Values that XLA's fusion leaves in memory for all users (``ComputeGloballyUnfusible`` in XLA).

These are values that read more than they write, unless each of their users fuses them on every path to it.
"""

from __future__ import annotations

from collections.abc import Set

from .cost_model import REUSING_OPS
from .graph import EXPENSIVE, FUSIBLE, ValueGraph


def compute_globally_unfusible(graph: ValueGraph, materialized: Set[int], known: Set[int]) -> Set[int]:
    """Return the values that XLA leaves in memory for all of their users, since some user cannot fuse them.

    ``materialized`` are the values behind barriers. ``known`` are some of the values to return: those of the same
    graph without barriers.
    """
    candidates = [number for number in graph.reads_more_than_it_writes if number not in known]
    if not candidates:
        return known
    paths = _FusionPaths(graph, materialized, known)
    for number in candidates:
        if number in graph.results or not all(
            paths.can_fuse_on_all_paths(number, user) for user in graph.users[number]
        ):
            paths.unfusible.add(number)
    return paths.unfusible


class _FusionPaths:
    """Paths from values to their users in a graph, and whether values can be fused along them.

    Results are cached by producer and consumer. ``unfusible`` is extended by the caller as values are found.
    """

    def __init__(self, graph: ValueGraph, materialized: Set[int], known: Set[int]) -> None:
        self.graph, self.materialized = graph, materialized
        self.unfusible = set(known)
        self.can_fuse_between: dict[tuple[int, int], bool] = {}

    def can_fuse_on_all_paths(self, producer: int, consumer: int) -> bool:
        """Return whether each step on every path from ``producer`` to ``consumer`` can be fused into the next."""
        if len(self.graph.users[producer]) == 1:  # the only path
            return self._can_fuse(producer, consumer)
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
        for operand in self.graph.operands[consumer]:
            if operand != producer and not self.graph.dependencies.has(operand, producer):
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
            not (graph.traits[producer] & graph.traits[consumer] & FUSIBLE)
            or producer in self.unfusible
            or producer in self.materialized
        ):
            return False
        return not graph.traits[producer] & EXPENSIVE or (
            len(graph.users[producer]) + (producer in graph.results) <= 1 and graph.kind[consumer] not in REUSING_OPS
        )
