"""What XLA's fusion leaves in memory whoever could take it in: values that read more than they write, unless each of
their users takes them in on every way that leads to it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from .graph import Graph
from .rates import REUSING

_SMALL = frozenset({"broadcast_in_dim", "constant", "iota"})


def left_in_memory(graph: Graph, kept: Set[int], readers: Sequence[int]) -> set[int]:
    """The values that are left in memory when ``kept`` are as well, and values have so many readers."""
    suspects = [number for number in range(len(graph) - 1, -1, -1) if _reads_more(graph, number)]
    if not suspects:
        return set()
    ways = _Ways(graph, kept, readers)
    for number in suspects:
        if number in graph.results or not all(ways.all_pass(number, user) for user in graph.users[number]):
            ways.left.add(number)
    return ways.left


def _reads_more(graph: Graph, number: int) -> bool:
    """Whether a value has several operands that are large beside it."""
    operands = graph.operands[number]
    if len(operands) < 2 or not graph.fusible[number]:
        return False
    elements, _, rank = graph.size[number]
    if sum(graph.kind[x] not in _SMALL and graph.size[x].rank >= rank for x in operands) < 2:
        return False
    return sum(graph.size[x].elements for x in operands) > elements


class _Ways:
    """The ways from values to their users."""

    def __init__(self, graph: Graph, kept: Set[int], readers: Sequence[int]) -> None:
        self.graph, self.kept, self.readers = graph, kept, readers
        self.left: set[int] = set()
        self.known: dict[tuple[int, int], bool] = {}
        #: By value, what it depends on, as bits; itself included.
        self.needs: list[int] = []
        for number, operands in enumerate(graph.operands):
            bits = 1 << number
            for operand in operands:
                bits |= self.needs[operand]
            self.needs.append(bits)

    def all_pass(self, producer: int, consumer: int) -> bool:
        """Whether on every way from one value to another each step can be computed on the way to the next one."""
        known, pending = self.known, [consumer]
        known[producer, producer] = True
        while pending:  # no recursion: ways are as long as programs
            answer = self._answer(producer, pending[-1])
            if isinstance(answer, bool):
                known[producer, pending.pop()] = answer
            else:
                pending.append(answer)
        return known[producer, consumer]

    def _answer(self, producer: int, consumer: int) -> bool | int:
        """Whether every step passes, or an operand of the consumer's for which that has to be known before."""
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
