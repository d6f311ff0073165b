"""Regions of a sequence that repeat with some period."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

#: Maximum number of periods that are tried, the most frequent ones.
_MAX_PERIODS = 48
#: Maximum number of following equal elements that an element is compared with.
_MAX_COMPARED_OCCURRENCES = 4


class RepeatedRegion(NamedTuple):
    """Range of indices, from ``begin`` to ``end`` (exclusive), in which each element recurs after ``period``."""

    begin: int
    end: int
    period: int

    @property
    def repeats(self) -> int:
        """Return the number of whole periods."""
        return (self.end - self.begin) // self.period

    @property
    def saved_count(self) -> int:
        """Return the number of elements that are repetitions."""
        return (self.repeats - 1) * self.period

    def widen(self, elements: Sequence[Hashable], begin: int, end: int) -> RepeatedRegion:
        """Return the largest region of this period in ``elements`` that includes this one and lies in ``[begin, end)``.

        ``elements`` may be another sequence than the one in which the region was found.

        >>> RepeatedRegion(3, 9, 3).widen("xabcabcabcy", 0, 11)
        RepeatedRegion(begin=1, end=10, period=3)
        """
        first, last, period = self
        while first > begin and elements[first - 1] == elements[first - 1 + period]:
            first -= 1
        while last < end and elements[last] == elements[last - period]:
            last += 1
        return RepeatedRegion(first, last, period)


class RepeatedRegions:
    """Finder of repeated regions in one sequence.

    >>> RepeatedRegions("xabcabcabcyddd").longest(0, 14)
    RepeatedRegion(begin=1, end=10, period=3)
    """

    def __init__(self, elements: Sequence[Hashable]) -> None:
        numbers: dict[Hashable, int] = {}
        self._sequence = np.array([numbers.setdefault(element, len(numbers)) for element in elements], np.int64)
        self._periods = _candidate_periods(self._sequence)

    def longest(self, begin: int, end: int) -> RepeatedRegion | None:
        """Return the region within ``[begin, end)`` with the most repeated elements; None if nothing repeats.

        Of equally good ones it is the one with the shortest period.
        """
        runs = (region for period in self._periods for region in _find_runs(self._sequence, begin, end, period))
        return max(runs, key=lambda region: (region.saved_count, -region.period, -region.begin), default=None)


def _candidate_periods(sequence: np.ndarray) -> list[int]:
    """Return the most frequent distances between equal elements, the most frequent first."""
    positions_by_number: dict[int, list[int]] = defaultdict(list)
    for position, number in enumerate(sequence.tolist()):
        positions_by_number[number].append(position)
    counts: Counter[int] = Counter()
    for positions in positions_by_number.values():
        for ahead in range(1, _MAX_COMPARED_OCCURRENCES + 1):
            counts.update(b - a for a, b in zip(positions, positions[ahead:], strict=False))
    return [period for period, _ in counts.most_common(_MAX_PERIODS)]


def _find_runs(sequence: np.ndarray, begin: int, end: int, period: int) -> Iterator[RepeatedRegion]:
    """Yield the regions within ``[begin, end)`` that repeat with ``period`` at least twice.

    ``sequence`` has a number for each element; equal elements have equal numbers.
    """
    if end - begin < 2 * period:
        return
    is_equal = sequence[begin : end - period] == sequence[begin + period : end]
    edges = np.flatnonzero(np.diff(np.concatenate(([0], is_equal.view(np.int8), [0]))))
    for first, last in edges.reshape(-1, 2).tolist():
        if last - first >= period:
            yield RepeatedRegion(begin + first, begin + last + period, period)
