"""The time during which something went on, of stages that contain each other."""

from __future__ import annotations

#: Stretches that are kept apart; older ones are in the sum alone.
MOST = 1_000


class Stretches:
    """Seconds covered by stretches of time, each counted once. They come as they end: an inner one before the outer.

    >>> covered = Stretches()
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
        """How much time all of them cover."""
        return self._passed + sum(end - began for began, end in self._kept)

    def add(self, began: float, seconds: float) -> None:
        """One more stretch."""
        end = began + seconds
        while self._kept and self._kept[-1][1] >= began:
            earlier = self._kept.pop()
            began, end = min(began, earlier[0]), max(end, earlier[1])
        self._kept.append((began, end))
        if len(self._kept) > MOST:
            passed = self._kept[: MOST // 2]
            self._passed += sum(end - began for began, end in passed)
            del self._kept[: MOST // 2]
