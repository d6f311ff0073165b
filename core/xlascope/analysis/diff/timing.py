"""Two programs measured in turn: medians, spread, and whether the difference is more than noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from .changes import Timing

#: The probability that the true median of the ratios lies outside of what is said.
DOUBT = 0.01


def timing(before: Sequence[float], after: Sequence[float], source: str) -> Timing:
    """What paired rounds say; round i measured both programs right after each other, in seconds per call.

    Raises ValueError unless both have the same number of rounds, at least one.

    >>> found = timing([1.0, 1.1, 1.0, 0.9, 1.0, 1.2, 1.0, 1.0], [0.5, 0.5, 0.6, 0.5, 0.5, 0.6, 0.5, 0.5], "host clock")
    >>> found.ratio, found.within_noise
    (0.5, False)
    """
    if not before or len(before) != len(after):
        raise ValueError(f"rounds come in pairs: {len(before)} of one program, {len(after)} of the other")
    ratios = sorted(b / max(a, 1e-12) for a, b in zip(before, after, strict=True))
    rank = _rank(len(ratios))
    low, high = (ratios[rank], ratios[-1 - rank]) if rank is not None else (0.0, math.inf)
    return Timing(tuple(before), tuple(after), median(ratios), low, high, source)


def quartiles(seconds: Sequence[float]) -> tuple[float, float, float]:
    """First quartile, median, third quartile of measurements, all of them measured ones.

    >>> quartiles([3.0, 1.0, 2.0])
    (1.0, 2.0, 3.0)
    """
    ordered = sorted(seconds)
    n = len(ordered)
    return ordered[n // 4], median(ordered), ordered[n - 1 - n // 4]


def _rank(rounds: int) -> int | None:
    """The k for which the median lies between the k-th smallest and k-th largest ratio with enough confidence.

    Each ratio lies below the true median with probability 1/2, so their number is binomial; nothing is assumed of
    the noise but that rounds are independent.
    """
    below = 0.0
    for k in range(rounds // 2 + 1):
        below += math.comb(rounds, k) / 2**rounds
        if 2 * below > DOUBT:
            return k - 1 if k else None
    return None
