"""Numbers held against others: arrays against a reference, a program's results against another engine's."""

from __future__ import annotations

from typing import Any

import numpy as np


def describe_difference(found: Any, expected: Any, tolerance: float) -> str:
    """Say how two arrays differ by more than the tolerance; the empty string where they do not.

    The tolerance is relative to the largest expected number, or to 1.

    >>> describe_difference(np.array([1.0, 2.0]), np.array([1.0, 2.5]), 1e-3)
    'off by 0.5 in numbers up to 2.5'
    """
    if found.shape != expected.shape:
        return f"shape {found.shape} instead of {expected.shape}"
    if not found.size:
        return ""
    wide = np.complex128 if "c" in (found.dtype.kind, expected.dtype.kind) else np.float64
    found, expected = found.astype(wide), expected.astype(wide)
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True) or not np.isfinite(found[finite]).all():
        return "other infinities or NaNs"
    off = np.max(np.abs(found[finite] - expected[finite]), initial=0.0)
    scale = np.max(np.abs(expected[finite]), initial=1.0)
    return "" if off <= tolerance * scale else f"off by {off:.3g} in numbers up to {scale:.3g}"


def describe_disagreement(item: dict[str, Any], other: dict[str, Any]) -> str:
    """Say how far the results of a program are from those of another run; the empty string where they agree."""
    numbers, expected = item.get("numbers") or [], other.get("numbers") or []
    if len(numbers) != len(expected):
        return f"{len(numbers)} results instead of {len(expected)}"
    worst = max((_distance(x, y) for x, y in zip(numbers, expected, strict=True)), default=0.0)
    return "" if worst <= item.get("tolerance", 1e-3) else f"off by {worst:.2g}"


def _distance(found: dict[str, Any], expected: dict[str, Any]) -> float:
    """Return how far two results are apart: their norms, and their first numbers beside the largest."""
    norms = abs(found["norm"] - expected["norm"]) / max(abs(expected["norm"]), 1e-30)
    pairs = zip(found["first"], expected["first"], strict=False)
    return float(max([norms, *(abs(x - y) / max(expected["largest"], 1e-30) for x, y in pairs)]))
