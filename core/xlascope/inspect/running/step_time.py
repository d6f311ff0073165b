"""Times of calls by the host's clock, from the completion times of some calls and the number of calls between.

Calls are asynchronous, so their dispatch does not show when they are done. Time is therefore taken when
results are ready. The *period* of a program is the time between the completions of its successive calls
(:mod:`.periods`). If calls follow each other directly, that is the time of a call; otherwise it includes other work.
The two cases are distinguished by the time of an isolated call, one whose predecessor's completion was recorded
too, or by the profiler's time.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeVar

from ...records.events import TimeDistribution
from .periods import (
    MIN_CALLS,
    Anchor,
    CallLog,
    distribution_of_blocks,
    is_short,
    join_to_blocks,
    median_slope,
    weighted_quantile,
)

#: Number of completions and windows that are stored.
MAX_STORED_ENTRIES = 256
#: The pace is the time of a call if it exceeds an isolated call by at most this factor and these seconds (Python's
#: time between two calls).
SAME_STEP_FACTOR, CALL_OVERHEAD_SECONDS = 1.1, 2e-5
#: Minimum fraction of isolated calls that were queued for the program to count as one whose calls are.
MIN_QUEUED_FRACTION = 0.5
#: Queued calls that last longer than the profiler's time by this factor were noticed late.
MAX_QUEUED_FACTOR = 2.0
#: Of an interval that is divided among programs, a share must be at least this fraction of a short profiled call.
MIN_DIVIDED_FRACTION = 0.8
#: Without a profile, queued calls must fill at least this fraction of the time: between them a device has no pause.
MIN_BUSY_FRACTION = 0.5
#: Seconds that a profiler can add to a small program, beside that factor.
PROFILER_SECONDS = 4e-5
#: Calls of which only the end was timed have a time from so many seconds on: dispatch takes less.
MIN_ISOLATED_SECONDS = 2e-2
#: Minimum number of warm isolated calls for a median, if there are more calls than a list has.
MIN_ISOLATED_CALLS = 3
#: Unprofiled samples are preferred if they have ``MIN_CALLS`` calls or this fraction of all. For the period they must
#: have that fraction: otherwise it would not be that of most calls.
MIN_UNPROFILED_FRACTION = 0.5
#: Maximum fraction of an interval with an active profiler for the interval to count as unprofiled.
MAX_PROFILED_FRACTION = 0.1
#: Assumed time of a call without measurements: that of a small operation.
UNKNOWN_CALL_SECONDS = 1e-5


class Completion(NamedTuple):
    """Completion of a call of ``program`` at ``time``; ``counts`` are the calls of each program that completed by then.

    ``began`` is when the call was made (None if unknown), ``returned`` when it returned to its caller. ``waited``
    says whether its results were not ready then, ``late`` whether they were ready some time before ``time``. Times are
    those of ``time.perf_counter``. ``overhead`` are the seconds that the calling thread spent on noting earlier calls,
    and ``queued`` says whether an earlier call was not complete at ``returned``.
    """

    program: int
    counts: Mapping[int, int]
    returned: float
    time: float
    waited: bool
    began: float | None = None
    late: bool = False
    overhead: float = 0.0
    queued: bool = False


class StepTime(NamedTuple):
    """Time of one call (0.0: unknown), its clock, and whether it may include time between calls."""

    seconds: float
    clock: Literal["host", "profile", ""]
    at_most: bool = False


class _Interval(NamedTuple):
    """Calls between two completions, the seconds between, whether all calls were warm, and whether profiled."""

    calls: dict[int, int]
    seconds: float
    is_warm: bool
    is_profiled: bool


#: What was timed of an isolated call. ``queued``: the time since its predecessor was complete, which the devices spent
#: on it without a pause. ``whole``: from its begin on. ``end``: from its return on, as its begin is not known; most of
#: a short call may lie before.
IsolatedKind = Literal["queued", "whole", "end"]


class _IsolatedCall(NamedTuple):
    """Seconds of isolated calls (mean of ``number`` calls), whether they were warm, and whether profiled."""

    seconds: float
    number: int
    is_warm: bool
    is_profiled: bool
    kind: IsolatedKind


NO_TIMES: Mapping[int, float] = MappingProxyType({})
T = TypeVar("T", _Interval, _IsolatedCall)


@dataclass
class CompletionHistory:
    """History of completions: logs of each program's calls, intervals between completions, times of isolated calls.

    Only the last ``MAX_STORED_ENTRIES`` are stored, ``isolated`` by program. ``upper_bounds`` are the least seconds in
    which a call is known to have completed, for programs whose completions were noticed late. ``windows`` are begin
    and end of profiler windows: times during one count only where there are few others.
    """

    last: Completion
    logs: dict[int, CallLog] = field(default_factory=dict)
    intervals: deque[_Interval] = field(default_factory=lambda: deque(maxlen=MAX_STORED_ENTRIES))
    isolated: dict[int, deque[_IsolatedCall]] = field(default_factory=dict)
    upper_bounds: dict[int, float] = field(default_factory=dict)
    windows: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=MAX_STORED_ENTRIES))

    def begin_window(self, now: float) -> None:
        """Note that a profiler window opens at time ``now``: the calls in it take longer than others."""
        self.windows.append((now, math.inf))

    def end_window(self, now: float) -> None:
        """Note that the window that was opened last is closed and read at time ``now``."""
        self.windows[-1] = self.windows[-1][0], now

    def restart(self, program: int, now: float) -> None:
        """Forget the calls of a program that was compiled (again) at time ``now``: its next ones are warm-up."""
        if self._log(program).restart(now):
            return  # the record came late: calls of the new version were seen
        self.isolated.pop(program, None)
        remaining = [interval for interval in self.intervals if program not in interval.calls]
        self.intervals = deque(remaining, maxlen=MAX_STORED_ENTRIES)

    def is_warm(self, program: int) -> bool:
        """Return whether a warm call of a program is known to be complete."""
        return program in self.logs and self.logs[program].is_warm

    def count_calls(self, program: int) -> int:
        """Return the number of a program's calls that are known to be complete or to have returned."""
        returned = self.logs[program].all_returns if program in self.logs else ()
        return max(self.last.counts.get(program, 0), returned[-1].calls if returned else 0)

    def add_donated(self, program: int, calls: int, returned: float) -> None:
        """Add a call whose results were donated before anybody could wait for them; it is number ``calls``."""
        self._log(program).add_return(calls, returned)

    def add_completion(self, now: Completion) -> None:
        """Add a completion, and the interval since the last one."""
        self._log(now.program).add_return(now.counts.get(now.program, 0), now.returned - now.overhead)
        if now.late:  # its time is an upper bound: the next one that is noticed in time counts for it
            self._add_upper_bound(now)
            self._log(now.program).last_late = _make_anchor(now)
            return
        before, self.last = self.last, now
        calls = _count_new_calls(before, now)
        is_warm = all(self.is_warm(program) for program in calls)
        anchor = _make_anchor(now)
        self._log(now.program).add_completion(anchor, now.returned)
        is_single = sum(calls.values()) == 1
        since = max(before.time, now.began) if is_single and now.began is not None else before.time
        if now.time <= since:
            return
        if is_single and (now.began is not None or before.counts):
            self._log(now.program).add_single(now.time - since)
        is_profiled = self._is_profiled(since, now.time)
        self.intervals.append(_Interval(calls, now.time - since, is_warm, is_profiled))
        if (isolated := _isolated_interval(before, now, calls)) is not None:
            start, number, kind = isolated
            seconds = (now.time - start) / number
            is_profiled = self._is_profiled(start, now.time)
            isolated_calls = self.isolated.setdefault(now.program, deque(maxlen=MAX_STORED_ENTRIES))
            isolated_calls.append(_IsolatedCall(seconds, number, is_warm, is_profiled, kind))

    def _add_upper_bound(self, now: Completion) -> None:
        """Add a completion that was noticed late: a call took at most the time since the last one."""
        since = max(self.last.time, now.began or 0.0)
        if now.time > since:
            bound = now.time - since
            self.upper_bounds[now.program] = min(self.upper_bounds.get(now.program, bound), bound)

    def period(self, program: int) -> TimeDistribution | None:
        """Return the period of a program's warm calls, outside of profiler windows where there are enough of them."""
        anchors = self.logs[program].steady_anchors() if program in self.logs else []
        blocks = join_to_blocks(anchors)
        if blocks and is_short(anchors):
            return distribution_of_blocks(blocks, median_slope(anchors))
        unprofiled = [block for block in blocks if not self._is_profiled(block.start, block.end)]
        calls, all_calls = (sum(block.calls for block in some) for some in (unprofiled, blocks))
        enough = calls >= max(MIN_CALLS, MIN_UNPROFILED_FRACTION * all_calls)
        return distribution_of_blocks(unprofiled if enough else blocks)

    def _log(self, program: int) -> CallLog:
        log = self.logs.get(program)
        if log is None:
            log = self.logs[program] = CallLog()
        return log

    def _is_profiled(self, since: float, until: float) -> bool:
        """Return whether a profiler was active for more than a small part of the time between both moments."""
        profiled_seconds = sum(max(0.0, min(stop, until) - max(start, since)) for start, stop in self.windows)
        return profiled_seconds > MAX_PROFILED_FRACTION * (until - since)


