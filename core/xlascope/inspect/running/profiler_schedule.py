"""Schedule of profiler windows: frequent until each program was profiled completely, then rare."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...readers.profiles import ModuleProfile
from ...xla.profiling.profiler_windows import (
    MAX_WHOLE_CALL_SECONDS,
    MAX_WINDOW_SECONDS,
    MIN_WINDOW_SECONDS,
    first_window_seconds,
    next_pause_seconds,
    next_window_seconds,
)
from .accumulator import ProgramTally
from .step_time import StepTimes

#: Maximum processor time for profiling a program until a complete call was recorded.
MAX_PROGRAM_COST_SECONDS = 0.5
#: Length of a window that measures the cost of profiling, before a long one.
CALIBRATION_WINDOW_SECONDS = 0.05
#: Minimum length of a long window, and maximum cost of a window that is not a program's first.
LONG_WINDOW_SECONDS, MAX_WINDOW_COST_SECONDS = 0.5, 0.2
#: Give up after this many windows without a complete call; the window doubles after each miss.
MAX_BACKOFF_WINDOWS = 6
#: A window has room for this many steps beside the one under way, because step times vary.
WINDOW_MARGIN_STEPS = 1.2
#: Fraction of the cost that counts as spent, and decisions without a known call time before a probing window.
SPENT_FRACTION, BLIND_CALLS_BEFORE_PROBE = 0.9, 2
#: Windows become rarer the more were recorded, until the pauses are this many times as long.
MAX_PAUSE_FACTOR = 4
#: Number of windows that are opened for each program before those for the slowest one only.
WINDOWS_PER_PROGRAM = 5
#: Minimum share of the time of a program that windows are opened for.
MIN_TIME_SHARE = 0.05


@dataclass
class ProfilerSchedule:
    """Schedule of profiler windows, with what they have cost so far.

    ``target_program`` is the program that windows are opened for until a complete call of it was recorded (None: no
    program in particular). By program, ``misses`` counts the windows opened for it without such a call, and
    ``cost_by_program`` has the processor seconds of all of them. ``cost_rate`` are processor seconds per second of
    the last window, ``length`` the seconds of the next ordinary one.
    """

    cost_rate: float = 0.0
    length: float = 0.0
    windows_seen: int = 0
    cost_by_program: dict[int, float] = field(default_factory=dict)
    misses: dict[int, int] = field(default_factory=dict)
    target_program: int | None = None
    blind_calls: int = 0
    wanted_length: float = 0.0

    def next_length(self, tallies: Mapping[int, ProgramTally], times: StepTimes, kernels: Mapping[int, int]) -> float:
        """Return the seconds of the next window; 0.0 for none, if it would be too expensive or nothing is known.

        ``tallies`` are the measurements and ``kernels`` the numbers of kernels, by program.
        """
        self.target_program = self._find_unseen_program(tallies)
        main = self._find_least_profiled(tallies)
        number = self.target_program if self.target_program is not None else main.program if main is not None else 0
        step = times.step(number).seconds
        pace = max(times.pace(number), step)
        if not pace:
            self.blind_calls += 1
            window = (
                self._bounded_length(CALIBRATION_WINDOW_SECONDS * 2 ** min(self.blind_calls, MAX_BACKOFF_WINDOWS))
                if self.blind_calls > BLIND_CALLS_BEFORE_PROBE
                else 0.0
            )
            self.wanted_length = math.inf
            return window
        call_length = pace + WINDOW_MARGIN_STEPS * step
        if self.target_program is not None:
            length = max(
                call_length * 2 ** self.misses.get(number, 0), first_window_seconds(pace, kernels.get(number, 1))
            )
            if call_length * self.cost_rate <= self._remaining_cost():
                return self._bounded_length(length)
            self.misses[number] = MAX_BACKOFF_WINDOWS  # a complete call would be too expensive
            return 0.0
        length = max(self.length, call_length)
        return (
            length if length * self.cost_rate <= MAX_WINDOW_COST_SECONDS and length <= MAX_WHOLE_CALL_SECONDS else 0.0
        )

    def _bounded_length(self, length: float) -> float:
        """Return ``length``, the wanted seconds of a window, limited by what a window may last and still cost.

        The wanted length is stored in ``wanted_length``. While the cost of a window is unknown, a long one is replaced
        by a short one that measures it.
        """
        self.wanted_length = min(length, MAX_WHOLE_CALL_SECONDS)
        if length > LONG_WINDOW_SECONDS and not self.cost_rate:
            return CALIBRATION_WINDOW_SECONDS
        affordable = self._remaining_cost() / self.cost_rate if self.cost_rate else MAX_WHOLE_CALL_SECONDS
        return max(min(length, affordable, MAX_WHOLE_CALL_SECONDS), MIN_WINDOW_SECONDS)

    def _remaining_cost(self) -> float:
        spent = self.cost_by_program.get(self.target_program, 0.0) if self.target_program is not None else 0.0
        return max(MAX_PROGRAM_COST_SECONDS - spent, 0.0)

    def _find_least_profiled(self, tallies: Mapping[int, ProgramTally]) -> ProgramTally | None:
        """Return the program of which the next window is worth most; None without programs.

        Each program with a fair share of the time gets ``WINDOWS_PER_PROGRAM`` windows, then that with most time.
        """
        total = sum(tally.seconds for tally in tallies.values())
        major = [tally for tally in tallies.values() if tally.calls and tally.seconds >= MIN_TIME_SHARE * total]
        return max(major, key=lambda tally: (-min(len(tally.steps), WINDOWS_PER_PROGRAM), tally.seconds), default=None)

    def _find_unseen_program(self, tallies: Mapping[int, ProgramTally]) -> int | None:
        """Return the program with most time of which no complete call was recorded yet, or None.

        Programs whose profiling would cost too much are left out. ``tallies`` are the measurements by program.
        """
        total = sum(tally.seconds for tally in tallies.values())
        candidates = [
            tally
            for number, tally in tallies.items()
            if tally.calls and tally.needs_profile and tally.seconds >= MIN_TIME_SHARE * total
            if self.cost_by_program.get(number, 0.0) < SPENT_FRACTION * MAX_PROGRAM_COST_SECONDS
            and self.misses.get(number, 0) < MAX_BACKOFF_WINDOWS
        ]
        return max(candidates, key=lambda tally: tally.seconds).program if candidates else None

    def add_window(
        self, seconds: float, cost: float, profiles: Iterable[ModuleProfile], tallies: Mapping[int, ProgramTally]
    ) -> float:
        """Add a window that was open for ``seconds`` and took ``cost`` seconds of processor time.

        Returns for how many seconds no window should follow.
        """
        profiles = tuple(profiles)
        if not profiles:  # it was cheap, so the next one is longer
            self.length = min(2 * max(self.length, MIN_WINDOW_SECONDS), MAX_WINDOW_SECONDS)
            self._record_miss(seconds)
            return 0.0
        self.cost_rate = cost / max(seconds, MIN_WINDOW_SECONDS)
        self.windows_seen += 1
        self.length = next_window_seconds(seconds, profiles)
        target = self.target_program
        if target is None:
            return next_pause_seconds(cost) * min(self.windows_seen, MAX_PAUSE_FACTOR)
        self.cost_by_program[target] = self.cost_by_program.get(target, 0.0) + cost
        if not tallies[target].needs_profile:
            return next_pause_seconds(0.0)
        self._record_miss(seconds)
        return 0.0 if self._remaining_cost() > 0.0 else next_pause_seconds(cost)

    def reject_window(self, seconds: float) -> None:
        """Note that a window of so many seconds held more events than can be read: such windows are not tried again."""
        self.cost_rate = max(self.cost_rate, MAX_PROGRAM_COST_SECONDS / seconds)
        if self.target_program is not None:
            self.misses[self.target_program] = MAX_BACKOFF_WINDOWS

    def _record_miss(self, seconds: float) -> None:
        if self.target_program is not None and seconds >= self.wanted_length:
            self.misses[self.target_program] = self.misses.get(self.target_program, 0) + 1
