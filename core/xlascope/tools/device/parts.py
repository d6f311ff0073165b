"""The parts of the report in order of importance, and the time reserved for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

#: The default time for all parts together.
DEFAULT_SECONDS = 240.0


class Part(NamedTuple):
    """Part of the report: a group of checks that runs in a process of its own.

    ``reserve`` are the seconds that earlier parts leave for it, ``item_limit`` the seconds after which one check is
    aborted, and ``about`` describes it. ``engine`` is ``"jax"`` for a part whose process imports jax and nothing of
    xlascope.
    """

    name: str
    reserve: float
    item_limit: float
    about: str
    engine: str = "xlascope"


PARTS = (
    Part("environment", 4, 60, "versions, driver, device, memory, variables"),
    Part("checks", 20, 60, "the checks of --device and more, each against NumPy"),
    Part("programs", 45, 60, "ten programs: numbers, first call, time of a step, dispatch"),
    Part("profiles", 30, 60, "raw profiles, HLO and records of two programs, the sampler at work"),
    Part("jax", 30, 60, "the same programs by jax, where it is installed", engine="jax"),
    Part("memory", 12, 30, "donation, statistics, an out-of-memory error, transfers"),
    Part("operations", 45, 60, "rows of the operations table: value, batching, gradient"),
    Part("questions", 15, 40, "timings, fusions and why, memory, target gpu:h100, beside what ran"),
    Part("settings", 10, 30, "keep and reroll, on and off"),
    Part("watch", 14, 60, "a script of xlascope and one of jax, watched"),
)
NAMES = tuple(part.name for part in PARTS)


def seconds_for(part: Part, later: Sequence[Part], remaining: float) -> float:
    """Return the seconds for a part: all but the reserves of later parts, or its share if time is short.

    ``remaining`` are the seconds left for the part and all ``later`` ones.

    >>> seconds_for(PARTS[0], PARTS[1:2], 100.0)
    80.0
    >>> seconds_for(PARTS[2], PARTS[3:4], 10.0)
    6.0
    """
    reserved = sum(later_part.reserve for later_part in later)
    return max(remaining - reserved, remaining * part.reserve / (part.reserve + reserved))