def _make_anchor(now: Completion) -> Anchor:
    """Return when a call was complete, with what noting others took until then."""
    return Anchor(now.counts.get(now.program, 0), now.time, not now.queued, now.overhead, now.waited)


def _count_new_calls(before: Completion, now: Completion) -> dict[int, int]:
    """Return the number of each program's calls that completed between two completions, where there are any."""
    return {
        program: count - before.counts.get(program, 0)
        for program, count in now.counts.items()
        if count > before.counts.get(program, 0)
    }


def _isolated_interval(
    before: Completion, now: Completion, calls: Mapping[int, int]
) -> tuple[float, int, IsolatedKind] | None:
    """Return when isolated calls began that are complete ``now``, their number and their kind.

    ``before`` is the previous completion, ``calls`` the calls since. None if the calls are not isolated.
    """
    is_single = sum(calls.values()) == 1
    is_queued = now.queued and now.returned <= before.time
    start, number = before.time, 1
    kind: IsolatedKind = "queued" if is_queued else "end"
    if now.began is not None and (is_single or before.time <= now.began):
        start, kind = max(before.time, now.began), "queued" if is_queued else "whole"
    elif is_single and now.waited:
        start = max(before.time, now.returned)
    elif len(calls) == 1 and is_queued:
        number = calls[now.program]
    else:
        return None
    return (start, number, kind) if start < now.time else None


