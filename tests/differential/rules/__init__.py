"""Differences that are meant, each with its reason; every other one is a failure.

A rule holds for functions of a pattern and kinds of difference, where its condition holds. A rule that explains nothing
in a full run is reported: it has outlived its reason.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..judging import Verdict
from . import arrays, everywhere, families, lax, numpy, scipy, windows
from .rule import Rule

__all__ = ["RULES", "Rule", "explained"]

#: Those for some functions come first: what they say is nearer.
RULES: tuple[Rule, ...] = (
    *scipy.RULES,
    *windows.RULES,
    *lax.RULES,
    *arrays.RULES,
    *families.RULES,
    *numpy.RULES,
    *everywhere.RULES,
)


def explained(verdict: Verdict, rules: Sequence[Rule] = RULES) -> Rule | None:
    """The first rule that explains a difference."""
    return next((rule for rule in rules if rule.explains(verdict)), None)
