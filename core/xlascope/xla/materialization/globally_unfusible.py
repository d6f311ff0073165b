"""Values that XLA's fusion leaves in memory for all users (``ComputeGloballyUnfusible`` in XLA).

These are values that read more than they write, unless each of their users fuses them on every path to it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence, Set

from .cost_model import REUSING_OPS
from .graph import EXPENSIVE, FUSIBLE, ValueGraph


def compute_globally_unfusible(
    graph: ValueGraph, materialized: Set[int], without_barriers: Set[int] | None = None
) -> Set[int]:
    """Return the values that XLA leaves in memory for all of their users, since some user cannot fuse them.

    ``materialized`` are the values behind barriers. ``without_barriers`` are the values of the same graph without
    them, which are some of those to return, if they are known.
    """
    already_unfusible, all_users = without_barriers or frozenset(), graph.users
    candidates = [number for number in graph.reads_more_than_it_writes if number not in already_unfusible]
    if without_barriers is not None:  # a barrier changes nothing for a value with one user, if it is not behind it
        candidates = [number for number in candidates if number in materialized or len(all_users[number]) > 1]
    if not candidates:
        return already_unfusible
    paths = _FusionPaths(graph, materialized, already_unfusible)
    results, traits = graph.results, graph.traits
    for number in candidates:
        users = all_users[number]
        if len(users) == 1 and not traits[number] & EXPENSIVE and number not in materialized:  # as below
            is_fusible = traits[users[0]] & FUSIBLE and number not in results
        else:
            is_fusible = number not in results and paths.can_fuse_into_all(number, users)
        if not is_fusible:
            paths.unfusible.add(number)
            paths.lowest_unfusible = min(number, paths.lowest_unfusible)
    return paths.unfusible


class _FusionPaths:
    """Paths from values to their users in a graph, and whether values can be fused along them.

    ``unfusible`` is extended by the caller as values are found.
    """

    def __init__(self, graph: ValueGraph, materialized: Set[int], already_unfusible: Set[int]) -> None:
        self.graph, self.materialized = graph, materialized
        self.unfusible, self.traits = set(already_unfusible), graph.traits
        #: The first of them after the values that are being looked at.
        self.lowest_unfusible = min(already_unfusible, default=len(graph))

    def can_fuse_into_all(self, producer: int, users: Sequence[int]) -> bool:
        """Return whether a value can be fused into all of its users, on each path to them."""
        if not self._can_fuse_directly(producer, users):
            return False
        if len(users) < 2 or not self._may_interrupt(producer, users[-1]):
            return True
        return self.can_fuse_on_all_paths(producer, users)

    def _may_interrupt(self, producer: int, consumer: int) -> bool:
        """Return False if all values between two can be fused into all of their users."""
        return self.lowest_unfusible < consumer or self.interruptions[consumer - 1] > self.interruptions[producer]

    @functools.cached_property
    def interruptions(self) -> list[int]:
        """Return for each value how many up to it cannot be fused into some user, apart from ``unfusible``."""
        interrupts = bytearray(self.graph.interrupts)
        for number in self.materialized:
            interrupts[number] = 1
        return list(itertools.accumulate(interrupts))

    def can_fuse_on_all_paths(self, producer: int, users: Sequence[int]) -> bool:
        """Return whether each step on every path from ``producer`` to some of its users can be fused into the next."""
        all_operands, depends = self.graph.operands, self.graph.dependencies.has
        visited, pending = {producer}, list(users)
        while pending:
            consumer = pending.pop()
            if consumer in visited:
                continue
            visited.add(consumer)
            for operand in all_operands[consumer]:
                if operand < producer or not (operand == producer or depends(operand, producer)):
                    continue
                if not self._can_fuse(operand, consumer):
                    return False
                pending.append(operand)
        return True

    def _can_fuse_directly(self, producer: int, users: Sequence[int]) -> bool:
        """Return whether a fusible value that is not among ``unfusible`` can be fused into each of some users."""
        traits = self.traits
        if producer in self.materialized:
            return not users
        if traits[producer] & EXPENSIVE:
            return all(self._can_fuse(producer, user) for user in users)
        return not [user for user in users if not traits[user] & FUSIBLE]

    def _can_fuse(self, producer: int, consumer: int) -> bool:
        """Return whether value ``producer`` can be fused into ``consumer``, which is one of its users."""
        traits, graph = self.traits, self.graph
        if (
            not (traits[producer] & traits[consumer] & FUSIBLE)
            or producer in self.unfusible
            or producer in self.materialized
        ):
            return False
        return not traits[producer] & EXPENSIVE or (
            len(graph.users[producer]) + (producer in graph.results) <= 1 and graph.kind[consumer] not in REUSING_OPS
        )
