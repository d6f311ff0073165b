"""The model of XLA's fusion, kernel by kernel, and random graphs: what the simulation by value has to agree with.

Each kernel takes the values that it needs, the last one first, and the numbers of their readers are kept up to date. It
is the plain form of the rules; its time grows with what is computed several times.
"""

from __future__ import annotations

from collections.abc import Set
from random import Random

from xlascope.xla.materialization.cost_model import LIBRARY_FUSIBLE_OPS
from xlascope.xla.materialization.fusion_model import ModeledKernel
from xlascope.xla.materialization.globally_unfusible import compute_globally_unfusible
from xlascope.xla.materialization.graph import (
    ALWAYS_FUSED,
    BARRIER,
    EXPENSIVE,
    FUSED_INTO_SEVERAL,
    FUSED_REDUCTION,
    FUSIBLE,
    LIBRARY_REDUCE,
    MOVES_DATA,
    NEVER_FUSED,
    PARAMETER,
    REUSES_OPERANDS,
    ValueGraph,
    ValueSize,
)

#: A kernel computes a value at no more than this many indices, and fuses about this many reductions.
_MAX_INDICES_PER_VALUE, _MAX_REDUCTIONS_PER_KERNEL = 15, 5
_OPS_WITHOUT_KERNEL = frozenset({PARAMETER, BARRIER, "constant"})

#: Operations of random graphs, with their operands and how often they are drawn.
_OPERATIONS = {
    **dict.fromkeys(("add", "multiply"), (2, 4)),
    **dict.fromkeys(("tanh", "sine", "broadcast_in_dim", "reshape", "transpose", "slice", "custom_call"), (1, 1)),
    **dict.fromkeys(("divide", "gather", "dot_general", LIBRARY_REDUCE), (2, 0.7)),
    **{"reduce": (2, 3), "select": (3, 1), "concatenate": (10, 0.3), "constant": (0, 1), "iota": (0, 0.3)},
    **{BARRIER: (1, 0.1), "exponential": (1, 1)},
}


