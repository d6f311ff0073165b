"""Selection of the values to materialize: those computed in so many kernels that memory traffic is cheaper.

Only programs of which XLA would compute a good part repeatedly are changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from .fusing import Kernel, kernels_of
from .graph import Graph
from .rates import LAUNCH, MOVING, READ, WRITE

#: Nothing is materialized in computations of fewer or more values; the model's run time grows with the square of
#: their number.
_FEWEST_VALUES, _MOST_VALUES = 60, 30_000
#: At most this many transitive operands of a value are visited; more would not change the decision.
_MOST_LOOKED_AT = 300
#: Nor where values are computed fewer times on average: there is nothing to save.
_FEWEST_TIMES = 1.15
#: Nor where a smaller fraction of the time is saved: below it no measured program became faster.
_LEAST_SAVED = 0.02
#: Nor where more than this multiple of the bytes is written: that much memory may be needed at once.
_MOST_WRITTEN = 1.1


#: Data movement is left to XLA, which often does it by choosing another layout, or inside of a product.
_LAID_OUT = MOVING | {"constant", "convert", "iota", "transpose"}


class Estimate(NamedTuple):
    """Totals over a computation's kernels: their number, the values they compute, distinct ones, bytes and time.

    ``written_bytes`` are the bytes that the kernels write.
    """

    kernels: int
    computed: int
    distinct: int
    written: int
    nanoseconds: float

    @property
    def times(self) -> float:
        """Return how often a value is computed, on average."""
        return self.computed / max(self.distinct, 1)


def estimate(graph: Graph, kernels: Sequence[Kernel]) -> Estimate:
    """Estimate the total cost of kernels."""
    computed, written, time = 0, 0, 0.0
    distinct: set[int] = set()
    kernels = [kernel for kernel in kernels if not _is_another_shape(graph, kernel)]
    for kernel in kernels:
        computed += len(kernel.computed)
        distinct.update(kernel.computed)
        written += graph.size[kernel.root].bytes
        time += _time(graph, kernel)
    return Estimate(len(kernels), computed, len(distinct), written, time)


def _is_another_shape(graph: Graph, kernel: Kernel) -> bool:
    """Return whether a kernel only reshapes what is in memory, so that nothing runs."""
    return all(graph.kind[value] == "reshape" for value in kernel.computed)


def _time(graph: Graph, kernel: Kernel) -> float:
    """Estimate the nanoseconds of a kernel: launch, computation, reads and writes."""
    work = sum(graph.work[value] for value in kernel.computed)
    read = sum(graph.size[value].bytes for value in kernel.read)
    return LAUNCH + work + READ * read + WRITE * graph.size[kernel.root].bytes


def worth_keeping(graph: Graph) -> Mapping[int, int]:
    """Select the values to materialize, each with the number of kernels that would compute it otherwise.

    The result is empty if the computation as a whole would not gain enough.
    """
    if not _FEWEST_VALUES <= len(graph) <= _MOST_VALUES:
        return {}
    kernels = kernels_of(graph)
    before = estimate(graph, kernels)
    if before.times < _FEWEST_TIMES:
        return {}
    materialized = candidates(graph, kernels)
    after = estimate(graph, kernels_of(graph, materialized))
    saved = 1.0 - after.nanoseconds / before.nanoseconds
    if saved < _LEAST_SAVED or after.written > _MOST_WRITTEN * before.written:
        return {}
    computed = Counter(value for kernel in kernels for value in kernel.computed)
    return {value: computed[value] for value in sorted(materialized)}


def candidates(graph: Graph, kernels: Sequence[Kernel]) -> set[int]:
    """Return the values that are cheaper to materialize, each judged by itself."""
    computed = Counter(value for kernel in kernels for value in kernel.computed)
    written = {kernel.root for kernel in kernels}
    written |= {graph.operands[kernel][0] for kernel in written if graph.kind[kernel] == "reshape"}
    gain = _Weighing(graph, written, computed)
    for value, computations in sorted(_branchings(graph, written, computed).items()):
        if gain.gain(value, computations) > 0:
            gain.kept.add(value)
    return gain.kept


def _branchings(graph: Graph, written: Set[int], computed: Counter[int]) -> dict[int, int]:
    """Return the values that kernels need on several paths, with the number of kernels that compute each.

    The numbers assume that all of the returned values that come later are materialized.
    """
    kernel_counts: dict[int, int] = {}
    kernels_of_value: dict[int, int] = {}  # the kernels that compute a value, as a bit set
    for value in sorted(computed, reverse=True):
        bits, paths = (1 << value, 1) if value in written else (0, 0)
        is_single = computed[value] == 1 and value in written
        for user in () if is_single else graph.users[value]:
            if user in computed and graph.fusible[user]:
                user_bits = 1 << user if user in kernel_counts else kernels_of_value[user]
                paths += bits | user_bits != bits
                bits |= user_bits
        kernels_of_value[value] = bits
        if paths > 1 and graph.made_by[value] is not None and graph.kind[value] not in _LAID_OUT:
            kernel_counts[value] = bits.bit_count()
    return kernel_counts


class _Weighing:
    """Cost comparison of materializing a value, when some values before it are materialized."""

    def __init__(self, graph: Graph, written: Set[int], computed: Counter[int]) -> None:
        self.graph, self.written, self.computed = graph, written, computed
        self.kept: set[int] = set()

    def gain(self, value: int, computations: int) -> float:
        """Return the nanoseconds saved by computing a value once instead of in so many kernels."""
        size = self.graph.size[value].bytes
        materialization_cost = 0.0 if value in self.written else LAUNCH + (WRITE + READ) * size
        return (computations - 1) * (self._cost(value) - READ * size) - materialization_cost

    def _cost(self, value: int) -> float:
        """Return the nanoseconds to compute a value from what is in memory."""
        graph = self.graph
        cost, visited, pending = graph.work[value], {value}, list(graph.operands[value])
        while pending and len(visited) < _MOST_LOOKED_AT:
            operand = pending.pop()
            if operand in visited:
                continue
            visited.add(operand)
            if self._in_memory(operand):
                cost += READ * graph.size[operand].bytes
            else:
                cost += graph.work[operand]
                pending += graph.operands[operand]
        return cost

    def _in_memory(self, value: int) -> bool:
        if value in self.kept or value not in self.computed:
            return True
        return self.computed[value] == 1 and value in self.written
