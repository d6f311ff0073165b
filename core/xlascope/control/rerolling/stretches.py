"""Runs of a sequence that repeat with some period."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

#: So many periods are tried, those that most elements come again after.
_MOST_PERIODS = 48
#: An element is compared with so many that are equal and come next.
_MOST_NEXT = 4


class Stretch(NamedTuple):
    """From ``begin`` to ``end`` each element comes again after ``period``, as long as the stretch goes on."""

    begin: int
    end: int
    period: int

    @property
    def repeats(self) -> int:
        """How often a period fits in."""
        return (self.end - self.begin) // self.period

    @property
    def spared(self) -> int:
        """How many elements are repetitions."""
        return (self.repeats - 1) * self.period

    def widened(self, elements: Sequence[Hashable], begin: int, end: int) -> Stretch:
        """The stretch of the same period that it is a part of in another sequence, between two places.

        >>> Stretch(3, 9, 3).widened("xabcabcabcy", 0, 11)
        Stretch(begin=1, end=10, period=3)
        """
        first, last, period = self
        while first > begin and elements[first - 1] == elements[first - 1 + period]:
            first -= 1
        while last < end and elements[last] == elements[last - period]:
            last += 1
        return Stretch(first, last, period)


class Stretches:
    """The stretches of a sequence.

    >>> Stretches("xabcabcabcyddd").longest(0, 14)
    Stretch(begin=1, end=10, period=3)
    """

    def __init__(self, elements: Sequence[Hashable]) -> None:
        numbers: dict[Hashable, int] = {}
        self._sequence = np.array([numbers.setdefault(each, len(numbers)) for each in elements], np.int64)
        self._periods = _periods(self._sequence)

    def longest(self, begin: int, end: int) -> Stretch | None:
        """The stretch between two places that spares most; of equals that of the shortest period."""
        runs = (each for period in self._periods for each in _runs(self._sequence, begin, end, period))
        return max(runs, key=lambda each: (each.spared, -each.period, -each.begin), default=None)


def _periods(sequence: np.ndarray) -> list[int]:
    """The distances at which most elements come again."""
    places: dict[int, list[int]] = defaultdict(list)
    for place, number in enumerate(sequence.tolist()):
        places[number].append(place)
    counts: Counter[int] = Counter()
    for those in places.values():
        for ahead in range(1, _MOST_NEXT + 1):
            counts.update(b - a for a, b in zip(those, those[ahead:], strict=False))
    return [period for period, _ in counts.most_common(_MOST_PERIODS)]


def _runs(sequence: np.ndarray, begin: int, end: int, period: int) -> Iterator[Stretch]:
    """The stretches of a period between two places."""
    if end - begin < 2 * period:
        return
    same = sequence[begin : end - period] == sequence[begin + period : end]
    edges = np.flatnonzero(np.diff(np.concatenate(([0], same.view(np.int8), [0]))))
    for first, last in edges.reshape(-1, 2).tolist():
        if last - first >= period:
            yield Stretch(begin + first, begin + last + period, period)
