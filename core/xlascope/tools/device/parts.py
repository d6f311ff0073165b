"""The parts of the report, in the order of their value, and the time that each may count on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

#: The seconds that all parts take together, where nothing else is said.
SECONDS = 240.0


class Part(NamedTuple):
    """A part runs in a process of its own.

    ``reserve`` are seconds that earlier parts leave to it, ``item_limit`` those after which an item that does not end
    is stopped. ``engine`` is ``"jax"`` for a part whose process imports jax and nothing of xlascope.
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
    """Return the seconds that a part may take: all but what later parts count on, and its share where time is short.

    >>> seconds_for(PARTS[0], PARTS[1:2], 100.0)
    80.0
    >>> seconds_for(PARTS[2], PARTS[3:4], 10.0)
    6.0
    """
    reserved = sum(each.reserve for each in later)
    return max(remaining - reserved, remaining * part.reserve / (part.reserve + reserved))
