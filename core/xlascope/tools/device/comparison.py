"""Numbers of a program held against another engine's, or another run's."""

from __future__ import annotations

from typing import Any


def compare_numbers(item: dict[str, Any], other: dict[str, Any]) -> str:
    """Say how far the results of a program are from those of another run; the empty string where they agree."""
    numbers, expected = item.get("numbers") or [], other.get("numbers") or []
    if len(numbers) != len(expected):
        return f"{len(numbers)} results instead of {len(expected)}"
    worst = max((_off(x, y) for x, y in zip(numbers, expected, strict=True)), default=0.0)
    return "" if worst <= item.get("tolerance", 1e-3) else f"off by {worst:.2g}"


def _off(found: dict[str, Any], expected: dict[str, Any]) -> float:
    """Return how far two results are apart: their norms, and their first numbers beside the largest."""
    norms = abs(found["norm"] - expected["norm"]) / max(abs(expected["norm"]), 1e-30)
    pairs = zip(found["first"], expected["first"], strict=False)
    return float(max([norms, *(abs(x - y) / max(expected["largest"], 1e-30) for x, y in pairs)]))
