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

from .cost_model import DATA_MOVEMENT_OPS, LIBRARY_FUSIBLE_OPS, REUSING_OPS
from .globally_unfusible import compute_globally_unfusible
from .graph import BARRIER, LIBRARY_REDUCE, PARAMETER, ValueGraph

#: A kernel computes a value at no more than this many indices, and fuses about this many reductions.
_MAX_INDICES_PER_VALUE, _MAX_REDUCTIONS_PER_KERNEL = 15, 5
_MAX_CONCATENATED_OPERANDS = 8
_OPS_WITHOUT_KERNEL = frozenset({PARAMETER, BARRIER, "constant"})


class ModeledKernel(NamedTuple):
    """Kernel of the simulation: the value that it writes to memory, what it computes for it, and what it reads.

    Values are numbers in the graph; ``computed`` includes ``root``.
    """

    root: int
    computed: list[int]
    read: list[int]


def simulate_fusion(graph: ValueGraph, materialized: Set[int] = frozenset()) -> list[ModeledKernel]:
    """Simulate XLA's fusion of a computation and return the kernels, the last one first.

    Values in ``materialized`` are computed in one kernel each, and read from memory by all others.
    """
    return _FusionSimulation(graph, materialized).build_kernels()


class _FusionSimulation:
    """Simulation of the fusion of one computation, which assigns values to kernels from its end.

    ``materialized`` are the numbers of the values that have to be in memory.
    """

    def __init__(self, graph: ValueGraph, materialized: Set[int]) -> None:
        self.graph = graph
        #: The number of kernels, and of values outside of them, that read a value.
        self.readers = [len(users) + (number in graph.results) for number, users in enumerate(graph.users)]
        self.materialized = materialized
        self.unfusible = compute_globally_unfusible(graph, materialized, self.readers) | materialized

    def build_kernels(self) -> list[ModeledKernel]:
        """Return the kernels of the computation, the last one first; a simulation is used once."""
        graph, readers, modeled_kernels = self.graph, self.readers, []
        for root in range(len(graph) - 1, -1, -1):
            if graph.kind[root] in _OPS_WITHOUT_KERNEL:
                if not readers[root]:
                    self._drop_unused(root)
            elif readers[root] > 0:
                modeled_kernels.append(self._build_kernel(root))
            elif readers[root] == 0:
                self._drop_unused(root)
        return modeled_kernels

    def _drop_unused(self, number: int) -> None:
        """Uncount value ``number``, which nothing reads, as a reader of its operands."""
        for operand in self.graph.operands[number]:
            self.readers[operand] -= 1

    def _build_kernel(self, root: int) -> ModeledKernel:
        """Build the kernel that writes the value ``root``; what it needs is fused, the last value first.

        The numbers of readers are updated: a value that all of its readers have fused is not needed in memory.
        """
        graph, readers = self.graph, self.readers
        kernel: _FusionKernel | _LibraryReduceKernel
        unfusible: Set[int]
        if graph.is_fusible[root]:
            kernel, unfusible = _FusionKernel(graph, root), self.unfusible
        elif graph.kind[root] == LIBRARY_REDUCE:
            kernel, unfusible = _LibraryReduceKernel(graph, root), self.materialized
        else:
            return ModeledKernel(root, [root], list(graph.operands[root]))
        pending = [-operand for operand in graph.operands[root]]
        heapify(pending)
        visited = set(graph.operands[root])
        read = []
        while pending:
            number = -heappop(pending)
            if number in unfusible or not kernel.can_fuse(number, readers[number]):
                read.append(number)
                continue
            kernel.fuse(number)
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
        return ModeledKernel(root, kernel.computed, read)


class _FusionKernel:
    """Kernel that fuses values into a loop over the elements of its root, while it is being built.

    ``computed`` has the values so far, and ``indices`` at how many indices each is computed for one element.
    """

    def __init__(self, graph: ValueGraph, root: int) -> None:
        self.graph = graph
        self.computed: list[int] = []
        self.reductions = 0
        #: Values that are used several times for one element of the root.
        self.reused: set[int] = set()
        #: By value, its users that index it independently, and the number of indices at which it is computed.
        self.indexed_by: dict[int, set[int]] = {root: {root}}
        self.indices: dict[int, int] = {}
        self.fuse(root)

    def can_fuse(self, number: int, readers: int) -> bool:
        """Return whether XLA would compute value ``number``, which ``readers`` kernels read, in this kernel."""
        graph, kind = self.graph, self.graph.kind[number]
        if not graph.is_fusible[number]:
            return False
        if kind == "constant":
            return graph.size[number].rank == 0
        if graph.is_expensive[number] and (readers > 1 or number in self.reused):
            return False
        if kind == "reduce" and self.reductions > _MAX_REDUCTIONS_PER_KERNEL:
            return False
        if kind == "concatenate" and len(graph.operands[number]) > _MAX_CONCATENATED_OPERANDS:
            return False
        return kind == "broadcast_in_dim" or self._count_indices(number) <= _MAX_INDICES_PER_VALUE

    def fuse(self, number: int) -> None:
        """Add value ``number`` to those that this kernel computes."""
        graph, kind = self.graph, self.graph.kind[number]
        self.indices[number] = self._count_indices(number) if self.computed else 1
        self.computed.append(number)
        self.reductions += kind == "reduce"
        operands = graph.operands[number]
        indexing_users = {number} if kind in DATA_MOVEMENT_OPS else self.indexed_by[number]
        for operand in operands:
            self.indexed_by.setdefault(operand, set()).update(indexing_users)
        if number in self.reused or kind in REUSING_OPS:
            self.reused.update(operands)

    def _count_indices(self, number: int) -> int:
        return sum(self.indices[user] for user in self.indexed_by[number])


class _LibraryReduceKernel:
    """Reduction that a library carries out, while it is being built, with what is computed for it alone."""

    def __init__(self, graph: ValueGraph, root: int) -> None:
        self.graph = graph
        self.computed = [root]

    def can_fuse(self, number: int, readers: int) -> bool:
        """Return whether value ``number`` is computed in this kernel; ``readers`` is not used."""
        graph, kind = self.graph, self.graph.kind[number]
        if kind == "constant":
            return graph.size[number].rank == 0
        has_single_use = len(graph.users[number]) == 1 and number not in graph.results
        return kind == "broadcast_in_dim" or (has_single_use and kind in LIBRARY_FUSIBLE_OPS)

    def fuse(self, number: int) -> None:
        """Add value ``number`` to those that this kernel computes."""
        self.computed.append(number)
