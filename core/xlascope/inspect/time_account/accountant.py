"""Accountant of a thread's time between two moments: spans, calls, looks and clocks, added up to a ``TimeAccount``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from ... import records
from ...records.stage_spans import span_listeners
from ...runtime.array_spans import watch_arrays
from ..running.engines import ExecutionEngine, subscribe
from ..running.profile_sampler import CallTotals
from .account_parts import CalledFunction, SeenLines, ThreadTimes, build_parts
from .call_intervals import FIRST_SERIES_CALLS, SERIES_CALLS, CallIntervals, TimedCalls
from .span_ledger import NO_PROGRAM, SpanLedger
from .thread_clock import ThreadClock
from .thread_looks import ThreadLooks

NO_PROCESSOR_CLOCK = (
    "the system has no clock for the processor time of another thread: what was blocked is not told apart"
)


#: Seconds from the start to the first account of a thread that goes on, and from one to the next at least; a longer
#: pause follows where making one takes long.
PROGRESS_SECONDS, MIN_PAUSE_FACTOR = 2.0, 200
#: After a stage of so many seconds the thread is looked at as often as at first: calls begin behind a compilation.
LONG_SPAN_SECONDS = 0.02


class Moment(NamedTuple):
    """Moment on a thread: seconds since the epoch, of ``time.perf_counter``, and of the thread's processor clock.

    ``delay`` are the seconds for which the thread had waited for a processor.
    """

    time: float
    clock: float
    processor: float
    delay: float = 0.0


class TimeAccountant:
    """Accountant of a thread's time, by default the calling one's, from :meth:`start` to :meth:`stop`.

    ``read_calls`` returns the calls of functions that jaxlib repeated in C++ since the start. Stages, waits and
    transfers are timed where they happen; repeated calls are counted, and timed in samples. ``on_progress`` is called
    every few seconds while the account goes on, on a thread of its own: :meth:`build_snapshot` tells how far it is.
    """

    def __init__(
        self,
        read_calls: Callable[[], CallTotals],
        thread: threading.Thread | None = None,
        on_progress: Callable[[], None] = lambda: None,
    ) -> None:
        self._read_calls = read_calls
        self._clock = ThreadClock(thread or threading.current_thread())
        self._ledger = SpanLedger(self._clock.thread, self._clock.delay_seconds)
        self._intervals = CallIntervals(self._ledger, self._classify, self._start_looking)
        self._looks = ThreadLooks(self._clock, self._ledger, self._intervals, self._on_look)
        self._on_progress, self._next_progress = on_progress, 0.0
        self._engines: list[ExecutionEngine] = []
        self._is_operation: dict[Any, bool] = {}
        self._undo = ExitStack()
        self._times: ThreadTimes | None = None
        self._began = Moment(0.0, 0.0, 0.0)
        #: The seconds for which the thread was blocked between the moment of the account's begin and :meth:`start`.
        self._blocked_before = 0.0

    def start(self, since: Moment | None = None) -> None:
        """Start the account, now or from an earlier moment on.

        What the thread did from then until now is Python, as far as it ran, and otherwise waiting for a processor,
        files or locks.
        """
        self._undo.callback(watch_arrays(self._ledger))
        self._undo.callback(subscribe(self._watch_engine))
        span_listeners.append(self._on_span)
        self._undo.callback(span_listeners.remove, self._on_span)
        self._undo.callback(self._looks.stop)
        now = self._read_moment()
        self._began = since or now
        self._blocked_before = _blocked_seconds(self._began, now)
        self._next_progress = time.perf_counter() + PROGRESS_SECONDS

    def stop(self) -> None:
        """End the account; jaxlib's functions and hooks are restored. Calling it again has no effect."""
        if self._times is not None:
            return
        ended, delay = time.perf_counter(), self._clock.delay_seconds()
        processor = self._clock.processor_seconds()
        self._ledger.close()
        wall = ended - self._began.clock
        self._times = ThreadTimes(
            wall,
            wall if processor is None else processor - self._began.processor,
            delay - self._began.delay,
            self._ledger.outer(ended),
            self._ledger.totals(),
        )
        self._intervals.close()
        self._undo.close()
        self._clock.close()

    def _read_moment(self) -> Moment:
        processor = self._clock.processor_seconds() or 0.0
        return Moment(time.time(), time.perf_counter(), processor, self._clock.delay_seconds())

    @contextmanager
    def own_work(self) -> Iterator[None]:
        """Book the ``with`` block as xlascope's own work."""
        self._ledger.enter("watching")
        try:
            yield
        finally:
            self._ledger.leave()

    def build_record(self, function: str, executed: Iterable[records.Executed] = ()) -> records.TimeAccount:
        """Return the account as a record, after :meth:`stop`.

        ``function`` is the title of the cell or the script's name; ``executed`` has the measurements of its programs,
        of which the time on the devices is taken.
        """
        assert self._times is not None, "the account has not ended"
        return self._build(self._times, function, executed)

    def build_snapshot(self, function: str, executed: Iterable[records.Executed] = ()) -> records.TimeAccount | None:
        """Return the account until now as :meth:`build_record` does, from any thread.

        None where the thread's clock cannot be read, or if the thread was just changing what is read.
        """
        now, processor = time.perf_counter(), self._clock.processor_seconds()
        if processor is None or self._times is not None:
            return None
        try:
            wall, used = now - self._began.clock, processor - self._began.processor
            delay = self._clock.delay_seconds() - self._began.delay
            return self._build(ThreadTimes(wall, used, delay, *self._ledger.until(now)), function, executed)
        except RuntimeError:  # a dict has changed its size
            return None

    def _build(self, times: ThreadTimes, function: str, executed: Iterable[records.Executed]) -> records.TimeAccount:
        looks = self._looks
        blocked = looks.in_calls, looks.in_numpy, looks.by_line
        operations = self._intervals.operation_lines
        blocked_before = self._blocked_before + looks.blocked_before
        lines = SeenLines(*blocked, looks.waits, operations, blocked_before, looks.has_started)
        parts = build_parts(times, *self._called_functions(), lines)
        devices = [
            records.DeviceShare(run.program, run.function, run.calls, run.running)
            for run in executed
            if run.observed_calls and run.running
        ]
        devices.sort(key=lambda share: -share.seconds)
        return records.TimeAccount(
            program=None,
            function=function,
            time=self._began.time,
            seconds=times.wall,
            processor=times.processor,
            parts=parts,
            devices=tuple(devices),
            notes=() if self._clock.is_readable else (NO_PROCESSOR_CLOCK,),
        )

    def _on_look(self) -> None:
        self._begin_series()
        began = time.perf_counter()
        if began >= self._next_progress and self._times is None:
            self._on_progress()
            ended = time.perf_counter()
            self._next_progress = ended + max(PROGRESS_SECONDS, MIN_PAUSE_FACTOR * (ended - began))

    def _start_looking(self) -> None:
        self._looks.start()

    def _on_span(self, stage: str, program: tuple[int, str], begins: bool) -> None:
        if begins:
            self._start_looking()
            self._ledger.enter(stage, program if stage == "run" else NO_PROGRAM)
        elif self._ledger.leave() > LONG_SPAN_SECONDS:
            self._looks.look_often()

    # Calls ----------------------------------------------------------------------------------------------------------

    def _watch_engine(self, engine: ExecutionEngine) -> None:
        self._engines.append(engine)
        self._begin_series(FIRST_SERIES_CALLS)

    def _begin_series(self, calls: int = SERIES_CALLS) -> None:
        if self._engines:  # the hook of one engine is called after the calls of all
            self._intervals.begin_series(self._engines[0], calls)

    def _classify(self, function: Any) -> tuple[Any, bool]:
        """Return the key of a function, itself if it has none, and whether it is one of a library's operations."""
        for engine in self._engines:
            key = engine.key(function)
            if key is not None:
                if key not in self._is_operation:
                    self._is_operation[key] = engine.is_operation(key)
                return key, self._is_operation[key]
        return function, True

    def _called_functions(self) -> tuple[list[CalledFunction], list[CalledFunction]]:
        """Return the user's functions that the thread called, and the operations; those without a key are one of these.

        Calls are counted on all threads; which part of them was on this one is known from samples.
        """
        totals, timed = self._read_calls(), dict(self._intervals.timed)
        programs: list[CalledFunction] = []
        operations: list[CalledFunction] = []
        for engine, counts in totals.by_engine:
            for key, calls in counts.items():
                number, name, *_ = next(iter(reversed(engine.programs(key))), (0, ""))
                limit = totals.seconds.get(number, 0.0)
                samples = timed.pop(key, TimedCalls())
                if not (thread_calls := samples.calls_on_thread(calls)):
                    continue
                called = CalledFunction(number, name, thread_calls, samples, limit)
                (operations if engine.is_operation(key) else programs).append(called)
        operations += [CalledFunction(0, "", 0, item) for item in timed.values()]
        operations.append(CalledFunction(0, "", totals.without_key, TimedCalls()))
        return programs, operations


def _blocked_seconds(before: Moment, now: Moment) -> float:
    """Return for how long a thread neither ran nor waited for a processor between two moments."""
    running = now.processor - before.processor + now.delay - before.delay
    return max(now.clock - before.clock - running, 0.0)
