"""Times of calls that jaxlib repeats in C++, from series of calls whose ends are noted.

jaxlib reports the end of a call, never its begin. In a series, the time from the thread's last event to the end of a
call is noted, by the wall clock and by the thread's processor clock, which stops while the call waits for the device;
the shorter one counts. It is the call, and the Python code before it: next to none in a loop of calls.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple

from ..running.engines import CallHook, ExecutionEngine
from ..user_location import CodeLocation, find_user_frame
from .call_probe import CallProbe
from .span_ledger import SpanLedger

_clock, _processor_clock = time.perf_counter, time.thread_time
#: Calls in a series, and in the first one; of long calls fewer, as noting one takes as long after any.
SERIES_CALLS, FIRST_SERIES_CALLS, MIN_SERIES_CALLS, MIN_FIRST_SERIES_CALLS = 16, 64, 5, 16
MAX_SERIES_SECONDS = 0.02
#: Seconds from the begin of a series to that of the next one at least.
MIN_SERIES_PERIOD_SECONDS = 0.05
#: A call that took more than this multiple of its function's median had Python code before it.
MAX_MEDIAN_FACTOR = 3.0
#: Probes find the begin of a call where there is more time than this before its end, for so many calls of a function.
MIN_PROBE_SECONDS, MAX_PROBES = 100e-6, 8
#: Maximum number of noted calls.
MAX_SAMPLES = 20_000


class TimedCalls:
    """Timed calls of one function: ``intervals``, and ``probed``, the seconds of calls whose begin was found.

    While series were going on, there were ``thread_calls`` calls on the thread and ``other_calls`` on others.
    """

    def __init__(self, is_operation: bool = False) -> None:
        self.is_operation = is_operation
        self.intervals: list[float] = []
        self.probed: list[float] = []
        self.probe_count = 0
        self.thread_calls = self.other_calls = 0

    def calls_on_thread(self, calls: int) -> int:
        """Return how many of so many calls were on the thread."""
        counted = self.thread_calls + self.other_calls
        return round(calls * self.thread_calls / counted) if counted else calls

    def operation_samples(self) -> Sequence[float]:
        """Return the intervals, or the probed calls where other code runs before most calls."""
        is_probed = self.probed and _lower_quartile(self.intervals) > MIN_PROBE_SECONDS
        return self.probed if is_probed else self.intervals


class CallIntervals:
    """Timed calls on the thread of ``ledger``: ``timed`` has them by the functions' keys.

    ``classify(function)`` returns a function's key, and whether it is one of the library's operations rather than the
    user's. ``call_sites`` are the instructions that called functions, ``operation_lines`` count the user's
    instructions that led to operations. ``on_first`` is called at the first call of each series.
    """

    def __init__(
        self, ledger: SpanLedger, classify: Callable[[Any], tuple[Any, bool]], on_first: Callable[[], None]
    ) -> None:
        self.timed: dict[Any, TimedCalls] = {}
        self.call_sites: set[CodeLocation] = set()
        self.operation_lines: Counter[CodeLocation] = Counter()
        self._ledger = ledger
        self._classify = classify
        self._on_first = on_first
        self._probe = CallProbe()
        self._series: _Series | None = None
        self._sample_count = 0
        #: The function that was called last with its calls, and the instruction that called it.
        self._latest: tuple[Any, TimedCalls] = None, TimedCalls()
        self._latest_elsewhere: tuple[Any, TimedCalls] = None, TimedCalls()
        self._latest_site: tuple[CodeType | None, int] = None, -1
        self._is_closed = False
        self._lock = threading.Lock()

    def begin_series(self, engine: ExecutionEngine, calls: int = SERIES_CALLS) -> None:
        """Note the next ``calls`` calls of an engine's functions, unless a series is going on."""
        with self._lock:
            is_free = not self._is_closed and (self._series is None or self._series.has_ended)
            is_due = self._series is None or _clock() >= self._series.began + MIN_SERIES_PERIOD_SECONDS
            if is_free and is_due and self._sample_count < MAX_SAMPLES:
                least = MIN_FIRST_SERIES_CALLS if self._series is None else MIN_SERIES_CALLS
                actions = _SeriesActions(self._begin, self._note, self._count_elsewhere)
                self._series = _Series(engine, self._ledger, calls, least, actions)

    def close(self) -> None:
        """End a series that is going on, and restore the engine's hook; no series begins any more."""
        with self._lock:
            self._is_closed = True
            if self._series is not None:
                self._series.end()
        self._probe.end()
        self._latest = self._latest_elsewhere = None, TimedCalls()

    def _begin(self, function: Any) -> None:
        """Count the first call of a series: how long it took is not known."""
        self._find_timed(function).thread_calls += 1
        self._on_first()

    def _count_elsewhere(self, function: Any) -> None:
        """Count a call on another thread."""
        latest, timed = self._latest_elsewhere
        if function is not latest:
            timed = self._look_up_timed(function)
            self._latest_elsewhere = function, timed
        timed.other_calls += 1

    def _note(self, function: Any, seconds: float, ended: float, is_last: bool) -> None:
        """Add a call that ended at ``ended``, not more than ``seconds`` after it began.

        It was made by the frame that called the hook. After the last call of a series there is no probe.
        """
        frame = sys._getframe(2)
        timed = self._latest[1] if function is self._latest[0] else self._find_timed(function)
        self._sample_count += 1
        timed.thread_calls += 1
        timed.intervals.append(seconds)
        site = frame.f_code, frame.f_lasti
        if site[1] != self._latest_site[1] or site[0] is not self._latest_site[0]:  # hashing code takes long
            self._latest_site = site
            self.call_sites.add(site)
        if timed.is_operation:
            frame = find_user_frame(frame) or frame
            self.operation_lines[frame.f_code, frame.f_lasti] += 1
        if self._probe.frame is not None:
            if self._probe.frame is frame and self._probe.began:
                timed.probed.append(ended - self._probe.began)
            self._probe.end()
        if seconds > MIN_PROBE_SECONDS and timed.probe_count < MAX_PROBES and not is_last:
            timed.probe_count += 1
            self._probe.begin(frame)

    def _find_timed(self, function: Any) -> TimedCalls:
        """Return the timed calls of a function, and remember it as the latest one."""
        timed = self._look_up_timed(function)
        self._latest = function, timed
        return timed

    def _look_up_timed(self, function: Any) -> TimedCalls:
        key, is_operation = self._classify(function)
        return self.timed.get(key) or self.timed.setdefault(key, TimedCalls(is_operation))


