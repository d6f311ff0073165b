"""Which values would be computed in which kernels: the fusion of XLA's CPU back end, simulated.

From the end of a computation, each value that has to be in memory begins a kernel, which takes in whatever it needs
that can be computed in a loop over elements: the last one first, what is cheap for every kernel that needs it, what is
expensive for the only one. What reads more than it writes is left in memory where some of its users cannot take it in.
These are the rules of XLA's pass (instruction_fusion.cc and cpu_instruction_fusion.cc in its sources, autumn 2026) as
far as they decide what is computed how often. Before it large reductions are given to a library, with what is computed
for them alone, and products and convolutions get their operands in their order (``operand_orders``); what else XLA
simplifies before, and the layouts that it chooses, are not followed.
"""

from __future__ import annotations

from collections.abc import Set
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from .global_rule import left_in_memory
from .graph import BARRIER, LIBRARY_REDUCE, PARAMETER, Graph
from .rates import MOVING, REUSING, TAKEN_BY_LIBRARY

#: In one kernel a value is written out for at most so many indices, and so many reductions are taken in.
_MOST_INDICES, _MOST_REDUCTIONS = 15, 5
_MOST_JOINED = 8
_NO_KERNEL = frozenset({PARAMETER, BARRIER, "constant"})


class Kernel(NamedTuple):
    """A value that is written to memory, what is computed for it (itself included), and what is read."""

    root: int
    computed: list[int]
    read: list[int]


def kernels_of(graph: Graph, kept: Set[int] = frozenset()) -> list[Kernel]:
    """The kernels of a computation, the last first, when the values ``kept`` are computed once, whoever needs them."""
    return _Fusion(graph, kept).kernels()


class _Fusion:
    def __init__(self, graph: Graph, kept: Set[int]) -> None:
        self.graph = graph
        #: How many kernels, and values outside of them, read a value.
        self.readers = [len(users) + (number in graph.results) for number, users in enumerate(graph.users)]
        self.kept = kept
        self.alone = left_in_memory(graph, kept, self.readers) | kept

    def kernels(self) -> list[Kernel]:
        graph, readers, found = self.graph, self.readers, []
        for root in range(len(graph) - 1, -1, -1):
            if graph.kind[root] in _NO_KERNEL:
                if not readers[root]:
                    self._leave(root)
            elif readers[root] > 0:
                found.append(self._kernel(root))
            elif readers[root] == 0:
                self._leave(root)
        return found

    def _leave(self, number: int) -> None:
        """Nobody needs a value."""
        for operand in self.graph.operands[number]:
            self.readers[operand] -= 1

    def _kernel(self, root: int) -> Kernel:
        """The kernel that ends in a value: what it needs is taken in, the last value first."""
        graph, readers = self.graph, self.readers
        kernel: _Growing | _ByLibrary
        left: Set[int]
        if graph.fusible[root]:
            kernel, left = _Growing(graph, root), self.alone
        elif graph.kind[root] == LIBRARY_REDUCE:
            kernel, left = _ByLibrary(graph, root), self.kept
        else:
            return Kernel(root, [root], list(graph.operands[root]))
        pending = [-operand for operand in graph.operands[root]]
        heapify(pending)
        known = set(graph.operands[root])
        read = []
        while pending:
            number = -heappop(pending)
            if number in left or not kernel.takes(number, readers[number]):
                read.append(number)
                continue
            kernel.take(number)
            readers[number] -= 1
            gone = readers[number] == 0
            if gone:
                readers[number] = -1  # it is in kernels only, and read nothing any more
            for operand in graph.operands[number]:
                if operand in known:
                    readers[operand] -= gone
                else:
                    known.add(operand)
                    heappush(pending, -operand)
                    readers[operand] += 1 - gone
        return Kernel(root, kernel.computed, read)


class _Growing:
    """A kernel that takes in one value after the other."""

    def __init__(self, graph: Graph, root: int) -> None:
        self.graph = graph
        self.computed: list[int] = []
        self.reductions = 0
        #: What is used several times for one element of the root.
        self.reused: set[int] = set()
        #: By value, those of its users that need it at indices of their own, and at how many indices it is computed.
        self.indexed_by: dict[int, set[int]] = {root: {root}}
        self.indices: dict[int, int] = {}
        self.take(root)

    def takes(self, number: int, readers: int) -> bool:
        """Whether a value with so many readers is computed in this kernel."""
        graph, kind = self.graph, self.graph.kind[number]
        if not graph.fusible[number]:
            return False
        if kind == "constant":
            return graph.size[number].rank == 0
        if graph.expensive[number] and (readers > 1 or number in self.reused):
            return False
        if kind == "reduce" and self.reductions > _MOST_REDUCTIONS:
            return False
        if kind == "concatenate" and len(graph.operands[number]) > _MOST_JOINED:
            return False
        return kind == "broadcast_in_dim" or self._indices(number) <= _MOST_INDICES

    def take(self, number: int) -> None:
        """Compute a value in this kernel."""
        graph, kind = self.graph, self.graph.kind[number]
        self.indices[number] = self._indices(number) if self.computed else 1
        self.computed.append(number)
        self.reductions += kind == "reduce"
        operands = graph.operands[number]
        by = {number} if kind in MOVING else self.indexed_by[number]
        for operand in operands:
            self.indexed_by.setdefault(operand, set()).update(by)
        if number in self.reused or kind in REUSING:
            self.reused.update(operands)

    def _indices(self, number: int) -> int:
        return sum(self.indices[user] for user in self.indexed_by[number])


class _ByLibrary:
    """A reduction that a library carries out, with what is computed for it alone."""

    def __init__(self, graph: Graph, root: int) -> None:
        self.graph = graph
        self.computed = [root]

    def takes(self, number: int, readers: int) -> bool:
        """Whether a value is computed in this kernel."""
        graph, kind = self.graph, self.graph.kind[number]
        if kind == "constant":
            return graph.size[number].rank == 0
        alone = len(graph.users[number]) == 1 and number not in graph.results
        return kind == "broadcast_in_dim" or (alone and kind in TAKEN_BY_LIBRARY)

    def take(self, number: int) -> None:
        """Compute a value in this kernel."""
        self.computed.append(number)
