"""Simulation of the fusion of XLA's CPU back end: which values would be computed in which kernels.

From the end of a computation, each value that has to be in memory begins a kernel, which fuses whatever it needs
that can be computed in a loop over elements: the last value first, a cheap value into every kernel that needs it,
an expensive one into the only one. A value that reads more than it writes is left in memory where some of its
users cannot fuse it. These are the rules of XLA's pass (instruction_fusion.cc and cpu_instruction_fusion.cc in its
sources, autumn 2026) as far as they decide how often a value is computed. Before that, large reductions are given
to a library, together with what is computed for them alone, and products and convolutions get their operands in
their order (``operand_layouts``); XLA's other simplifications, and the layouts that it chooses, are not modeled.
"""

from __future__ import annotations

from collections.abc import Set
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from .global_rule import left_in_memory
from .graph import BARRIER, LIBRARY_REDUCE, PARAMETER, Graph
from .rates import MOVING, REUSING, TAKEN_BY_LIBRARY

#: A kernel computes a value at no more than this many indices, and fuses about this many reductions.
_MOST_INDICES, _MOST_REDUCTIONS = 15, 5
_MOST_JOINED = 8
_NO_KERNEL = frozenset({PARAMETER, BARRIER, "constant"})


class Kernel(NamedTuple):
    """Value that is written to memory, what is computed for it (itself included), and what is read."""

    root: int
    computed: list[int]
    read: list[int]


def kernels_of(graph: Graph, materialized: Set[int] = frozenset()) -> list[Kernel]:
    """Simulate fusion and return the kernels, the last first; values in ``materialized`` are computed once."""
    return _Fusion(graph, materialized).kernels()


class _Fusion:
    """Fusion of one computation, which assigns values to kernels from its end."""

    def __init__(self, graph: Graph, materialized: Set[int]) -> None:
        self.graph = graph
        #: The number of kernels, and of values outside of them, that read a value.
        self.readers = [len(users) + (number in graph.results) for number, users in enumerate(graph.users)]
        self.kept = materialized
        self.alone = left_in_memory(graph, materialized, self.readers) | materialized

    def kernels(self) -> list[Kernel]:
        graph, readers, modeled_kernels = self.graph, self.readers, []
        for root in range(len(graph) - 1, -1, -1):
            if graph.kind[root] in _NO_KERNEL:
                if not readers[root]:
                    self._leave(root)
            elif readers[root] > 0:
                modeled_kernels.append(self._kernel(root))
            elif readers[root] == 0:
                self._leave(root)
        return modeled_kernels

    def _leave(self, number: int) -> None:
        """Release the operands of a value that nothing needs."""
        for operand in self.graph.operands[number]:
            self.readers[operand] -= 1

    def _kernel(self, root: int) -> Kernel:
        """Build the kernel that ends in a value: what it needs is fused, the last value first."""
        graph, readers = self.graph, self.readers
        kernel: _Growing | _ByLibrary
        unfusible: Set[int]
        if graph.fusible[root]:
            kernel, unfusible = _Growing(graph, root), self.alone
        elif graph.kind[root] == LIBRARY_REDUCE:
            kernel, unfusible = _ByLibrary(graph, root), self.kept
        else:
            return Kernel(root, [root], list(graph.operands[root]))
        pending = [-operand for operand in graph.operands[root]]
        heapify(pending)
        visited = set(graph.operands[root])
        read = []
        while pending:
            number = -heappop(pending)
            if number in unfusible or not kernel.takes(number, readers[number]):
                read.append(number)
                continue
            kernel.take(number)
            readers[number] -= 1
            is_consumed = readers[number] == 0
            if is_consumed:
                readers[number] = -1  # the value exists inside of kernels only, and reads nothing itself any more
            for operand in graph.operands[number]:
                if operand in visited:
                    readers[operand] -= is_consumed
                else:
                    visited.add(operand)
                    heappush(pending, -operand)
                    readers[operand] += 1 - is_consumed
        return Kernel(root, kernel.computed, read)


class _Growing:
    """Kernel that fuses one value after the other."""

    def __init__(self, graph: Graph, root: int) -> None:
        self.graph = graph
        self.computed: list[int] = []
        self.reductions = 0
        #: Values that are used several times for one element of the root.
        self.reused: set[int] = set()
        #: By value, its users that index it independently, and the number of indices at which it is computed.
        self.indexed_by: dict[int, set[int]] = {root: {root}}
        self.indices: dict[int, int] = {}
        self.take(root)

    def takes(self, number: int, readers: int) -> bool:
        """Return whether a value with so many readers is computed in this kernel."""
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
        indexing_users = {number} if kind in MOVING else self.indexed_by[number]
        for operand in operands:
            self.indexed_by.setdefault(operand, set()).update(indexing_users)
        if number in self.reused or kind in REUSING:
            self.reused.update(operands)

    def _indices(self, number: int) -> int:
        return sum(self.indices[user] for user in self.indexed_by[number])


class _ByLibrary:
    """Reduction that a library carries out, with what is computed for it alone."""

    def __init__(self, graph: Graph, root: int) -> None:
        self.graph = graph
        self.computed = [root]

    def takes(self, number: int, readers: int) -> bool:
        """Return whether a value is computed in this kernel."""
        graph, kind = self.graph, self.graph.kind[number]
        if kind == "constant":
            return graph.size[number].rank == 0
        has_single_use = len(graph.users[number]) == 1 and number not in graph.results
        return kind == "broadcast_in_dim" or (has_single_use and kind in TAKEN_BY_LIBRARY)

    def take(self, number: int) -> None:
        """Compute a value in this kernel."""
        self.computed.append(number)
