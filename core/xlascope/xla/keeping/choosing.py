"""Which values are worth keeping: those computed in so many kernels that memory is cheaper, in programs of which XLA
would compute a good part again and again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from .fusing import Kernel, kernels_of
from .graph import Graph
from .rates import LAUNCH, MOVING, READ, WRITE

#: Nothing is kept in a computation of fewer values; what the model needs grows with the square of their number.
_FEWEST_VALUES, _MOST_VALUES = 60, 30_000
#: Of what a value is computed from so many values are looked at; more would not change what is decided.
_MOST_LOOKED_AT = 300
#: Nor where a value is computed fewer times on average: there is nothing to save.
_FEWEST_TIMES = 1.15
#: Nor where a smaller part of the time is saved: of programs of which less was, none ran sooner.
_LEAST_SAVED = 0.02
#: Nor where so many times the bytes are written: that much memory may be needed at once.
_MOST_WRITTEN = 1.1


#: What moves elements about is left to XLA, which often does it by another layout, or inside of a product.
_LAID_OUT = MOVING | {"constant", "convert", "iota", "transpose"}


class Estimate(NamedTuple):
    """Of a computation's kernels: how many, the values that they compute, these without repetition, the bytes that they
    write, and nanoseconds.
    """

    kernels: int
    computed: int
    distinct: int
    written: int
    nanoseconds: float

    @property
    def times(self) -> float:
        """How often a value is computed, on average."""
        return self.computed / max(self.distinct, 1)


def estimate(graph: Graph, kernels: Sequence[Kernel]) -> Estimate:
    """What kernels come to."""
    computed, written, time = 0, 0, 0.0
    distinct: set[int] = set()
    kernels = [each for each in kernels if not _is_another_shape(graph, each)]
    for each in kernels:
        computed += len(each.computed)
        distinct.update(each.computed)
        written += graph.size[each.root].bytes
        time += _time(graph, each)
    return Estimate(len(kernels), computed, len(distinct), written, time)


def _is_another_shape(graph: Graph, kernel: Kernel) -> bool:
    """Whether a kernel is none: it gives what is in memory another shape."""
    return all(graph.kind[each] == "reshape" for each in kernel.computed)


def _time(graph: Graph, kernel: Kernel) -> float:
    """Nanoseconds that a kernel takes: to begin it, to compute, to read and to write."""
    work = sum(graph.work[each] for each in kernel.computed)
    read = sum(graph.size[each].bytes for each in kernel.read)
    return LAUNCH + work + READ * read + WRITE * graph.size[kernel.root].bytes


def worth_keeping(graph: Graph) -> Mapping[int, int]:
    """The values of a computation that are worth keeping, if any are, and in how many kernels each would be computed
    otherwise.
    """
    if not _FEWEST_VALUES <= len(graph) <= _MOST_VALUES:
        return {}
    kernels = kernels_of(graph)
    before = estimate(graph, kernels)
    if before.times < _FEWEST_TIMES:
        return {}
    kept = candidates(graph, kernels)
    after = estimate(graph, kernels_of(graph, kept))
    saved = 1.0 - after.nanoseconds / before.nanoseconds
    if saved < _LEAST_SAVED or after.written > _MOST_WRITTEN * before.written:
        return {}
    computed = Counter(value for each in kernels for value in each.computed)
    return {value: computed[value] for value in sorted(kept)}


def candidates(graph: Graph, kernels: Sequence[Kernel]) -> set[int]:
    """The values that memory is cheaper for, each judged by itself."""
    computed = Counter(value for each in kernels for value in each.computed)
    written = {each.root for each in kernels}
    written |= {graph.operands[each][0] for each in written if graph.kind[each] == "reshape"}
    weighing = _Weighing(graph, written, computed)
    for value, times in sorted(_branchings(graph, written, computed).items()):
        if weighing.gain(value, times) > 0:
            weighing.kept.add(value)
    return weighing.kept


def _branchings(graph: Graph, written: Set[int], computed: Counter[int]) -> dict[int, int]:
    """The values that kernels need on several ways, and how many kernels would compute each when all of these were
    kept that come after it.
    """
    found: dict[int, int] = {}
    by: dict[int, int] = {}  # the kernels that compute a value, as bits
    for value in sorted(computed, reverse=True):
        bits, ways = (1 << value, 1) if value in written else (0, 0)
        alone = computed[value] == 1 and value in written
        for user in () if alone else graph.users[value]:
            if user in computed and graph.fusible[user]:
                more = 1 << user if user in found else by[user]
                ways += bits | more != bits
                bits |= more
        by[value] = bits
        if ways > 1 and graph.made_by[value] is not None and graph.kind[value] not in _LAID_OUT:
            found[value] = bits.bit_count()
    return found


class _Weighing:
    """What is gained by keeping a value, when some before it are kept."""

    def __init__(self, graph: Graph, written: Set[int], computed: Counter[int]) -> None:
        self.graph, self.written, self.computed = graph, written, computed
        self.kept: set[int] = set()

    def gain(self, value: int, times: int) -> float:
        """Nanoseconds saved by computing a value once instead of so many times."""
        size = self.graph.size[value].bytes
        once = 0.0 if value in self.written else LAUNCH + (WRITE + READ) * size
        return (times - 1) * (self._cost(value) - READ * size) - once

    def _cost(self, value: int) -> float:
        """Nanoseconds to compute a value from what is in memory."""
        graph = self.graph
        cost, known, pending = graph.work[value], {value}, list(graph.operands[value])
        while pending and len(known) < _MOST_LOOKED_AT:
            operand = pending.pop()
            if operand in known:
                continue
            known.add(operand)
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
