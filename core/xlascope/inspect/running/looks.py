"""When to open a profiler window, and for how long: until each program was seen whole, then seldom."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...readers.profiles import ModuleProfile
from ...xla.profiling.profile import LONGEST, LONGEST_ONCE, SHORTEST, first_window, next_pause, next_window
from .pace import Times
from .tally import Tally

#: The processor time that looking may cost, once a program, until it was seen whole.
ONCE = 0.5
#: The length of a window that is to tell what looking costs, before a long one.
TRIAL = 0.05
#: From what length on a window is long, and how dear a window may be that is not a program's first.
LONG, DEAR = 0.5, 0.2
#: So often a program is looked for in vain, with windows twice as long each time.
VAIN = 6
#: Of a program's step one and a fifth has to fit beside what was begun before: steps differ.
ROOM = 1.2
#: What is left of that is worth no window; and so often nobody knows how long a call takes before one is opened.
NEARLY, PATIENT = 0.9, 2
#: Windows become rarer the more has been seen, until the pauses are so many times as long.
SELDOM = 4
#: A program with less of the time than this is not looked for.
SMALL_SHARE = 0.05


@dataclass
class Looks:
    """The windows so far: what they cost a second, and how often a program was looked for in vain."""

    rate: float = 0.0
    length: float = 0.0
    seen: int = 0
    spent: dict[int, float] = field(default_factory=dict)
    failed: dict[int, int] = field(default_factory=dict)
    sought: int | None = None
    blind: int = 0
    wanted: float = 0.0

    def next(self, tallies: Mapping[int, Tally], times: Times, kernels: Mapping[int, int]) -> float:
        """How long the next window should be; 0.0 for none, where it would be too dear or nobody knows yet."""
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
        whole = pace + ROOM * step
        if self.sought is not None:
            wanted = max(whole * 2 ** self.failed.get(number, 0), first_window(pace, kernels.get(number, 1)))
            if whole * self.rate <= self._left():
                return self._once(wanted)
            self.failed[number] = VAIN  # to see it whole would be too dear
            return 0.0
        wanted = max(self.length, whole)
        return wanted if wanted * self.rate <= DEAR and wanted <= LONGEST_ONCE else 0.0

    def _once(self, wanted: float) -> float:
        """A window in which a program is seen whole, if it is not too dear."""
        self.wanted = min(wanted, LONGEST_ONCE)
        if wanted > LONG and not self.rate:
            return TRIAL
        affordable = self._left() / self.rate if self.rate else LONGEST_ONCE
        return max(min(wanted, affordable, LONGEST_ONCE), SHORTEST)

    def _left(self) -> float:
        spent = self.spent.get(self.sought, 0.0) if self.sought is not None else 0.0
        return max(ONCE - spent, 0.0)

    def _unseen(self, tallies: Mapping[int, Tally]) -> int | None:
        """The program with most time that was not seen whole yet, and can be for what that may cost."""
        whole = sum(tally.seconds for tally in tallies.values())
        unseen = [
            tally
            for number, tally in tallies.items()
            if tally.calls and not tally.observed and tally.seconds >= SMALL_SHARE * whole
            if self.spent.get(number, 0.0) < NEARLY * ONCE and self.failed.get(number, 0) < VAIN
        ]
        return max(unseen, key=lambda tally: tally.seconds).program if unseen else None

    def saw(
        self, seconds: float, cost: float, profiles: Iterable[ModuleProfile], tallies: Mapping[int, Tally]
    ) -> float:
        """Take in a window of so many seconds, which cost so much; returns how long to leave the process alone."""
        profiles = tuple(profiles)
        if not profiles:  # it was cheap, and the next one is longer
            self.length = min(2 * max(self.length, SHORTEST), LONGEST)
            self._miss(seconds)
            return 0.0
        self.rate = cost / max(seconds, SHORTEST)
        self.seen += 1
        self.length = next_window(seconds, profiles)
        sought = self.sought
        if sought is None:
            return next_pause(cost) * min(self.seen, SELDOM)
        self.spent[sought] = self.spent.get(sought, 0.0) + cost
        if tallies[sought].observed:
            return next_pause(0.0)
        self._miss(seconds)
        return 0.0 if self._left() > 0.0 else next_pause(cost)

    def too_long(self, seconds: float) -> None:
        """A window of so many seconds held more than can be read."""
        self.rate = max(self.rate, ONCE / seconds)
        if self.sought is not None:
            self.failed[self.sought] = VAIN

    def _miss(self, seconds: float) -> None:
        if self.sought is not None and seconds >= self.wanted:
            self.failed[self.sought] = self.failed.get(self.sought, 0) + 1
