"""Bars of text for a series of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: The largest number of bars.
MAX_BARS = 24
_BARS = "▁▂▃▄▅▆▇█"


def sparkline(numbers: Sequence[float], *, spans_decade: bool = False) -> str:
    """Return bars, of the logarithm where the numbers are positive and span more than a factor of ten.

    With ``spans_decade`` the bars of positive numbers span at least that, so that numbers that differ little look so.

    >>> sparkline([0.0, 1.0, 2.0]), sparkline([1.0, 10.0, 100.0, float("nan")])
    ('▁▅█', '▁▅█×')
    """
    chosen = [numbers[len(numbers) * index // MAX_BARS] for index in range(min(MAX_BARS, len(numbers)))]
    if len(numbers) <= MAX_BARS:
        chosen = list(numbers)
    finite = [number for number in chosen if math.isfinite(number)]
    if not finite:
        return "×" * len(chosen)
    low, high = min(finite), max(finite)
    if spans_decade and low > 0:
        low = min(low, high / 10)
    if low > 0 and (spans_decade or high > 10 * low):
        chosen = [math.log(number) if math.isfinite(number) else number for number in chosen]
        low, high = math.log(low), math.log(high)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BARS[round((number - low) * scale)] if math.isfinite(number) else "×" for number in chosen)
