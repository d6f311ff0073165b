"""Step times by the host's clock, from the completion times of some calls and the number of calls between.

Calls are asynchronous, so their dispatch does not show when they are done. Time is therefore taken when
results are ready. The time between two completions, divided by the number of calls, is the pace from call to
call. If calls follow each other directly, that is the time of a call; otherwise it includes other work. The
two cases are distinguished by the time of an isolated call, one whose predecessor's completion was recorded
too, or by the profiler's time.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeVar

#: Number of completions and windows that are stored.
MOST = 256
#: The pace is the time of a call if it exceeds an isolated call by at most this factor and these seconds (Python's
#: time between two calls).
NEAR, BETWEEN = 1.1, 2e-5
#: A completion was noticed late if it exceeds the profiler's time by this factor and these seconds (Python's thread
#: switch interval).
LATE, HEARING = 2.0, 5e-3
#: Maximum fraction of an interval with an active profiler for the interval to count as unprofiled.
TOUCHED = 0.1
#: Assumed time of a call without measurements: that of a small operation.
SMALL = 1e-5


class Finish(NamedTuple):
    """Completion of a call of ``program`` at ``time``, with ``counts`` calls of each program made until then.

    ``began`` is when the call was made if that is known; ``returned`` when it returned to its caller. ``waited``
    says whether its results were not ready then. Times are those of ``time.perf_counter``.
    """

    program: int
    counts: Mapping[int, int]
    returned: float
    time: float
    waited: bool
    began: float | None = None


class StepTime(NamedTuple):
    """Time of one call (0.0: unknown), its clock, and whether it may include time between calls."""

    seconds: float
    clock: Literal["host", "profile", ""]
    at_most: bool = False


class _Stretch(NamedTuple):
    """Calls between two completions, the seconds between, and whether a profiler was active meanwhile."""

    calls: dict[int, int]
    seconds: float
    looked_at: bool


class _Alone(NamedTuple):
    """Seconds of an isolated call, the number of calls in that mean, and whether a profiler was active meanwhile."""

    seconds: float
    calls: int
    looked_at: bool


NOTHING: Mapping[int, float] = MappingProxyType({})
T = TypeVar("T", _Stretch, _Alone)


@dataclass
class Pace:
    """History of completions. Times during a profiler window count only where there are no others."""

    last: Finish
    stretches: deque[_Stretch] = field(default_factory=lambda: deque(maxlen=MOST))
    alone: dict[int, deque[_Alone]] = field(default_factory=dict)
    looks: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=MOST))

    def look_begins(self, now: float) -> None:
        """Note that a profiler window opens: the calls in it take longer than others."""
        self.looks.append((now, math.inf))

    def look_ends(self, now: float) -> None:
        """Note that the window is closed and was read."""
        self.looks[-1] = self.looks[-1][0], now

    def finished(self, now: Finish) -> None:
        """Add a completion."""
        before, self.last = self.last, now
        calls = {
            program: count - before.counts.get(program, 0)
            for program, count in now.counts.items()
            if count > before.counts.get(program, 0)
        }
        is_single = sum(calls.values()) == 1
        since = max(before.time, now.began) if is_single and now.began is not None else before.time
        if now.time <= since:
            return
        self.stretches.append(_Stretch(calls, now.time - since, self._looked_at(since, now.time)))
        if now.began is not None and (is_single or before.time <= now.began):
            self._add(now.program, max(before.time, now.began), now.time)
        elif is_single and now.waited:
            self._add(now.program, max(before.time, now.returned), now.time)
        elif len(calls) == 1 and now.returned <= before.time:  # all were dispatched before the first began
            self._add(now.program, before.time, now.time, calls[now.program])

    def _add(self, program: int, since: float, until: float, calls: int = 1) -> None:
        if until > since:
            isolated_calls = self.alone.setdefault(program, deque(maxlen=MOST))
            isolated_calls.append(_Alone((until - since) / calls, calls, self._looked_at(since, until)))

    def _looked_at(self, since: float, until: float) -> bool:
        """Return whether a profiler was active for more than a small part of that time."""
        profiled_seconds = sum(max(0.0, min(stop, until) - max(start, since)) for start, stop in self.looks)
        return profiled_seconds > TOUCHED * (until - since)


class Times:
    """Current step times of programs.

    ``profiled`` are the profiler's times of complete calls, by program, and ``call_seconds`` those in which a
    call returned.
    """

    def __init__(self, pace: Pace, profiled: Mapping[int, float], call_seconds: Mapping[int, float] = NOTHING) -> None:
        self._pace = pace
        self._profiled = profiled
        self._calling = call_seconds
        self._known: dict[int, StepTime | None] = {}

    def step(self, program: int) -> StepTime:
        """Return the time of one call of a program."""
        pace, isolated = self.pace(program), self._alone(program)
        if isolated is None:
            return StepTime(pace, "host", at_most=True) if pace else StepTime(0.0, "")
        # A call that runs on after it returned is isolated from then on; dispatching the next one takes time, too.
        dispatch_seconds = self._calling.get(program, 0.0) if self._pace.alone.get(program) else 0.0
        if pace and pace <= NEAR * isolated.seconds + dispatch_seconds + BETWEEN:
            return StepTime(pace, "host")
        return isolated

    def pace(self, program: int) -> float:
        """Return the seconds from call to call, the median over all calls of a program; 0.0 without a completion.

        If several programs share an interval, it is divided by the times of their isolated calls.
        """
        intervals = [item for item in self._pace.stretches if program in item.calls]
        paces = []
        for calls, seconds, _ in _undisturbed(intervals):
            fraction = self._weight(program) / sum(self._weight(item) * count for item, count in calls.items())
            paces.append((seconds * fraction, calls[program]))
        return weighted_median(paces)

    def _weight(self, program: int) -> float:
        isolated = self._alone(program)
        return isolated.seconds if isolated is not None else SMALL

    def _alone(self, program: int) -> StepTime | None:
        if program not in self._known:
            self._known[program] = self._call_alone(program)
        return self._known[program]

    def _call_alone(self, program: int) -> StepTime | None:
        """Return the time of an isolated call by the host, unless the profiler's time is much shorter.

        The profiler makes a call slower, if anything, but the host notices a completion late while Python is busy.
        And if a call had almost returned when it completed, the host measured only its end.
        """
        isolated = _undisturbed(self._pace.alone.get(program, ()))
        host = weighted_median([(call.seconds, call.calls) for call in isolated])
        profile = self._profiled.get(program, 0.0)
        if profile and not profile / 2 < host < LATE * profile + HEARING:
            return StepTime(profile, "profile")
        return StepTime(host, "host") if host else None


def _undisturbed(samples: Iterable[T]) -> list[T]:
    """Return the samples without an active profiler; all, where there are none."""
    all_samples = list(samples)
    return [sample for sample in all_samples if not sample.looked_at] or all_samples


def weighted_median(samples: list[tuple[float, int]]) -> float:
    """Return the median of values that count several times each; 0.0 of none.

    >>> weighted_median([(5.0, 1), (1.0, 3), (9.0, 1)])
    1.0
    """
    half, total = sum(weight for _, weight in samples) / 2, 0
    for value, weight in sorted(samples):
        total += weight
        if total >= half:
            return value
    return 0.0
