"""Simulation of the fusion of XLA's CPU back end: which values would be computed in which kernels.

From the end of a computation, each value that has to be in memory begins a kernel, which fuses whatever it needs
that can be computed in a loop over elements: the last value first, a cheap value into every kernel that needs it,
an expensive one into the only one. A value that reads more than it writes is left in memory where some of its
users cannot fuse it. These are the rules of XLA's pass (instruction_fusion.cc and cpu_instruction_fusion.cc in its
sources, autumn 2026) as far as they decide how often a value is computed. Before that, large reductions are given
to a library, together with what is computed for them alone, and products and convolutions get their operands in
their order (``operand_layouts``); XLA's other simplifications, and the layouts that it chooses, are not modeled.

Values are visited once, from the last to the first. At its turn it is known which kernels need a value, since its
users come later, and what each has fused. Sets of kernels are bit sets: a value that forty kernels need costs hardly
more than a value that one needs.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence, Set
from typing import NamedTuple

from .cost_model import DATA_MOVEMENT_OPS, FUSIBLE_OPS, LIBRARY_FUSIBLE_OPS, REUSING_OPS
from .globally_unfusible import compute_globally_unfusible
from .graph import (
    ALWAYS_FUSED,
    BARRIER,
    CONSTANT,
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
)

#: A kernel computes a value at no more than this many indices, and fuses about this many reductions.
_MAX_INDICES_PER_VALUE, _MAX_REDUCTIONS_PER_KERNEL = 15, 5
_OPS_WITHOUT_KERNEL = frozenset({PARAMETER, BARRIER, "constant"})
_MOVING_OPS = DATA_MOVEMENT_OPS - {"concatenate"}
_ELEMENTWISE_OPS = (FUSIBLE_OPS - {"concatenate"}) | {PARAMETER}


class ModeledKernel(NamedTuple):
    """Kernel of the simulation: the value that it writes to memory, what it computes for it, and what it reads.

    Values are numbers in the graph; ``computed`` includes ``root``.
    """

    root: int
    computed: list[int]
    read: list[int]


class FusionOutcome(NamedTuple):
    """Kernels of a computation, numbered from the last one: by number, the value (``roots``) that each writes.

    ``computed`` and ``read`` have for each value the kernels that compute and that read it, as bit sets of their
    numbers. ``unfusible`` are the values that XLA leaves in memory for all users.
    """

    roots: list[int]
    computed: list[int]
    read: list[int]
    unfusible: Set[int]

    def computations(self) -> list[int]:
        """Return for each value how many kernels compute it."""
        return list(map(int.bit_count, self.computed))

    def kernels(self) -> list[ModeledKernel]:
        """Return the kernels one by one, the last one first; values in descending order."""
        kernels = [ModeledKernel(root, [], []) for root in self.roots]
        for value in range(len(self.computed) - 1, -1, -1):
            for number in _members(self.computed[value]):
                kernels[number].computed.append(value)
            for number in _members(self.read[value]):
                kernels[number].read.append(value)
        return kernels


def _members(bits: int) -> list[int]:
    """Return the numbers in a bit set, in ascending order."""
    members = []
    while bits:
        members.append((bits & -bits).bit_length() - 1)
        bits &= bits - 1
    return members


def is_single_kernel(graph: ValueGraph) -> bool:
    """Return True only if XLA makes a single kernel of a computation; that takes a small part of a simulation.

    All is computed for one result, in loops over elements at the same indices, and what is fused into a single user
    only has one.
    """
    if len(graph.results) != 1 or not _ELEMENTWISE_OPS.issuperset(graph.kind):
        return False
    (result,) = graph.results
    uses = Counter(itertools.chain.from_iterable(graph.operands))
    kinds, traits = graph.kind, graph.traits
    has_unused, has_expensive = False, False
    for value, operands in enumerate(graph.operands):
        if value == result or not operands:
            continue
        if not uses[value]:
            has_unused = True
            continue
        if traits[value] & EXPENSIVE:
            has_expensive = True
            if uses[value] != 1:
                return False
        if kinds[value] in _MOVING_OPS and any(kinds[x] != "constant" for x in operands):
            return False
    # What nothing uses is dropped after the kernel is built: until then it is another user of an expensive value.
    is_kernel = kinds[result] not in _OPS_WITHOUT_KERNEL and kinds[result] not in REUSING_OPS
    return is_kernel and not uses[result] and not (has_unused and has_expensive)


def simulate_fusion(
    graph: ValueGraph, materialized: Set[int] = frozenset(), without: FusionOutcome | None = None
) -> FusionOutcome:
    """Simulate XLA's fusion of a computation and return its kernels.

    Values in ``materialized`` are computed in one kernel each, and read from memory by all others. ``without`` is the
    outcome without materialization, if it is known: part of it holds here as well.
    """
    return _FusionSimulation(graph, materialized, without).run()


class _FusionSimulation:
    """Simulation of the fusion of one computation, which assigns values to kernels from its end.

    ``materialized`` are the numbers of the values that have to be in memory. A simulation is used once.
    """

    def __init__(self, graph: ValueGraph, materialized: Set[int], without: FusionOutcome | None) -> None:
        self.graph, self.materialized = graph, materialized
        self.unfusible = compute_globally_unfusible(graph, materialized, None if without is None else without.unfusible)
        #: How each value is fused into its users in this simulation.
        self.rules = graph.rules.copy()
        for number in itertools.chain(self.unfusible, materialized):
            self.rules[number] = NEVER_FUSED
        count = len(graph)
        self.outcome = FusionOutcome([], [0] * count, [0] * count, self.unfusible)
        #: By value, the kernels that need it, and of these the ones that use an element of it several times.
        self.needs, self.reused = [0] * count, [0] * count
        #: By value, 1 if something else than a loop over elements reads it.
        self.is_read = bytearray(count)
        for number in graph.results:
            self.is_read[number] = 1
        #: By value, its group of users in the kernels that need it (see :class:`_IndexGroups`).
        self.groups = [0] * count
        self.index_groups = _IndexGroups()
        #: By value, the first of its users that nothing reads, which are dropped only at their turns.
        self.dropped_users: dict[int, int] = {}
        #: The kernels of libraries.
        self.libraries = 0
        #: By kernel, how many reductions it fuses.
        self.reductions: list[int] = []

    def run(self) -> FusionOutcome:
        """Return the kernels of the computation. This loop runs for each value."""
        graph, needs, rules, counts = self.graph, self.needs, self.rules, self.index_groups.counts
        (roots, computed, read, _), is_read, groups, dropped = (
            self.outcome,
            self.is_read,
            self.groups,
            self.dropped_users,
        )
        traits, reused = graph.traits, self.reused
        join, has_libraries = self.index_groups.join, LIBRARY_REDUCE in graph.kind
        values = zip(
            range(len(graph) - 1, -1, -1), reversed(graph.operands), reversed(rules), reversed(traits), strict=True
        )
        for value, operands, rule, trait in values:
            need = needs[value]
            if not need:
                if is_read[value]:
                    self.write(value, operands)
                elif operands:  # nothing reads it
                    dropped.update(dict.fromkeys(operands, value))
                continue
            group = groups[value]
            if has_libraries and self.libraries & need:
                fused = self.fuse_into_libraries(value, need)
            elif rule == FUSED_INTO_SEVERAL and counts[group] <= _MAX_INDICES_PER_VALUE:
                fused = need
            elif rule <= ALWAYS_FUSED:
                fused = need if rule else 0
            else:
                fused = self.fuse(value, need, rule, group)
            computed[value] = fused
            if fused != need:
                read[value] |= need ^ fused
                self.write(value, operands)
                if not fused:
                    continue
                group = self.index_groups.restrict(group, fused)
            elif is_read[value]:
                self.write(value, operands)
            elif dropped and value in dropped and dropped[value] < roots[need.bit_length() - 1]:
                dropped.update(dict.fromkeys(operands, value))  # it outlives its kernels
            again = reused[value]
            if again:
                again &= fused
            if trait >= MOVES_DATA:
                if not operands:  # a constant
                    continue
                if trait & MOVES_DATA and not traits[operands[0]] & CONSTANT:
                    group = self.index_groups.move(value, group)
                if trait & REUSES_OPERANDS:
                    again = fused
            for operand in operands:
                before = needs[operand]
                if not before:
                    needs[operand], groups[operand] = fused, group
                else:  # as in add_need
                    needs[operand] = before | fused
                    present = groups[operand]
                    if present != group and not traits[operand] & CONSTANT:  # a constant is fused at any indices
                        groups[operand] = join(present, before, group, fused)
                if again:
                    reused[operand] |= again
        return self.outcome

    def fuse(self, value: int, need: int, rule: int, group: int) -> int:
        """Return the kernels that fuse a value, of those that need it; see :meth:`run`."""
        if rule <= ALWAYS_FUSED:
            return need if rule else 0
        if rule == FUSED_INTO_SEVERAL:
            return self.index_groups.fusible_kernels(group, need)
        is_single = not need & (need - 1) and not self.is_read[value] and not need & self.reused[value]
        if not is_single or not self.index_groups.fusible_kernels(group, need):
            return 0
        kernel = need.bit_length() - 1
        if self.dropped_users.get(value, value + len(self.rules)) < self.outcome.roots[kernel]:
            return 0
        if rule == FUSED_REDUCTION:
            if self.reductions[kernel] > _MAX_REDUCTIONS_PER_KERNEL:
                return 0
            self.reductions[kernel] += 1
        return need

    def fuse_into_libraries(self, value: int, need: int) -> int:
        """Return the kernels that fuse a value, of those that need it, some of which are a library's."""
        libraries = need & self.libraries
        fused = libraries if value not in self.materialized and self.can_fuse_into_library(value) else 0
        return fused | (self.fuse(value, need, self.rules[value], self.groups[value]) & ~libraries)

    def can_fuse_into_library(self, value: int) -> bool:
        """Return whether a library that reduces computes a value."""
        graph, kind = self.graph, self.graph.kind[value]
        if kind == "constant":
            return graph.size[value].rank == 0
        has_single_use = len(graph.users[value]) == 1 and value not in graph.results
        return kind == "broadcast_in_dim" or (has_single_use and kind in LIBRARY_FUSIBLE_OPS)

    def write(self, value: int, operands: Sequence[int]) -> None:
        """Begin the kernel that writes a value to memory, where a kernel computes it."""
        outcome, kind, traits = self.outcome, self.graph.kind[value], self.graph.traits[value]
        if kind in _OPS_WITHOUT_KERNEL:
            for operand in operands:
                self.is_read[operand] = 1
            return
        roots, group = outcome.roots, _ROOT
        bit = 1 << len(roots)
        roots.append(value)
        outcome.computed[value] |= bit
        self.reductions.append(kind == "reduce")
        if kind == LIBRARY_REDUCE:
            self.libraries |= bit
            group = _LIBRARY
        elif not traits & FUSIBLE:
            read, is_read = outcome.read, self.is_read
            for operand in operands:
                is_read[operand] = 1
                read[operand] |= bit
            return
        needs, groups = self.needs, self.groups
        for operand in operands:
            if not needs[operand]:
                needs[operand], groups[operand] = bit, group
            else:
                self.add_need(operand, bit, group)
        if traits & REUSES_OPERANDS:
            for operand in operands:
                self.reused[operand] |= bit

    def add_need(self, value: int, kernels: int, group: int) -> None:
        """Add kernels in which users of a value belong to a group, or to several, to those that need it already."""
        before = self.needs[value]
        self.needs[value] = before | kernels
        present = self.groups[value]
        if present != group and not self.graph.traits[value] & CONSTANT:
            self.groups[value] = self.index_groups.join(present, before, group, kernels)