class _SeriesActions(NamedTuple):
    """Functions that a series calls: at its first call, at each one after it, and at calls on other threads."""

    begin: Callable[[Any], None]
    note: Callable[[Any, float, float, bool], None]
    count_elsewhere: Callable[[Any], None]


class _Series:
    """Hook that notes a number of calls, and then restores the engine's previous hook.

    ``least`` calls end it if they take longer than :data:`MAX_SERIES_SECONDS`. ``began`` is when its first call ended.
    """

    def __init__(
        self,
        engine: ExecutionEngine,
        ledger: SpanLedger,
        calls: int,
        least: int,
        actions: _SeriesActions,
    ) -> None:
        self.has_ended = False
        self.began = 0.0
        self._engine = engine
        self._previous = engine.hook()
        self._hook = self._make_hook(ledger, self._previous, calls, calls - least, actions)
        engine.set_hook(self._hook)

    def end(self) -> None:
        """Restore the previous hook; a hook that was set meanwhile stays."""
        if not self.has_ended:
            self.has_ended = True
            if self._engine.hook() is self._hook:
                self._engine.set_hook(self._previous)

    def _make_hook(
        self,
        ledger: SpanLedger,
        previous: CallHook | None,
        calls: int,
        spare: int,
        actions: _SeriesActions,
    ) -> CallHook:
        remaining, latest, processor = calls, 0.0, 0.0
        begin, note, count_elsewhere = actions

        def hook(function: Any, args: Any, kwargs: Any, out: Any) -> None:
            nonlocal remaining, latest, processor
            if not self.has_ended and threading.get_ident() == ledger.thread and not ledger.is_open:
                now, processor_now = _clock(), _processor_clock()
                remaining -= 1
                if remaining <= spare and now - self.began > MAX_SERIES_SECONDS:
                    remaining = 0
                if latest:  # what was before the first call of a series is not known
                    seconds = min(now - max(latest, ledger.latest), processor_now - processor)
                    note(function, seconds, now, remaining <= 0)
                else:
                    self.began = now
                    begin(function)
                if remaining <= 0:
                    self.end()
                if previous is not None:
                    previous(function, args, kwargs, out)
                processor, latest = _processor_clock(), _clock()
            else:
                if not self.has_ended and threading.get_ident() != ledger.thread:
                    count_elsewhere(function)
                if previous is not None:
                    previous(function, args, kwargs, out)

        return hook


def estimate_call_seconds(intervals: Sequence[float], probed: Sequence[float] = ()) -> float:
    """Return the seconds of a call of one function, from both kinds of timed calls; 0.0 without any.

    It is the lower quartile: Python code before a call adds to an interval, and other processes to both. A call that
    waited for the device is longer as well.

    >>> estimate_call_seconds([1.0, 1.0, 1.0, 50.0]), estimate_call_seconds([50.0, 50.0], [2.0])
    (1.0, 2.0)
    """
    return min((_lower_quartile(samples) for samples in (intervals, probed) if samples), default=0.0)


def _lower_quartile(samples: Sequence[float]) -> float:
    return statistics.quantiles(samples, n=4, method="inclusive")[0] if len(samples) > 1 else samples[0]


def estimate_mean_seconds(samples_by_function: Sequence[Sequence[float]]) -> float:
    """Return the mean seconds of calls of several functions, whose times differ; 0.0 without samples.

    A call that took several times the median of its function counts as that median.

    >>> estimate_mean_seconds([[1.0, 1.0, 100.0], [3.0]])
    1.5
    """
    total, count = 0.0, 0
    for samples in samples_by_function:
        median = statistics.median_low(samples)
        total += sum(value if value <= MAX_MEDIAN_FACTOR * median else median for value in samples)
        count += len(samples)
    return total / count if count else 0.0
