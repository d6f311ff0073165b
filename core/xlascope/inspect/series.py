"""A series of numbers with a bound: what is too many is thinned evenly."""

from __future__ import annotations

from array import array

#: The largest number of points that are kept of one series.
MAX_POINTS = 10_000


class Series:
    """Points of a step's number and a value; of more than :data:`MAX_POINTS` every second one goes, again and again.

    >>> series = Series(4)
    >>> for step in range(9):
    ...     series.append(step, step * 0.5)
    >>> series.steps, series.numbers
    ((0, 4, 8), (0.0, 2.0, 4.0))
    """

    def __init__(self, most: int = MAX_POINTS) -> None:
        self._most = most
        self._steps, self._numbers = array("q"), array("d")
        self._stride, self._skipped = 1, 0

    def append(self, step: int, number: float) -> None:
        """Add a point, unless points are thinned and this is one of those between."""
        if self._skipped:
            self._skipped -= 1
            return
        self._skipped = self._stride - 1
        self._steps.append(step)
        self._numbers.append(number)
        if len(self._steps) > self._most:
            self._steps, self._numbers = self._steps[::2], self._numbers[::2]
            self._stride *= 2
            self._skipped = self._stride - 1

    @property
    def steps(self) -> tuple[int, ...]:
        """Return the numbers of the steps."""
        return tuple(self._steps)

    @property
    def numbers(self) -> tuple[float, ...]:
        """Return the values at these steps."""
        return tuple(self._numbers)