def random_graph(seed: int, elementwise: bool = False) -> ValueGraph:
    """Return a graph of random values; with few kinds of operations if it is ``elementwise``."""
    dice, graph = Random(seed), ValueGraph(None, False)
    names = (
        ("add", "multiply", "sine", "tanh", "select", "constant", "broadcast_in_dim") if elementwise else _OPERATIONS
    )
    weights = [_OPERATIONS[name][1] * dice.random() for name in names]
    count, reach = dice.choice((4, 8, 15) if elementwise else (8, 40, 150)), dice.choice((3, 8, 1000))
    for number in range(count):
        name = PARAMETER if number < 2 else dice.choices(tuple(names), weights)[0]
        operands = [dice.randrange(max(0, number - reach), number) for _ in range(_OPERATIONS.get(name, (0,))[0])]
        if operands and elementwise:
            operands[0] = number - 1
        elements = dice.choice((1, 8, 64, 5000))
        size = ValueSize(elements, 4 * elements, dice.choice((0, 1, 2)))
        graph.add(name, size, operands, elements * dice.random(), None, None)
    graph.results = {count - 1, *dice.sample(range(count), dice.choice((0, 0, count // 10)))}
    return graph


def simulate_by_kernel(graph: ValueGraph, materialized: Set[int] = frozenset()) -> list[ModeledKernel]:
    """Simulate XLA's fusion of a computation and return the kernels, the last one first.

    Values in ``materialized`` are computed in one kernel each, and read from memory by all others.
    """
    return _FusionSimulation(graph, materialized).build_kernels()


def unfusible_by_path(graph: ValueGraph, materialized: Set[int] = frozenset()) -> set[int]:
    """Return the values that XLA leaves in memory for all users, by all steps on all paths from them to their users."""
    traits = graph.traits
    unfusible: set[int] = set()
    origins: list[set[int]] = []  # what each value is computed from, itself included
    for number, operands in enumerate(graph.operands):
        origins.append({number}.union(*[origins[operand] for operand in operands]))

    def is_fused(producer: int, user: int) -> bool:
        if producer in unfusible | materialized or not traits[producer] & traits[user] & FUSIBLE:
            return False
        uses = len(graph.users[producer]) + (producer in graph.results)
        return not traits[producer] & EXPENSIVE or (uses == 1 and not traits[user] & REUSES_OPERANDS)

    for number in graph.reads_more_than_it_writes:
        users = graph.users[number]
        on_paths = {x for user in users for x in origins[user] if number in origins[x]} if len(users) > 1 else users
        steps = [(x, consumer) for consumer in on_paths for x in graph.operands[consumer] if number in origins[x]]
        if number in graph.results or not all(is_fused(*step) for step in steps):
            unfusible.add(number)
    return unfusible


class _FusionSimulation:
    """Simulation of the fusion of one computation, which assigns values to kernels from its end.

    ``materialized`` are the numbers of the values that have to be in memory.
    """

    def __init__(self, graph: ValueGraph, materialized: Set[int]) -> None:
        self.graph = graph
        #: The number of kernels, and of values outside of them, that read a value.
        self.readers = [len(users) for users in graph.users]
        for number in graph.results:
            self.readers[number] += 1
        self.materialized = materialized
        unfusible = compute_globally_unfusible(graph, materialized) | materialized
        #: How each value is fused into its users in this simulation.
        self.rules = graph.rules.copy()
        for number in unfusible:
            self.rules[number] = NEVER_FUSED
        #: By value, 1 if the kernel that is being built needs it and has not decided about it.
        self.pending = bytearray(len(graph))

    def build_kernels(self) -> list[ModeledKernel]:
        """Return the kernels of the computation, the last one first; a simulation is used once."""
        graph, readers, kinds, modeled_kernels = self.graph, self.readers, self.graph.kind, []
        for root in range(len(graph) - 1, -1, -1):
            if readers[root] < 0:
                continue
            if kinds[root] in _OPS_WITHOUT_KERNEL:
                if not readers[root]:
                    self._drop_unused(root)
            elif readers[root]:
                modeled_kernels.append(self._build_kernel(root))
            else:
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
        graph = self.graph
        if graph.traits[root] & FUSIBLE:
            return self._build_fusion(root)
        if graph.kind[root] == LIBRARY_REDUCE:
            return self._build_library_reduce(root)
        return ModeledKernel(root, [root], list(graph.operands[root]))

    def _build_fusion(self, root: int) -> ModeledKernel:
        """Build a kernel that fuses values into a loop over the elements of ``root``.

        Each value belongs to a group of :class:`_IndexGroups`. This loop runs for each value of each kernel.
        """
        graph, readers, rules, pending = self.graph, self.readers, self.rules, self.pending
        all_operands, traits = graph.operands, graph.traits
        groups = _IndexGroups()
        counts = groups.counts
        #: By value, the group of users that index it.
        group_of: dict[int, int] = {}
        #: Values that are used several times for one element of the root.
        reused: set[int] = set()
        reductions = int(graph.kind[root] == "reduce")
        computed, read = [root], []
        for operand in all_operands[root]:
            group_of[operand] = 0
            pending[operand] = 1
        if traits[root] & REUSES_OPERANDS:
            reused.update(all_operands[root])
        number = root
        while (number := pending.rfind(1, 0, number)) >= 0:
            pending[number] = 0
            rule, count = rules[number], readers[number]
            if rule and rule != ALWAYS_FUSED:
                can_fuse = counts[group_of[number]] <= _MAX_INDICES_PER_VALUE and (
                    rule == FUSED_INTO_SEVERAL or (count <= 1 and number not in reused)
                )
                if can_fuse and rule == FUSED_REDUCTION:
                    can_fuse = reductions <= _MAX_REDUCTIONS_PER_KERNEL
                    reductions += can_fuse
            else:
                can_fuse = rule == ALWAYS_FUSED
            if not can_fuse:
                read.append(number)
                continue
            computed.append(number)
            operands = all_operands[number]
            if not operands:
                readers[number] = count - 1 or -1
                continue
            group = groups.add(number, group_of[number]) if traits[number] & MOVES_DATA else group_of[number]
            is_consumed = count == 1
            readers[number] = -1 if is_consumed else count - 1  # -1: the value exists inside of kernels only
            for operand in operands:
                other = group_of.get(operand)
                if other is None:
                    group_of[operand] = group
                    pending[operand] = 1
                    readers[operand] += 1 - is_consumed
                else:
                    readers[operand] -= is_consumed
                    if other != group:
                        group_of[operand] = groups.union(other, group)
            if traits[number] & REUSES_OPERANDS or (reused and number in reused):
                reused.update(operands)
        return ModeledKernel(root, computed, read)

    def _build_library_reduce(self, root: int) -> ModeledKernel:
        """Build the kernel of a reduction that a library carries out, with what is computed for it alone."""
        graph, readers, pending = self.graph, self.readers, self.pending
        visited = set(graph.operands[root])
        computed, read = [root], []
        for operand in visited:
            pending[operand] = 1
        number = root
        while (number := pending.rfind(1, 0, number)) >= 0:
            pending[number] = 0
            if number in self.materialized or not self._can_fuse_into_library(number):
                read.append(number)
                continue
            computed.append(number)
            readers[number] -= 1
            is_consumed = readers[number] == 0
            if is_consumed:
                readers[number] = -1
            for operand in graph.operands[number]:
                if operand in visited:
                    readers[operand] -= is_consumed
                else:
                    visited.add(operand)
                    pending[operand] = 1
                    readers[operand] += 1 - is_consumed
        return ModeledKernel(root, computed, read)

    def _can_fuse_into_library(self, number: int) -> bool:
        """Return whether a library that reduces computes value ``number``."""
        graph, kind = self.graph, self.graph.kind[number]
        if kind == "constant":
            return graph.size[number].rank == 0
        has_single_use = len(graph.users[number]) == 1 and number not in graph.results
        return kind == "broadcast_in_dim" or (has_single_use and kind in LIBRARY_FUSIBLE_OPS)


class _IndexGroups:
    """Sets of users that index values independently, by number, while one kernel is being built.

    ``counts`` has for each set at how many indices a value is computed for one element of the root if these users need
    it. Set 0 has the root alone. Most values of a kernel have the same set, so sets are compared by number.
    """

    def __init__(self) -> None:
        self.counts = [1]
        self._members = [frozenset((-1,))]
        self._indices = {-1: 1}
        self._numbers: dict[frozenset[int], int] = {}
        self._unions: dict[tuple[int, int], int] = {}

    def add(self, user: int, group: int) -> int:
        """Return the set with ``user`` alone, which is computed at as many indices as ``group`` has."""
        self._indices[user] = self.counts[group]
        self.counts.append(self.counts[group])
        self._members.append(frozenset((user,)))
        return len(self.counts) - 1

    def union(self, a: int, b: int) -> int:
        """Return the union of two sets."""
        union = self._unions.get((a, b))
        if union is None:
            members = self._members[a] | self._members[b]
            union = self._numbers.get(members, -1)
            if union < 0:
                union = self._numbers[members] = len(self.counts)
                self.counts.append(sum(map(self._indices.__getitem__, members)))
                self._members.append(members)
            self._unions[a, b] = union
        return union
