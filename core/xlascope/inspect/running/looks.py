"""Schedule of profiler windows: frequent until each program was profiled completely, then rare."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...readers.profiles import ModuleProfile
from ...xla.profiling.profile import LONGEST, LONGEST_ONCE, SHORTEST, first_window, next_pause, next_window
from .pace import Times
from .tally import Tally

#: Maximum processor time for profiling a program until a complete call was recorded.
ONCE = 0.5
#: Length of a window that measures the cost of profiling, before a long one.
TRIAL = 0.05
#: Minimum length of a long window, and maximum cost of a window that is not a program's first.
LONG, DEAR = 0.5, 0.2
#: Give up after this many windows without a complete call; the window doubles after each miss.
VAIN = 6
#: A window has room for this many steps beside the one under way, because step times vary.
ROOM = 1.2
#: Fraction of the cost that counts as spent, and decisions without a known call time before a probing window.
NEARLY, PATIENT = 0.9, 2
#: Windows become rarer the more were recorded, until the pauses are this many times as long.
SELDOM = 4
#: Minimum share of the time of a program that windows are opened for.
SMALL_SHARE = 0.05


@dataclass
class Looks:
    """Schedule of profiler windows, with their cost so far and the number of misses by program."""

    rate: float = 0.0
    length: float = 0.0
    seen: int = 0
    spent: dict[int, float] = field(default_factory=dict)
    failed: dict[int, int] = field(default_factory=dict)
    sought: int | None = None
    blind: int = 0
    wanted: float = 0.0

    def next(self, tallies: Mapping[int, Tally], times: Times, kernels: Mapping[int, int]) -> float:
        """Return the length of the next window; 0.0 for none, if it would be too expensive or nothing is known."""
        self.sought = self._unseen(tallies)
        main = max(tallies.values(), key=lambda tally: tally.seconds, default=None)
        number = self.sought if self.sought is not None else main.program if main is not None else 0
        step = times.step(number).seconds
        pace = max(times.pace(number), step)
        if not pace:
            self.blind += 1
            window = self._once(TRIAL * 2 ** min(self.blind, VAIN)) if self.blind > PATIENT else 0.0
            self.wanted = math.inf
            return window
        call_length = pace + ROOM * step
        if self.sought is not None:
            wanted = max(call_length * 2 ** self.failed.get(number, 0), first_window(pace, kernels.get(number, 1)))
            if call_length * self.rate <= self._left():
                return self._once(wanted)
            self.failed[number] = VAIN  # a complete call would be too expensive
            return 0.0
        wanted = max(self.length, call_length)
        return wanted if wanted * self.rate <= DEAR and wanted <= LONGEST_ONCE else 0.0

    def _once(self, wanted: float) -> float:
        """Return the length of a window for a complete call, within the remaining cost."""
        self.wanted = min(wanted, LONGEST_ONCE)
        if wanted > LONG and not self.rate:
            return TRIAL
        affordable = self._left() / self.rate if self.rate else LONGEST_ONCE
        return max(min(wanted, affordable, LONGEST_ONCE), SHORTEST)

    def _left(self) -> float:
        spent = self.spent.get(self.sought, 0.0) if self.sought is not None else 0.0
        return max(ONCE - spent, 0.0)

    def _unseen(self, tallies: Mapping[int, Tally]) -> int | None:
        """Return the program with most time that was not profiled completely, and can be for the allowed cost."""
        total = sum(tally.seconds for tally in tallies.values())
        candidates = [
            tally
            for number, tally in tallies.items()
            if tally.calls and not tally.observed and tally.seconds >= SMALL_SHARE * total
            if self.spent.get(number, 0.0) < NEARLY * ONCE and self.failed.get(number, 0) < VAIN
        ]
        return max(candidates, key=lambda tally: tally.seconds).program if candidates else None

    def saw(
        self, seconds: float, cost: float, profiles: Iterable[ModuleProfile], tallies: Mapping[int, Tally]
    ) -> float:
        """Add a window with its length and cost; return how long to leave the process alone."""
        profiles = tuple(profiles)
        if not profiles:  # it was cheap, so the next one is longer
            self.length = min(2 * max(self.length, SHORTEST), LONGEST)
            self._miss(seconds)
            return 0.0
        self.rate = cost / max(seconds, SHORTEST)
        self.seen += 1
        self.length = next_window(seconds, profiles)
        target = self.sought
        if target is None:
            return next_pause(cost) * min(self.seen, SELDOM)
        self.spent[target] = self.spent.get(target, 0.0) + cost
        if tallies[target].observed:
            return next_pause(0.0)
        self._miss(seconds)
        return 0.0 if self._left() > 0.0 else next_pause(cost)

    def too_long(self, seconds: float) -> None:
        """Handle a window of so many seconds that held more events than can be read."""
        self.rate = max(self.rate, ONCE / seconds)
        if self.sought is not None:
            self.failed[self.sought] = VAIN

    def _miss(self, seconds: float) -> None:
        if self.sought is not None and seconds >= self.wanted:
            self.failed[self.sought] = self.failed.get(self.sought, 0) + 1
