"""Statistics of two programs measured interleaved: medians, spread, and significance of the difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from .changes import Timing

#: The probability that the true median of the ratios lies outside of the reported interval.
ERROR_PROBABILITY = 0.01


def compare_timings(
    before: Sequence[float], after: Sequence[float], source: str, calls: tuple[int, int] = (0, 0)
) -> Timing:
    """Return the comparison of paired rounds; round i measured both programs in succession, in seconds per call.

    ``calls`` is the number of calls of each in all rounds. Raises ValueError unless both have the same number of
    rounds, at least one.

    >>> after = [0.5, 0.5, 0.6, 0.5, 0.5, 0.6, 0.5, 0.5]
    >>> result = compare_timings([1.0, 1.1, 1.0, 0.9, 1.0, 1.2, 1.0, 1.0], after, "host clock")
    >>> result.ratio, result.within_noise
    (0.5, False)
    """
    if not before or len(before) != len(after):
        raise ValueError(f"rounds come in pairs: {len(before)} of one program, {len(after)} of the other")
    ratios = sorted(b / max(a, 1e-12) for a, b in zip(before, after, strict=True))
    rank = _find_rank(len(ratios))
    low, high = (ratios[rank], ratios[-1 - rank]) if rank is not None else (0.0, math.inf)
    return Timing(tuple(before), tuple(after), median(ratios), low, high, source, calls)


def quartiles(seconds: Sequence[float]) -> tuple[float, float, float]:
    """Return first quartile, median and third quartile of measurements; quartiles are actual measurements.

    >>> quartiles([3.0, 1.0, 2.0])
    (1.0, 2.0, 3.0)
    """
    ordered = sorted(seconds)
    n = len(ordered)
    return ordered[n // 4], median(ordered), ordered[n - 1 - n // 4]


def _find_rank(rounds: int) -> int | None:
    """Return k so that the k-th smallest and k-th largest ratio enclose the median with enough confidence.

    Ranks count from 0; None if there are too few rounds. Each ratio lies below the true median with probability 1/2,
    so their number is binomial. The only assumption about the noise is that rounds are independent.
    """
    below = 0.0
    for k in range(rounds // 2 + 1):
        below += math.comb(rounds, k) / 2**rounds
        if 2 * below > ERROR_PROBABILITY:
            return k - 1 if k else None
    return None