#: The groups of the root of a kernel, of all users in kernels of libraries, and of users that index values too often.
_ROOT, _LIBRARY, _TOO_MANY = range(3)
#: Counts are at most this: bounds of counts that nothing asks for would grow with the number of paths.
_MAX_COUNT = 1 << 30


class _Join(NamedTuple):
    """Group of a value that two users need, each in some kernels, of their groups; in common kernels it is the union.

    The kernels are bit sets.
    """

    first: int
    first_kernels: int
    second: int
    second_kernels: int


class _Move(NamedTuple):
    """Group with ``user`` alone, which is computed at as many indices as ``group`` has in each kernel."""

    user: int
    group: int


#: Groups that stay as they are when their users move elements.
_UNMOVED = frozenset({_LIBRARY, _TOO_MANY})
_new_tuple = tuple.__new__


class _IndexGroups:
    """Groups of users that index values independently, by number.

    ``counts`` has for each group at how many indices a value is computed for one element of the root if these users
    need it. Groups may differ from kernel to kernel. What such a group is in each kernel is found out only where it
    may matter, since most values are computed at few indices in all: until then its count is an upper bound.
    """

    def __init__(self) -> None:
        self.counts = [1, 0, _MAX_INDICES_PER_VALUE + 1]
        #: By group, its users, each with its number of indices; empty for one that differs from kernel to kernel.
        self._members: list[tuple[tuple[int, int], ...] | frozenset[tuple[int, int]]] = [((-1, 1),), (), ()]
        #: By group that differs from kernel to kernel, what it is made of.
        self._mixed: dict[int, _Join | _Move] = {}
        #: By such a group, the kernels of each of the groups that it is, as far as they are known.
        self._parts: dict[int, dict[int, int]] = {}
        self._numbers: dict[frozenset[tuple[int, int]], int] = {}
        self._single: dict[tuple[int, int], int] = {}
        self._unions: dict[tuple[int, int], int] = {}

    def move(self, user: int, group: int) -> int:
        """Return the group with ``user`` alone, which is computed at as many indices as ``group`` has."""
        count = self.counts[group]
        if group in self._mixed:
            return self._mix(_new_tuple(_Move, (user, group)), count)
        if group in _UNMOVED:
            return group
        self._members.append(((user, count),))  # no other group is the same: values are visited once
        self.counts.append(count)
        return len(self.counts) - 1

    def join(self, first: int, first_kernels: int, second: int, second_kernels: int) -> int:
        """Return the group of a value that two users need, each in some kernels: in common ones their union."""
        mixed, counts = self._mixed, self.counts
        if first_kernels == second_kernels and first not in mixed and second not in mixed:
            return self._union(first, second)
        count, other = counts[first], counts[second]
        if first_kernels & second_kernels:
            count += other
            if count > _MAX_COUNT:
                count = _MAX_COUNT
        elif other > count:
            count = other
        # Not by the class, which takes twice as long as all else here.
        return self._mix(_new_tuple(_Join, (first, first_kernels, second, second_kernels)), count)

    def restrict(self, group: int, kernels: int) -> int:
        """Return a group in some of its kernels alone."""
        if group not in self._mixed:
            return group
        parts = {number: part & kernels for number, part in self._parts_of(group).items() if part & kernels}
        if len(parts) == 1:
            return next(iter(parts))
        restricted = self._mix(self._mixed[group], max(map(self.counts.__getitem__, parts)))
        self._parts[restricted] = parts
        return restricted

    def fusible_kernels(self, group: int, kernels: int) -> int:
        """Return those of the kernels in which the users in a group need a value at few enough indices.

        ``kernels`` are all in which the group needs it.
        """
        if self.counts[group] <= _MAX_INDICES_PER_VALUE:
            return kernels
        if group not in self._mixed:
            return 0
        parts = self._parts_of(group).items()
        return sum([part for number, part in parts if self.counts[number] <= _MAX_INDICES_PER_VALUE])  # disjoint ones

    def _mix(self, made_of: _Join | _Move, count: int) -> int:
        """Return the number of a new group that differs from kernel to kernel; ``count`` is a bound of its count."""
        number = len(self.counts)
        self.counts.append(count)
        self._members.append(())
        self._mixed[number] = made_of
        return number

    def _parts_of(self, group: int) -> dict[int, int]:
        """Return the groups that a group is, each with its kernels; the kernels are disjoint bit sets."""
        parts_by_group, pending = self._parts, [group]
        while pending:  # no recursion: what groups are made of goes back as far as programs are long
            number = pending[-1]
            unknown = [] if number in parts_by_group else self._unknown_parts(self._mixed[number])
            if unknown:
                pending += unknown
                continue
            pending.pop()
            if number not in parts_by_group:
                made_of = self._mixed[number]
                parts = self._move_parts(made_of) if isinstance(made_of, _Move) else self._join_parts(made_of)
                parts_by_group[number] = parts
                self.counts[number] = max(map(self.counts.__getitem__, parts))
        return parts_by_group[group]

    def _unknown_parts(self, made_of: _Join | _Move) -> list[int]:
        """Return the groups that a group is made of whose own parts are not known yet."""
        groups = (made_of.group,) if isinstance(made_of, _Move) else (made_of.first, made_of.second)
        return [number for number in groups if number in self._mixed and number not in self._parts]

    def _move_parts(self, move: _Move) -> dict[int, int]:
        """Return the groups that a moved group is, with their kernels; the parts of what it is made of are known."""
        moved: dict[int, int] = {}
        for number, kernels in self._parts[move.group].items():
            alone = self._alone(move.user, number)
            moved[alone] = moved.get(alone, 0) | kernels
        return moved

    def _join_parts(self, join: _Join) -> dict[int, int]:
        """Return the groups that a join is, with their kernels; the parts of what it is made of are known."""
        first, first_kernels, second, second_kernels = join
        common = first_kernels & second_kernels
        joined = dict(self._parts.get(first) or {first: first_kernels})
        for number, kernels in (self._parts.get(second) or {second: second_kernels}).items():
            if common & kernels:
                self._join_part(joined, number, kernels)
            else:
                joined[number] = joined.get(number, 0) | kernels
        return joined

    def _alone(self, user: int, group: int) -> int:
        if group in _UNMOVED:
            return group
        member = user, self.counts[group]
        number = self._single.get(member)
        if number is None:
            number = self._single[member] = len(self.counts)
            self._members.append((member,))
            self.counts.append(member[1])
        return number

    def _add(self, members: frozenset[tuple[int, int]]) -> int:
        count = sum([count for _, count in members])
        if count > _MAX_INDICES_PER_VALUE:
            return _TOO_MANY
        self._members.append(members)
        self.counts.append(count)
        return len(self.counts) - 1

    def _join_part(self, joined: dict[int, int], number: int, kernels: int) -> None:
        """Add a group in some kernels to ``joined``: to the groups that these kernels have already."""
        for other, present in tuple(joined.items()):
            common = present & kernels
            if not common:
                continue
            kernels ^= common
            union = other if other == number else self._union(other, number)
            if union != other:  # which may be among those still to come
                joined[other] &= ~common
                if not joined[other]:
                    del joined[other]
                joined[union] = joined.get(union, 0) | common
        if kernels:
            joined[number] = joined.get(number, 0) | kernels

    def _union(self, a: int, b: int) -> int:
        if _TOO_MANY in (a, b):
            return _TOO_MANY
        union = self._unions.get((a, b))
        if union is None:
            members = frozenset((*self._members[a], *self._members[b]))
            union = self._numbers.get(members, -1)
            if union < 0:
                union = self._numbers[members] = self._add(members)
            self._unions[a, b] = union
        return union
