"""What a reader finds in one dump."""

from __future__ import annotations

from dataclasses import dataclass

from ...records.decisions import FusionDecision


@dataclass(frozen=True, slots=True)
class Dump:
    """The decisions of one dump, in order; ``complete`` is False when the file is cut off or longer than is read."""

    decisions: tuple[FusionDecision, ...]
    complete: bool = True
