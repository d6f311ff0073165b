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
MAX_STORED_ENTRIES = 256
#: The pace is the time of a call if it exceeds an isolated call by at most this factor and these seconds (Python's
#: time between two calls).
SAME_STEP_FACTOR, CALL_OVERHEAD_SECONDS = 1.1, 2e-5
#: A completion was noticed late if it exceeds the profiler's time by this factor and these seconds (Python's thread
#: switch interval).
LATE_FACTOR, LATE_SECONDS = 2.0, 5e-3
#: Maximum fraction of an interval with an active profiler for the interval to count as unprofiled.
MAX_PROFILED_FRACTION = 0.1
#: Assumed time of a call without measurements: that of a small operation.
UNKNOWN_CALL_SECONDS = 1e-5


class Completion(NamedTuple):
    """Completion of a call of ``program`` at ``time``; ``counts`` are the calls of each program that completed by then.

    ``began`` is when the call was made (None if unknown), ``returned`` when it returned to its caller. ``waited``
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


class _Interval(NamedTuple):
    """Calls between two completions, the seconds between, and whether a profiler was active meanwhile."""

    calls: dict[int, int]
    seconds: float
    is_profiled: bool


class _IsolatedCall(NamedTuple):
    """Seconds of an isolated call, the number of calls in that mean, and whether a profiler was active meanwhile."""

    seconds: float
    calls: int
    is_profiled: bool


NO_TIMES: Mapping[int, float] = MappingProxyType({})
T = TypeVar("T", _Interval, _IsolatedCall)


@dataclass
class CompletionHistory:
    """History of completions, as intervals between them and as times of isolated calls.

    Only the last ``MAX_STORED_ENTRIES`` are stored, ``isolated`` by program. ``windows`` are begin and end of
    profiler windows: times during one count only where there are no others.
    """

    last: Completion
    intervals: deque[_Interval] = field(default_factory=lambda: deque(maxlen=MAX_STORED_ENTRIES))
    isolated: dict[int, deque[_IsolatedCall]] = field(default_factory=dict)
    windows: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=MAX_STORED_ENTRIES))

    def begin_window(self, now: float) -> None:
        """Note that a profiler window opens at time ``now``: the calls in it take longer than others."""
        self.windows.append((now, math.inf))

    def end_window(self, now: float) -> None:
        """Note that the window that was opened last is closed and read at time ``now``."""
        self.windows[-1] = self.windows[-1][0], now

    def add_completion(self, now: Completion) -> None:
        """Add a completion, and the interval since the last one."""
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
        self.intervals.append(_Interval(calls, now.time - since, self._is_profiled(since, now.time)))
        if now.began is not None and (is_single or before.time <= now.began):
            self._add_isolated(now.program, max(before.time, now.began), now.time)
        elif is_single and now.waited:
            self._add_isolated(now.program, max(before.time, now.returned), now.time)
        elif len(calls) == 1 and now.returned <= before.time:  # all were dispatched before the first began
            self._add_isolated(now.program, before.time, now.time, calls[now.program])

    def _add_isolated(self, program: int, since: float, until: float, calls: int = 1) -> None:
        if until > since:
            isolated_calls = self.isolated.setdefault(program, deque(maxlen=MAX_STORED_ENTRIES))
            isolated_calls.append(_IsolatedCall((until - since) / calls, calls, self._is_profiled(since, until)))

    def _is_profiled(self, since: float, until: float) -> bool:
        """Return whether a profiler was active for more than a small part of the time between both moments."""
        profiled_seconds = sum(max(0.0, min(stop, until) - max(start, since)) for start, stop in self.windows)
        return profiled_seconds > MAX_PROFILED_FRACTION * (until - since)


class StepTimes:
    """Current step times of programs, computed from a history of completions.

    ``profiled`` are the profiler's times of complete calls by program, ``call_seconds`` the host's seconds from a
    call to its return.
    """

    def __init__(
        self, pace: CompletionHistory, profiled: Mapping[int, float], call_seconds: Mapping[int, float] = NO_TIMES
    ) -> None:
        self._pace = pace
        self._profiled = profiled
        self._call_seconds = call_seconds
        self._isolated_steps: dict[int, StepTime | None] = {}

    def step(self, program: int) -> StepTime:
        """Return the time of one call of a program."""
        pace, isolated = self.pace(program), self._isolated_step(program)
        if isolated is None:
            return StepTime(pace, "host", at_most=True) if pace else StepTime(0.0, "")
        # A call that runs on after it returned is isolated from then on; dispatching the next one takes time, too.
        dispatch_seconds = self._call_seconds.get(program, 0.0) if self._pace.isolated.get(program) else 0.0
        if pace and pace <= SAME_STEP_FACTOR * isolated.seconds + dispatch_seconds + CALL_OVERHEAD_SECONDS:
            return StepTime(pace, "host")
        return isolated

    def pace(self, program: int) -> float:
        """Return the seconds from call to call, the median over all calls of a program; 0.0 without a completion.

        If several programs share an interval, it is divided by the times of their isolated calls.
        """
        intervals = [item for item in self._pace.intervals if program in item.calls]
        paces = []
        for calls, seconds, _ in _prefer_unprofiled(intervals):
            fraction = self._weight(program) / sum(self._weight(item) * count for item, count in calls.items())
            paces.append((seconds * fraction, calls[program]))
        return weighted_median(paces)

    def _weight(self, program: int) -> float:
        isolated = self._isolated_step(program)
        return isolated.seconds if isolated is not None else UNKNOWN_CALL_SECONDS

    def _isolated_step(self, program: int) -> StepTime | None:
        if program not in self._isolated_steps:
            self._isolated_steps[program] = self._estimate_isolated_step(program)
        return self._isolated_steps[program]

    def _estimate_isolated_step(self, program: int) -> StepTime | None:
        """Return the time of an isolated call by the host, unless the profiler's time is much shorter.

        The profiler makes a call slower, if anything, but the host notices a completion late while Python is busy.
        And if a call had almost returned when it completed, the host measured only its end.
        """
        isolated = _prefer_unprofiled(self._pace.isolated.get(program, ()))
        host = weighted_median([(call.seconds, call.calls) for call in isolated])
        profile = self._profiled.get(program, 0.0)
        if profile and not profile / 2 < host < LATE_FACTOR * profile + LATE_SECONDS:
            return StepTime(profile, "profile")
        return StepTime(host, "host") if host else None


def _prefer_unprofiled(samples: Iterable[T]) -> list[T]:
    """Return the samples taken without an active profiler; all of them if there are none."""
    all_samples = list(samples)
    return [sample for sample in all_samples if not sample.is_profiled] or all_samples


def weighted_median(samples: list[tuple[float, int]]) -> float:
    """Return the median of (value, weight) pairs, where a value counts ``weight`` times; 0.0 of none.

    >>> weighted_median([(5.0, 1), (1.0, 3), (9.0, 1)])
    1.0
    """
    half, total = sum(weight for _, weight in samples) / 2, 0
    for value, weight in sorted(samples):
        total += weight
        if total >= half:
            return value
    return 0.0
