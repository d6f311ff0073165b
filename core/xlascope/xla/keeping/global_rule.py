"""Values that XLA's fusion leaves in memory for all users (``ComputeGloballyUnfusible`` in XLA).

These are values that read more than they write, unless each of their users fuses them on every path to it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from .graph import Graph
from .rates import REUSING

_SMALL = frozenset({"broadcast_in_dim", "constant", "iota"})


def left_in_memory(graph: Graph, materialized: Set[int], readers: Sequence[int]) -> set[int]:
    """Return the values that stay in memory, given the materialized ones and each value's number of readers."""
    candidates = [number for number in range(len(graph) - 1, -1, -1) if _reads_more(graph, number)]
    if not candidates:
        return set()
    paths = _Ways(graph, materialized, readers)
    for number in candidates:
        if number in graph.results or not all(paths.all_pass(number, user) for user in graph.users[number]):
            paths.left.add(number)
    return paths.left


def _reads_more(graph: Graph, number: int) -> bool:
    """Return whether a value has several operands that are large compared to it."""
    operands = graph.operands[number]
    if len(operands) < 2 or not graph.fusible[number]:
        return False
    elements, _, rank = graph.size[number]
    if sum(graph.kind[x] not in _SMALL and graph.size[x].rank >= rank for x in operands) < 2:
        return False
    return sum(graph.size[x].elements for x in operands) > elements


class _Ways:
    """Paths from values to their users, and whether values can be fused along them."""

    def __init__(self, graph: Graph, materialized: Set[int], readers: Sequence[int]) -> None:
        self.graph, self.kept, self.readers = graph, materialized, readers
        self.left: set[int] = set()
        self.known: dict[tuple[int, int], bool] = {}
        #: By value, what it depends on, as a bit set; itself included.
        self.needs: list[int] = []
        for number, operands in enumerate(graph.operands):
            bits = 1 << number
            for operand in operands:
                bits |= self.needs[operand]
            self.needs.append(bits)

    def all_pass(self, producer: int, consumer: int) -> bool:
        """Return whether each step on every path from one value to another can be fused into the next."""
        answers, pending = self.known, [consumer]
        answers[producer, producer] = True
        while pending:  # no recursion: paths are as long as programs
            answer = self._answer(producer, pending[-1])
            if isinstance(answer, bool):
                answers[producer, pending.pop()] = answer
            else:
                pending.append(answer)
        return answers[producer, consumer]

    def _answer(self, producer: int, consumer: int) -> bool | int:
        """Return whether every step can be fused, or the operand of the consumer to decide first."""
        bit = 1 << producer
        for operand in self.graph.operands[consumer]:
            if not self.needs[operand] & bit:
                continue
            if not self._passes(operand, consumer):
                return False
            answer = self.known.get((producer, operand))
            if answer is not True:
                return operand if answer is None else False
        return True

    def _passes(self, producer: int, consumer: int) -> bool:
        graph = self.graph
        if not (graph.fusible[producer] and graph.fusible[consumer]) or producer in self.left or producer in self.kept:
            return False
        return not graph.expensive[producer] or (self.readers[producer] <= 1 and graph.kind[consumer] not in REUSING)
