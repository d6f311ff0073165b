"""Comparison of numbers: arrays with a reference, results of a program with those of another engine."""

from __future__ import annotations

from typing import Any

import numpy as np


def describe_difference(actual: Any, expected: Any, tolerance: float) -> str:
    """Describe how two arrays differ by more than ``tolerance``; return ``""`` if they do not.

    The tolerance is relative to the largest expected number, or to 1.

    >>> describe_difference(np.array([1.0, 2.0]), np.array([1.0, 2.5]), 1e-3)
    'off by 0.5 in numbers up to 2.5'
    """
    if actual.shape != expected.shape:
        return f"shape {actual.shape} instead of {expected.shape}"
    if not actual.size:
        return ""
    wide = np.complex128 if "c" in (actual.dtype.kind, expected.dtype.kind) else np.float64
    actual, expected = actual.astype(wide), expected.astype(wide)
    finite = np.isfinite(expected)
    if not np.array_equal(actual[~finite], expected[~finite], equal_nan=True) or not np.isfinite(actual[finite]).all():
        return "other infinities or NaNs"
    error = np.max(np.abs(actual[finite] - expected[finite]), initial=0.0)
    scale = np.max(np.abs(expected[finite]), initial=1.0)
    return "" if error <= tolerance * scale else f"off by {error:.3g} in numbers up to {scale:.3g}"


def describe_disagreement(item: dict[str, Any], reference: dict[str, Any]) -> str:
    """Describe how far the results of a benchmark program are from those of another run; return ``""`` if they agree.

    Both arguments are outcomes of :func:`.programs.measure.measure`, with digests of the results as ``"numbers"``.
    """
    numbers, expected = item.get("numbers") or [], reference.get("numbers") or []
    if len(numbers) != len(expected):
        return f"{len(numbers)} results instead of {len(expected)}"
    worst = max((_distance(x, y) for x, y in zip(numbers, expected, strict=True)), default=0.0)
    return "" if worst <= item.get("tolerance", 1e-3) else f"off by {worst:.2g}"


def _distance(actual: dict[str, Any], expected: dict[str, Any]) -> float:
    """Return the relative distance of two digests of arrays: of their norms, and of their first numbers."""
    norms = abs(actual["norm"] - expected["norm"]) / max(abs(expected["norm"]), 1e-30)
    pairs = zip(actual["first"], expected["first"], strict=False)
    return float(max([norms, *(abs(x - y) / max(expected["largest"], 1e-30) for x, y in pairs)]))
