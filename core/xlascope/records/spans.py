"""Record of one run of one kernel."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """One run of one kernel; ``start`` is in seconds from the start of the step shown.

    ``stream`` is the queue of a GPU or TPU that it ran on, ``""`` where there are none; ``bytes`` is the size
    of a copy, None where it is not known.
    """

    kernel: str
    start: float
    duration: float
    stream: str = ""
    bytes: int | None = None
