"""Durations as text: ``60s``, ``5min``, ``1h``."""

from __future__ import annotations

import re

_UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")
#: The minimum interval between writes: below it, a run would mostly write.
MIN_INTERVAL_SECONDS = 1.0


def parse_duration(value: float | str) -> float:
    """Return a duration in seconds; raise ValueError with an example for an invalid or too short one.

    >>> parse_duration("5min"), parse_duration("90"), parse_duration(2.5)
    (300.0, 90.0, 2.5)
    """
    match = _PATTERN.fullmatch(str(value).strip())
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{value!r} is no duration; examples: 60s, 5min, 1h")
    seconds = float(match[1]) * _UNITS[match[2]]
    if seconds < MIN_INTERVAL_SECONDS:
        raise ValueError(f"{value!r} is too often: at least {MIN_INTERVAL_SECONDS:g}s")
    return seconds
