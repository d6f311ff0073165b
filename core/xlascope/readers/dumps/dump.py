"""Result of reading one fusion dump."""

from __future__ import annotations

from dataclasses import dataclass

from ...records.decisions import FusionDecision


@dataclass(frozen=True, slots=True)
class Dump:
    """Decisions of one dump, in order; ``complete`` is False when the file is truncated or exceeds the limit."""

    decisions: tuple[FusionDecision, ...]
    complete: bool = True
