"""What the host's clock knows of calls: when some of them had finished, and how many lay between.

Calls are asynchronous: that one was made says nothing of when it is done. So time is taken where results are there.
From one finish to the next there lie so many calls; that time divided by them is the pace, from call to call. It is the
time of a call where the calls follow upon each other, and holds what else was done where they do not. What tells the
two apart is the time of a call alone: of one whose predecessor's finish was seen too, or the profiler's.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeVar

#: Finishes and looks that are remembered.
MOST = 256
#: The pace is the time of a call if it is not longer than a call alone by more than this factor and these seconds
#: (Python's between two calls).
NEAR, BETWEEN = 1.1, 2e-5
#: Beyond this factor and these seconds (Python changes threads so often) of the profiler's time, a finish was heard
#: late.
LATE, HEARING = 2.0, 5e-3
#: The part of a stretch in which a profiler may look, for the stretch to count as if none had.
TOUCHED = 0.1
#: The time of a call of which nothing is known, beside others: that of a small operation.
SMALL = 1e-5


class Finish(NamedTuple):
    """A call's results were there: of ``program``, at ``time``, and ``counts`` calls of each program made until then.

    ``began`` is when the call was made if that is known; ``returned`` when it came back to its caller.
    ``waited`` says whether its results were still to come then. Times are those of ``time.perf_counter``.
    """

    program: int
    counts: Mapping[int, int]
    returned: float
    time: float
    waited: bool
    began: float | None = None


class StepTime(NamedTuple):
    """The time of one call (0.0: none known), whose clock says so, and whether it may hold time between calls."""

    seconds: float
    clock: Literal["host", "profile", ""]
    at_most: bool = False


class _Stretch(NamedTuple):
    """The calls from one finish to another, the seconds between, and whether a profiler looked meanwhile."""

    calls: dict[int, int]
    seconds: float
    looked_at: bool


class _Alone(NamedTuple):
    """The seconds of one call alone, of how many that is the mean, and whether a profiler looked meanwhile."""

    seconds: float
    calls: int
    looked_at: bool


NOTHING: Mapping[int, float] = MappingProxyType({})
T = TypeVar("T", _Stretch, _Alone)


@dataclass
class Pace:
    """What finishes in their order tell. Times while a profiler looks count where there are no others."""

    last: Finish
    stretches: deque[_Stretch] = field(default_factory=lambda: deque(maxlen=MOST))
    alone: dict[int, deque[_Alone]] = field(default_factory=dict)
    looks: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=MOST))

    def look_begins(self, now: float) -> None:
        """A profiler window opens: the calls in it take longer than others."""
        self.looks.append((now, math.inf))

    def look_ends(self, now: float) -> None:
        """The window is closed, and has been read."""
        self.looks[-1] = self.looks[-1][0], now

    def finished(self, now: Finish) -> None:
        """Take in a finish."""
        before, self.last = self.last, now
        calls = {
            program: count - before.counts.get(program, 0)
            for program, count in now.counts.items()
            if count > before.counts.get(program, 0)
        }
        single = sum(calls.values()) == 1
        since = max(before.time, now.began) if single and now.began is not None else before.time
        if now.time <= since:
            return
        self.stretches.append(_Stretch(calls, now.time - since, self._looked_at(since, now.time)))
        if now.began is not None and (single or before.time <= now.began):
            self._add(now.program, max(before.time, now.began), now.time)
        elif single and now.waited:
            self._add(now.program, max(before.time, now.returned), now.time)
        elif len(calls) == 1 and now.returned <= before.time:  # all of them were made before the first could begin
            self._add(now.program, before.time, now.time, calls[now.program])

    def _add(self, program: int, since: float, until: float, calls: int = 1) -> None:
        if until > since:
            known = self.alone.setdefault(program, deque(maxlen=MOST))
            known.append(_Alone((until - since) / calls, calls, self._looked_at(since, until)))

    def _looked_at(self, since: float, until: float) -> bool:
        """Whether a profiler looked for more than a small part of that time."""
        looked = sum(max(0.0, min(ended, until) - max(began, since)) for began, ended in self.looks)
        return looked > TOUCHED * (until - since)


class Times:
    """What is known of the times of programs now.

    ``profiled`` are the profiler's of whole calls, by program, and ``calling`` those in which a call returned.
    """

    def __init__(self, pace: Pace, profiled: Mapping[int, float], calling: Mapping[int, float] = NOTHING) -> None:
        self._pace = pace
        self._profiled = profiled
        self._calling = calling
        self._known: dict[int, StepTime | None] = {}

    def step(self, program: int) -> StepTime:
        """The time of one call of a program."""
        pace, alone = self.pace(program), self._alone(program)
        if alone is None:
            return StepTime(pace, "host", at_most=True) if pace else StepTime(0.0, "")
        # A call that goes on after it has returned is alone from then on; making the next one takes time as well.
        making = self._calling.get(program, 0.0) if self._pace.alone.get(program) else 0.0
        if pace and pace <= NEAR * alone.seconds + making + BETWEEN:
            return StepTime(pace, "host")
        return alone

    def pace(self, program: int) -> float:
        """Seconds from call to call, the median over all calls of a program; 0.0 when none has finished.

        Where several programs share a stretch, each has that part of it which its calls alone would take.
        """
        mine = [each for each in self._pace.stretches if program in each.calls]
        found = []
        for calls, seconds, _ in _undisturbed(mine):
            part = self._weight(program) / sum(self._weight(each) * count for each, count in calls.items())
            found.append((seconds * part, calls[program]))
        return weighted_median(found)

    def _weight(self, program: int) -> float:
        alone = self._alone(program)
        return alone.seconds if alone is not None else SMALL

    def _alone(self, program: int) -> StepTime | None:
        if program not in self._known:
            self._known[program] = self._call_alone(program)
        return self._known[program]

    def _call_alone(self, program: int) -> StepTime | None:
        """A call without what is done between calls: by the host, unless the profiler saw it run for much shorter.

        The profiler makes a call slower, if anything; but the host hears late of a finish while Python is busy. And
        where a call had almost returned when it was done, the host has seen the rest of it only.
        """
        alone = _undisturbed(self._pace.alone.get(program, ()))
        host = weighted_median([(each.seconds, each.calls) for each in alone])
        profile = self._profiled.get(program, 0.0)
        if profile and not profile / 2 < host < LATE * profile + HEARING:
            return StepTime(profile, "profile")
        return StepTime(host, "host") if host else None


def _undisturbed(found: Iterable[T]) -> list[T]:
    """Those during which no profiler looked; all, where there are no such."""
    known = list(found)
    return [each for each in known if not each.looked_at] or known


def weighted_median(found: list[tuple[float, int]]) -> float:
    """The median of values that count several times each; 0.0 of none.

    >>> weighted_median([(5.0, 1), (1.0, 3), (9.0, 1)])
    1.0
    """
    half, passed = sum(weight for _, weight in found) / 2, 0
    for value, weight in sorted(found):
        passed += weight
        if passed >= half:
            return value
    return 0.0
