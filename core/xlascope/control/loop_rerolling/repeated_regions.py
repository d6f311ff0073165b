"""Regions of a sequence that repeat with some period."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

#: Maximum number of periods that are tried, the most frequent ones.
_MAX_PERIODS = 48
#: Maximum number of following equal elements that an element is compared with.
_MAX_COMPARED_OCCURRENCES = 4
#: Values are numbered by a table if the largest one is below this multiple of their number, else they are sorted.
_MAX_TABLE_RATIO = 8


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

    def __init__(self, elements: Sequence[Hashable] | np.ndarray) -> None:
        sequence = _number_by_appearance(elements)
        self._runs = _find_runs(sequence, _candidate_periods(sequence))

    def longest(self, begin: int, end: int) -> RepeatedRegion | None:
        """Return the region within ``[begin, end)`` with the most repeated elements; None if nothing repeats.

        Of equally good ones it is the one with the shortest period.
        """
        periods, firsts, lasts = self._runs
        firsts, lasts = np.maximum(firsts, begin), np.minimum(lasts, end - periods)
        saved = (lasts - firsts) // periods * periods
        best = saved.max(initial=0)
        if best <= 0:
            return None
        candidates = np.flatnonzero(saved == best)
        _, first, last, period = min(
            (int(periods[i]), int(firsts[i]), int(lasts[i]), int(periods[i])) for i in candidates
        )
        return RepeatedRegion(first, last + period, period)


def _number_by_appearance(elements: Sequence[Hashable] | np.ndarray) -> np.ndarray:
    """Return a number for each element, in the order in which elements appear first."""
    if isinstance(elements, np.ndarray):
        return number_by_appearance(elements)[0]
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(element, len(numbers)) for element in elements], np.int64)


def number_by_appearance(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a number for each value, equal for equal ones, in the order in which they appear, and where they do first.

    ``values`` are numbers that are not negative.

    >>> number_by_appearance(np.array([7, 7, 2, 7, 5]))
    (array([0, 0, 1, 0, 2]), array([0, 2, 4]))
    """
    count, limit = len(values), int(values.max(initial=0)) + 1
    if limit > _MAX_TABLE_RATIO * count:
        values = np.unique(values, return_inverse=True)[1]
        limit = int(values.max(initial=0)) + 1
    positions = np.arange(count)
    first = np.empty(limit, np.int64)
    first[values[::-1]] = positions[::-1]  # the last assignment stays
    first_of = first[values]
    is_first = first_of == positions
    return (np.cumsum(is_first) - 1)[first_of], np.flatnonzero(is_first)


def stable_order(numbers: np.ndarray) -> np.ndarray:
    """Return the indices of numbers that are not negative in ascending order; equal ones stay in order.

    >>> stable_order(np.array([2, 0, 2, 1]))
    array([1, 3, 0, 2])
    """
    if int(numbers.max(initial=0)) <= np.iinfo(np.uint16).max:  # these are sorted by radix, in a fifth of the time
        numbers = numbers.astype(np.uint16)
    return np.argsort(numbers, kind="stable")


def _candidate_periods(sequence: np.ndarray) -> list[int]:
    """Return the most frequent distances between equal elements, the most frequent first.

    ``sequence`` has a number for each element, in the order in which they appear first. Of equally frequent distances
    the one between the earlier elements comes first.
    """
    order = stable_order(sequence)
    numbers = sequence[order]
    count = len(sequence)
    counts = np.zeros(count, np.int64)
    first_ranks = np.full(count, np.iinfo(np.int64).max)
    for ahead in range(1, _MAX_COMPARED_OCCURRENCES + 1):
        is_same = np.flatnonzero(numbers[:-ahead] == numbers[ahead:])
        distances = order[is_same + ahead] - order[is_same]
        ranks = (numbers[is_same] * _MAX_COMPARED_OCCURRENCES + ahead) * count + is_same
        counts += np.bincount(distances, minlength=count)
        first = np.full(count, np.iinfo(np.int64).max)
        first[distances[::-1]] = ranks[::-1]  # which ascend, and the last assignment stays
        np.minimum(first_ranks, first, out=first_ranks)
    periods = np.flatnonzero(counts)
    most_frequent = np.lexsort((first_ranks[periods], -counts[periods]))[:_MAX_PERIODS]
    return [int(period) for period in periods[most_frequent]]


def _find_runs(sequence: np.ndarray, periods: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the periods, begins and ends of all runs of elements that recur after a period, as long as it or longer.

    ``sequence`` has a number for each element; equal elements have equal numbers.
    """
    runs, periods_of_runs = [np.empty((0, 2), np.int64)], [0]
    buffer = np.zeros(len(sequence) + 1, np.bool_)  # False in front of the elements that recur, and behind them
    for period in periods:
        is_equal = buffer[: len(sequence) - period + 2]
        is_equal[-1] = False
        np.equal(sequence[:-period], sequence[period:], out=is_equal[1:-1])
        if np.count_nonzero(is_equal) < period:
            continue
        edges = (is_equal[1:] != is_equal[:-1]).nonzero()[0].reshape(-1, 2)
        edges = edges[edges[:, 1] - edges[:, 0] >= period]
        if len(edges):
            runs.append(edges)
            periods_of_runs.append(period)
    every = np.concatenate(runs)
    return np.repeat(periods_of_runs, list(map(len, runs))), every[:, 0], every[:, 1]
