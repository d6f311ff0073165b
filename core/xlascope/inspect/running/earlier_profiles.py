"""Profiles of earlier runs: a short cell that runs again need not be profiled again."""

from __future__ import annotations

from collections.abc import Mapping

from ...lru_cache import LRUCache
from .accumulator import ProgramTally

#: Number of programs whose latest profile is stored.
MAX_PROFILES = 64
#: Seconds for which programs run before they are profiled, if all of them were profiled in earlier runs: a window takes
#: some 15 ms of processor time.
SECONDS_BEFORE_PROFILE = 1.5


class EarlierProfiles:
    """Latest profiles by program, which samplers of later cells begin with.

    The kernels of a program and their shares of a call stay the same; the time of a call is measured in each run.
    """

    def __init__(self) -> None:
        self._tallies: LRUCache[int, ProgramTally] = LRUCache(MAX_PROFILES)

    def store(self, tallies: Mapping[int, ProgramTally]) -> None:
        """Store the profiles of programs that have one of warm calls."""
        for number, tally in tallies.items():
            if tally.observed and tally.is_warm and not tally.is_earlier and tally.module not in tally.quick:
                self._tallies[number] = tally

    def begin(self, tally: ProgramTally) -> None:
        """Let a program that was not profiled yet begin with its profile of an earlier run, if there is one."""
        earlier = self._tallies.get(tally.program)
        if earlier is not None:
            tally.begin_with(earlier)
