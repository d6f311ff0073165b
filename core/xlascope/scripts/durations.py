"""Durations as people write them: ``60s``, ``5min``, ``1h``."""

from __future__ import annotations

import re

_UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_FORM = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")
#: Less than this a run would do nothing but write.
LEAST = 1.0


def duration(value: float | str) -> float:
    """The seconds that a number or a text says; raises ValueError with an example for what is none, or too short.

    >>> duration("5min"), duration("90"), duration(2.5)
    (300.0, 90.0, 2.5)
    """
    found = _FORM.fullmatch(str(value).strip())
    if found is None or found[2] not in _UNITS:
        raise ValueError(f"{value!r} is no duration; examples: 60s, 5min, 1h")
    seconds = float(found[1]) * _UNITS[found[2]]
    if seconds < LEAST:
        raise ValueError(f"{value!r} is too often: at least {LEAST:g}s")
    return seconds
