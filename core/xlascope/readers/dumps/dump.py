"""Result of reading one fusion dump."""

from __future__ import annotations

from dataclasses import dataclass

from ...records.decisions import FusionDecision


@dataclass(frozen=True, slots=True)
class Dump:
    """Fusion decisions that were read from one dump or log, in order.

    ``complete`` is False when the file is truncated or exceeds the reader's limit.
    """

    decisions: tuple[FusionDecision, ...]
    complete: bool = True