class StepTimes:
    """Current step times of programs, computed from a history of completions.

    ``profiled`` are the profiler's times of complete calls by program, ``short`` the 10th percentiles of them, and
    ``call_seconds`` the host's seconds from a call to its return: a small program runs within that time. They are no
    part of a call that is queued, as its caller waits for room in the queue then.
    """

    def __init__(
        self,
        pace: CompletionHistory,
        profiled: Mapping[int, float],
        call_seconds: Mapping[int, float] = NO_TIMES,
        short: Mapping[int, float] = NO_TIMES,
    ) -> None:
        self._pace = pace
        self._profiled = profiled
        self._call_seconds = call_seconds
        self._short = short
        self._isolated_steps: dict[int, StepTime | None] = {}
        self._periods: dict[int, TimeDistribution | None] = {}
        self._medians: dict[tuple[int, IsolatedKind], float] = {}

    def step(self, program: int) -> StepTime:
        """Return the time of one call of a program."""
        share, isolated = self.share(program), self._isolated_step(program)
        if isolated is None:
            bound = self.pace(program) or self._pace.upper_bounds.get(program, 0.0)
            return StepTime(bound, "host", at_most=True) if bound else StepTime(0.0, "")
        # Notices that come late bring completions of two programs together: a share is no time of a call then.
        if share <= self._least_share(program):
            return isolated
        queued = self._queued_seconds(program)
        # A call that runs on after it returned is isolated from then on; dispatching the next one takes time, too.
        dispatch_seconds = self._dispatch_seconds(program)
        runs_on = bool(self._pace.isolated.get(program)) and isolated.seconds > dispatch_seconds
        overhead = CALL_OVERHEAD_SECONDS
        if self._is_divided(program):
            overhead = min(overhead, isolated.seconds / 2)
        if queued and share <= SAME_STEP_FACTOR * queued + overhead:
            return StepTime(share, "host")
        if share and share <= SAME_STEP_FACTOR * isolated.seconds + overhead + (dispatch_seconds if runs_on else 0.0):
            return StepTime(share, "host")
        return isolated

    def _least_share(self, program: int) -> float:
        """Return the seconds that a program's share has to exceed to be the time of a call, by its profile."""
        least = (self._profiled.get(program, 0.0) - PROFILER_SECONDS) / MAX_QUEUED_FACTOR
        return max(least, MIN_DIVIDED_FRACTION * self._short.get(program, 0.0)) if self._is_divided(program) else least

    def _is_divided(self, program: int) -> bool:
        """Return whether a program shares intervals with others, so that its share is an estimate."""
        return any(len(item.calls) > 1 for item in self._pace.intervals if program in item.calls)

    def period(self, program: int) -> TimeDistribution | None:
        """Return the period of a program's warm calls; None of too few."""
        if program not in self._periods:
            self._periods[program] = self._pace.period(program)
        return self._periods[program]

    def pace(self, program: int) -> float:
        """Return the median seconds from call to call; 0.0 without a completion."""
        period = self.period(program)
        return period.median if period is not None else self.share(program)

    def share(self, program: int) -> float:
        """Return a program's share of the seconds from call to call, the median over its calls; 0.0 if unknown.

        If several programs share an interval, it is divided by the times of their isolated calls.
        """
        intervals = [item for item in self._pace.intervals if program in item.calls]
        period = self.period(program)
        if period is not None and all(len(item.calls) == 1 for item in intervals):
            return period.median
        steady = _prefer_steady(intervals, [item.calls[program] for item in intervals])
        return weighted_quantile(
            [(item.seconds * self._fraction(program, item.calls), item.calls[program]) for item in steady], 0.5
        )

    def _fraction(self, program: int, calls: Mapping[int, int]) -> float:
        """Return which part of an interval with ``calls``, by program, is one call of a program."""
        if len(calls) == 1:
            return 1.0 / calls[program]
        return self._weight(program) / sum(self._weight(item) * count for item, count in calls.items())

    def _weight(self, program: int) -> float:
        isolated = self._isolated_step(program)
        return isolated.seconds if isolated is not None else UNKNOWN_CALL_SECONDS

    def _isolated_step(self, program: int) -> StepTime | None:
        if program not in self._isolated_steps:
            self._isolated_steps[program] = self._estimate_isolated_step(program)
        return self._isolated_steps[program]

    def _estimate_isolated_step(self, program: int) -> StepTime | None:
        """Return the time of an isolated call by the host, unless the profiler's time is better.

        The profiler makes a call slower, if anything. The host notices a completion late while Python is busy, and
        measures only the end of a call that had almost returned: it is trusted if the devices ran calls without a
        pause and, without a profile, if a call lasts long enough. Two completions that are noticed together make it
        shorter than nine of ten profiled calls: then it is not trusted either.
        """
        queued = self._queued_seconds(program)
        profile = self._profiled.get(program, 0.0)
        profile = profile and max(profile, self._dispatch_seconds(program))
        if profile:
            least = max(profile / 2, self._short.get(program, 0.0) - PROFILER_SECONDS)
            return StepTime(queued, "host") if least < queued <= profile else StepTime(profile, "profile")
        if host := queued or self._isolated_seconds(program, "whole"):
            return StepTime(host, "host")
        end = self._isolated_seconds(program, "end")
        period = self.period(program)
        is_all = period is not None and period.median <= SAME_STEP_FACTOR * end + CALL_OVERHEAD_SECONDS
        return StepTime(end, "host") if end and (end >= MIN_ISOLATED_SECONDS or is_all) else None

    def _dispatch_seconds(self, program: int) -> float:
        """Return the seconds from a call to its return; 0.0 if unknown, or if calls are queued."""
        return 0.0 if self._queued_seconds(program) else self._call_seconds.get(program, 0.0)

    def _queued_seconds(self, program: int) -> float:
        """Return the median seconds of queued calls; 0.0 of none, or if the profiler or the period contradicts.

        While Python holds the interpreter, completions are noticed late, and calls seem to have been queued behind
        others that had long ended.
        """
        queued, profile = self._isolated_seconds(program, "queued"), self._profiled.get(program, 0.0)
        if not queued or profile:
            return 0.0 if queued > MAX_QUEUED_FACTOR * profile else queued
        period = self.period(program)
        is_idle = period is not None and self._busy_seconds(period.median) < MIN_BUSY_FRACTION * period.median
        return 0.0 if is_idle else queued

    def _busy_seconds(self, seconds: float) -> float:
        """Return for how many seconds of some the devices are busy, by the queued calls of all programs.

        They are busy all the time as far as that is known of no call.
        """
        busy_seconds = 0.0
        for program in {program for interval in self._pace.intervals for program in interval.calls}:
            period = self.period(program)
            if period is not None:
                call = self._isolated_seconds(program, "queued") or self._profiled.get(program, period.median)
                busy_seconds += call * seconds / period.median
            elif self._pace.count_calls(program) > MIN_CALLS:
                return seconds
        return busy_seconds

    def _isolated_seconds(self, program: int, kind: IsolatedKind) -> float:
        """Return the median seconds of a program's isolated calls of one kind; 0.0 of none."""
        if (program, kind) not in self._medians:
            self._medians[program, kind] = self._compute_isolated_seconds(program, kind)
        return self._medians[program, kind]

    def _compute_isolated_seconds(self, program: int, kind: IsolatedKind) -> float:
        """Return the median seconds of a program's isolated calls of one kind; 0.0 of none.

        Queued calls that are the exception do not count, nor do calls before warm-up where the program was called
        more often.
        """
        stored = self._pace.isolated.get(program, ())
        isolated = [call for call in stored if call.kind == kind]
        if kind == "queued" and len(isolated) < MIN_QUEUED_FRACTION * len(stored):
            return 0.0
        warm = [call for call in isolated if call.is_warm]
        if self._pace.count_calls(program) > MIN_CALLS:
            isolated = warm if len(warm) >= MIN_ISOLATED_CALLS else []
        steady = _prefer_steady(isolated, [call.number for call in isolated])
        return weighted_quantile([(call.seconds, call.number) for call in steady], 0.5)


def _prefer_steady(samples: Sequence[T], counts: Sequence[int]) -> list[T]:
    """Return the samples of warm calls without an active profiler, if there are enough; else of warm calls; else all.

    ``counts`` are the numbers of calls in the samples.
    """
    warm = [(sample, count) for sample, count in zip(samples, counts, strict=True) if sample.is_warm]
    unprofiled = [(sample, count) for sample, count in warm if not sample.is_profiled]
    if warm:
        calls = sum(count for _, count in unprofiled)
        enough = calls >= min(MIN_CALLS, MIN_UNPROFILED_FRACTION * sum(count for _, count in warm))
        return [sample for sample, _ in (unprofiled if calls and enough else warm)]
    return [sample for sample in samples if not sample.is_profiled] or list(samples)
