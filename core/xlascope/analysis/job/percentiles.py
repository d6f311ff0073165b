"""Medians and percentiles of short lists."""

from __future__ import annotations

from collections.abc import Iterable


def median(values: Iterable[float]) -> float | None:
    """Return the median, None for no values.

    >>> median([3.0, 1.0, 2.0]), median([1.0, 2.0]), median([])
    (2.0, 1.5, None)
    """
    return percentile(values, 0.5)


def percentile(values: Iterable[float], fraction: float) -> float | None:
    """Return the value below which ``fraction`` of the values lie, interpolated; None for no values."""
    ordered = sorted(values)
    if not ordered:
        return None
    position = fraction * (len(ordered) - 1)
    index = int(position)
    above = ordered[min(index + 1, len(ordered) - 1)]
    return ordered[index] + (position - index) * (above - ordered[index])
