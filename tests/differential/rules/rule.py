"""What a rule is, and conditions that several share."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import NamedTuple

from ..judging import Verdict


class Rule(NamedTuple):
    """Which differences are meant, and why, in one sentence."""

    name: str
    functions: str
    kinds: tuple[str, ...]
    reason: str
    where: Callable[[Verdict], bool] = lambda verdict: True

    def explains(self, verdict: Verdict) -> bool:
        """Whether the difference of this verdict is one of the rule's."""
        difference = verdict.difference
        return (
            difference is not None
            and difference.kind in self.kinds
            and any(fnmatchcase(verdict.call["function"], pattern) for pattern in self.functions.split())
            and self.where(verdict)
        )


def theirs_says(pattern: str) -> Callable[[Verdict], bool]:
    """Where jax's message has this in it."""
    return lambda verdict: bool(re.search(pattern, verdict.theirs.get("message", "")))


def ours_says(pattern: str) -> Callable[[Verdict], bool]:
    """Where our message has this in it."""
    return lambda verdict: bool(re.search(pattern, verdict.ours.get("message", "")))


def witness(*names: str) -> Callable[[Verdict], bool]:
    """Where one of these witnesses has our answer."""
    return lambda verdict: verdict.witness in names
