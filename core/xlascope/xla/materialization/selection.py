"""Selection of the values to materialize: those computed in so many kernels that memory traffic is cheaper.

Only programs of which XLA would compute a good part repeatedly are changed.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from ..mlir.operation_log import ModuleLog
from .cost_model import DATA_MOVEMENT_OPS, LAUNCH_NANOSECONDS, READ_BYTE_NANOSECONDS, WRITE_BYTE_NANOSECONDS
from .fusion_model import FusionOutcome, is_single_kernel, simulate_fusion
from .graph import CALLEE_ATTRIBUTES, CONTROL_FLOW_OPS, FUSIBLE, ValueGraph

#: Nothing is materialized in computations of fewer or more values; the model's run time grows with the square of
#: their number.
_MIN_VALUES, _MAX_VALUES = 60, 30_000
#: At most this many transitive operands of a value are visited; more would not change the decision.
_MAX_VISITED_OPERANDS = 300
#: Nor where values are computed fewer times on average: there is nothing to save.
_MIN_MEAN_COMPUTATIONS = 1.15
#: Nor where a smaller fraction of the time is saved: below it no measured program became faster.
_MIN_SAVED_TIME_FRACTION = 0.02
#: Nor where more than this multiple of the bytes is written: that much memory may be needed at once.
_MAX_WRITTEN_BYTES_RATIO = 1.1


#: Relative difference by rounding between a cost and what it is compared with, at most.
_MAX_ROUNDING_FRACTION = 1e-9

#: Data movement is left to XLA, which often does it by choosing another layout, or inside of a product.
_LAYOUT_OPS = DATA_MOVEMENT_OPS | {"constant", "convert", "iota", "transpose"}


#: Operations whose regions or functions are simulated on their own, or that are values already counted.
_SEVERAL_COMPUTATIONS = frozenset({*CONTROL_FLOW_OPS, *CALLEE_ATTRIBUTES})


class FusionEstimate(NamedTuple):
    """Totals over the kernels of a computation.

    ``computed_values`` counts a value in each kernel that computes it, ``distinct_values`` once; ``written_bytes`` are
    the bytes that the kernels write.
    """

    kernels: int
    computed_values: int
    distinct_values: int
    written_bytes: int
    nanoseconds: float

    @property
    def mean_computations(self) -> float:
        """Return how often a value is computed, on average."""
        return self.computed_values / max(self.distinct_values, 1)


def estimate_kernels(graph: ValueGraph, outcome: FusionOutcome, computations: Sequence[int]) -> FusionEstimate:
    """Return the totals over kernels, without those that only reshape.

    ``computations`` has for each value the number of kernels that compute it.
    """
    size, computed, counts = graph.byte_counts, outcome.computed, [*computations]
    excluded = _reshape_only_kernels(graph, outcome)
    roots = outcome.roots
    included = (1 << len(roots)) - 1 - excluded
    if excluded:
        roots = [root for number, root in enumerate(roots) if not excluded >> number & 1]
        for value in graph.reshapes:
            counts[value] = (computed[value] & included).bit_count()
    read_bytes = sum([(bits & included).bit_count() * size[value] for value, bits in enumerate(outcome.read) if bits])
    written_bytes = sum([size[root] for root in roots])
    time = (
        LAUNCH_NANOSECONDS * len(roots)
        + sum(map(operator.mul, counts, graph.nanoseconds))
        + READ_BYTE_NANOSECONDS * read_bytes
        + WRITE_BYTE_NANOSECONDS * written_bytes
    )
    return FusionEstimate(len(roots), sum(counts), len(counts) - counts.count(0), written_bytes, time)


def _reshape_only_kernels(graph: ValueGraph, outcome: FusionOutcome) -> int:
    """Return the kernels, as a bit set, that only reshape what is in memory, so that nothing runs."""
    kind, kernels = graph.kind, 0
    for number, value in [(number, root) for number, root in enumerate(outcome.roots) if kind[root] == "reshape"]:
        while kind[value] == "reshape":
            (value,) = graph.operands[value]
            if not outcome.computed[value] >> number & 1:
                kernels |= 1 << number
                break
    return kernels


def is_too_large(log: ModuleLog) -> bool:
    """Return True only if a module consists of one computation of more values than are simulated."""
    block, *functions = log.functions.values()
    return (
        len(block.entries) > _MAX_VALUES
        and not functions
        and not any(entry[2] is None and entry[0] in _SEVERAL_COMPUTATIONS for entry in block.entries)
    )


def select_values(graph: ValueGraph) -> Mapping[int, int]:
    """Select the values to materialize, each with the number of kernels that would compute it otherwise.

    The result is empty if the computation would not gain enough in total.
    """
    if not _MIN_VALUES <= len(graph) <= _MAX_VALUES:
        return {}
    if is_single_kernel(graph):
        return {}
    outcome = simulate_fusion(graph)
    computations = outcome.computations()
    before = estimate_kernels(graph, outcome, computations)
    if before.mean_computations < _MIN_MEAN_COMPUTATIONS:
        return {}
    materialized = profitable_values(graph, outcome, computations)
    if not materialized:
        return {}
    marked = simulate_fusion(graph, materialized, outcome)
    after = estimate_kernels(graph, marked, marked.computations())
    saved = 1.0 - after.nanoseconds / before.nanoseconds
    if saved < _MIN_SAVED_TIME_FRACTION or after.written_bytes > _MAX_WRITTEN_BYTES_RATIO * before.written_bytes:
        return {}
    return {value: computations[value] for value in sorted(materialized)}


def profitable_values(graph: ValueGraph, outcome: FusionOutcome, computed: Sequence[int]) -> set[int]:
    """Return the values that are cheaper to materialize than to recompute, each considered separately.

    ``outcome`` has the kernels of the computation without materialization, ``computed`` for each value the number of
    kernels that compute it.
    """
    kernel_roots = set(outcome.roots)
    kernel_roots |= {graph.operands[kernel][0] for kernel in kernel_roots if graph.kind[kernel] == "reshape"}
    gain = _MaterializationGain(graph, kernel_roots, computed)
    for value, computations in sorted(_shared_values(graph, kernel_roots, computed).items()):
        if gain.is_positive(value, computations):
            gain.materialized.add(value)
    return gain.materialized


def _shared_values(graph: ValueGraph, kernel_roots: Set[int], computed: Sequence[int]) -> dict[int, int]:
    """Return the values that several kernels compute, each mapped to the number of kernels that compute it.

    Values are their numbers in ``graph``, in program order. ``computed`` has for each value the number of kernels that
    compute it; ``kernel_roots`` are the values that kernels write to memory. A value is left out if
    a single one of its users accounts for all these kernels, and so are constants, conversions, data movement, and
    values after which no barrier can be placed. The numbers of kernels assume that all returned values that come later
    are materialized.
    """
    kernel_counts: dict[int, int] = {}
    kinds, prefixes, all_users, traits = graph.kind, graph.prefixes, graph.users, graph.traits
    #: By value, the kernels that compute it for a user of its operands, as a bit set; 0 if it is not fused.
    needed_by = [0] * len(graph)
    bit = 1  # of the next root: they are numbered as they are met, so that sets stay small
    values = zip(range(len(graph) - 1, -1, -1), reversed(computed), reversed(all_users), reversed(traits), strict=True)
    for value, computations, users, trait in values:
        if not computations:
            continue
        if value in kernel_roots:
            bits = own_bit = bit
            bit, paths = bit << 1, 1
            if computations == 1:
                users = []
        elif len(users) == 1:  # as below: most values have one user
            if trait & FUSIBLE:
                needed_by[value] = needed_by[users[0]]
            continue
        else:
            bits, paths, own_bit = 0, 0, 0
        for user in users:
            user_bits = needed_by[user]
            if bits | user_bits != bits:
                paths += 1
                bits |= user_bits
        if paths > 1 and prefixes[value] is not None and kinds[value] not in _LAYOUT_OPS:
            kernel_counts[value] = bits.bit_count()
            if not own_bit:
                own_bit = bit
                bit <<= 1
            bits = own_bit
        if trait & FUSIBLE:
            needed_by[value] = bits
    return kernel_counts


class _MaterializationGain:
    """Cost comparison of materializing a value, given the values in ``materialized``, which the caller extends.

    ``kernel_roots`` are the values that kernels write to memory anyway; ``computed`` counts the kernels that compute a
    value.
    """

    def __init__(self, graph: ValueGraph, kernel_roots: Set[int], computed: Sequence[int]) -> None:
        self.graph, self.written, self.computed = graph, kernel_roots, computed
        self.materialized: set[int] = set()

    def is_positive(self, value: int, computations: int) -> bool:
        """Return whether it saves time to compute a value once instead of in ``computations`` kernels."""
        size = self.graph.size[value].bytes
        materialization_cost = (
            0.0
            if value in self.written
            else LAUNCH_NANOSECONDS + (WRITE_BYTE_NANOSECONDS + READ_BYTE_NANOSECONDS) * size
        )
        read_cost = READ_BYTE_NANOSECONDS * size
        enough = (read_cost + materialization_cost / (computations - 1)) * (1 + _MAX_ROUNDING_FRACTION)
        recomputation = self._recomputation_nanoseconds(value, enough)
        return (computations - 1) * (recomputation - read_cost) - materialization_cost > 0

    def _recomputation_nanoseconds(self, value: int, enough: float) -> float:
        """Return the nanoseconds to compute a value from what is in memory, the reads included.

        The answer may be less if it is more than ``enough``.
        """
        graph = self.graph
        nanoseconds, sizes, all_operands = graph.nanoseconds, graph.size, graph.operands
        cost, visited, pending = nanoseconds[value], {value}, list(all_operands[value])
        while pending and len(visited) < _MAX_VISITED_OPERANDS and cost <= enough:
            operand = pending.pop()
            if operand in visited:
                continue
            visited.add(operand)
            if self._is_in_memory(operand):
                cost += READ_BYTE_NANOSECONDS * sizes[operand].bytes
            else:
                cost += nanoseconds[operand]
                pending += all_operands[operand]
        return cost

    def _is_in_memory(self, value: int) -> bool:
        if value in self.materialized or not self.computed[value]:
            return True
        return self.computed[value] == 1 and value in self.written
