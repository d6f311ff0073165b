"""The time covered by possibly nested intervals."""

from __future__ import annotations

#: The maximum number of separate intervals; older ones are merged into a sum.
MOST = 1_000


class Stretches:
    """The seconds covered by intervals, overlaps counted once.

    Intervals are added in the order of their ends: an inner one before the outer one.

    >>> covered = IntervalUnion()
    >>> for began, seconds in (1.0, 1.0), (3.0, 1.0), (0.0, 5.0), (7.0, 1.0):
    ...     covered.add(began, seconds)
    >>> covered.seconds
    6.0
    """

    def __init__(self) -> None:
        self._passed = 0.0
        self._kept: list[tuple[float, float]] = []

    @property
    def seconds(self) -> float:
        """Return the total time covered."""
        return self._passed + sum(end - began for began, end in self._kept)

    def add(self, began: float, seconds: float) -> None:
        """Add an interval."""
        end = began + seconds
        while self._kept and self._kept[-1][1] >= began:
            earlier = self._kept.pop()
            began, end = min(began, earlier[0]), max(end, earlier[1])
        self._kept.append((began, end))
        if len(self._kept) > MOST:
            merged = self._kept[: MOST // 2]
            self._passed += sum(end - began for began, end in merged)
            del self._kept[: MOST // 2]
