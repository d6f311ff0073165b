"""The time covered by possibly nested intervals."""

from __future__ import annotations

#: The maximum number of separate intervals; older ones are merged into a sum.
MAX_INTERVALS = 1_000


class IntervalUnion:
    """Union of time intervals: the seconds that they cover, overlaps counted once.

    Intervals are added in the order of their ends: an inner one before the outer one.

    >>> covered = IntervalUnion()
    >>> for began, seconds in (1.0, 1.0), (3.0, 1.0), (0.0, 5.0), (7.0, 1.0):
    ...     covered.add(began, seconds)
    >>> covered.seconds
    6.0
    """

    def __init__(self) -> None:
        self._merged_seconds = 0.0
        self._intervals: list[tuple[float, float]] = []

    @property
    def seconds(self) -> float:
        """Return the total time covered."""
        return self._merged_seconds + sum(end - began for began, end in self._intervals)

    def add(self, began: float, seconds: float) -> None:
        """Add an interval that began at ``began`` and lasted ``seconds``; it ends after all earlier ones."""
        end = began + seconds
        while self._intervals and self._intervals[-1][1] >= began:
            earlier = self._intervals.pop()
            began, end = min(began, earlier[0]), max(end, earlier[1])
        self._intervals.append((began, end))
        if len(self._intervals) > MAX_INTERVALS:
            merged = self._intervals[: MAX_INTERVALS // 2]
            self._merged_seconds += sum(end - began for began, end in merged)
            del self._intervals[: MAX_INTERVALS // 2]
