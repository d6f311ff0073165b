"""Sampler of running programs: exact call counts, and times from short profiler windows, as ``Executed`` records.

A :class:`Sampler` is idle until the first call. Then one thread wakes a few times a second, and opens a
window now and then, for less than a hundredth of the time (:mod:`xlascope.xla.profiling.profiler_windows`), and only
while calls are made. Another thread waits for the results of some calls to record when they complete.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ... import records
from ...bootstrap import get_engine, is_started
from ...readers import FormatError
from ...readers.profile_events import TooManyEventsError
from ...readers.profiles import read_profile
from ...xla.profiling.profiler_windows import ProfilerInUseError, Window
from ..inspection_scope import inspecting
from ..user_location import find_user_frame
from .call_counter import CallCounter
from .call_gate import CallGate
from .completion_tracker import CompletionTracker, DispatchedCall
from .earlier_profiles import SECONDS_BEFORE_PROFILE, EarlierProfiles
from .engines import (
    ArgumentHolder,
    DispatchListener,
    ExecutionEngine,
    ReplayableCall,
    WatchedProgram,
    subscribe,
)
from .periods import MIN_BLOCK_SECONDS, weighted_quantile
from .profiler_schedule import ProfilerSchedule
from .program_reader import FunctionProgram, ProgramReader
from .running_programs import CompletedCall, RunningPrograms

_log = logging.getLogger(__name__)

#: Seconds between two reads of the counts, before the first, and after it while earlier profiles are shown.
TICK_SECONDS, FIRST_TICK_SECONDS, TICK_SECONDS_OF_KNOWN = 0.5, 0.03, 1.25
#: Seconds between two checks for completed calls, while a window is open.
POLL_SECONDS = 0.05
#: Seconds that `stop` waits for a window to close.
STOP_TIMEOUT_SECONDS = 0.1
#: The same on a GPU, where closing a window during a call of the program would end the process.
MAX_CLOSING_SECONDS = 2.0
#: Number of successive calls whose completion is recorded after a compilation, and at each read of the counts. Of calls
#: that are joined to blocks (:data:`~.periods.MIN_BLOCK_SECONDS`) more than two make no more blocks, and those shorter
#: than a millisecond would be slowed down by more than a hundredth.
CALLS_AFTER_COMPILING, BURST_CALLS, PAIR_OF_CALLS = 8, 32, 2
#: Most completions that are added up together: each alone would find its code and data out of the caches.
MAX_BATCH_COMPLETIONS = 64
#: Fraction of the time that noting such calls may take of the calling thread; on the others it takes twice as much.
MAX_NOTING_FRACTION = 0.001
#: A program that made no call for so many seconds, and waits for none, counts as idle.
IDLE_SECONDS = 0.5

Emit = Callable[[records.Record], None]


class CallTotals(NamedTuple):
    """Calls that jaxlib repeated in C++: of each engine by the functions' keys, and the number of those without a key.

    ``seconds`` are the median seconds of a call by the profiler, by program.
    """

    by_engine: Sequence[tuple[ExecutionEngine, Mapping[Any, int]]]
    without_key: int
    seconds: Mapping[int, float]


class Sampler:
    """Publisher of ``Executed`` records of the programs that run between :meth:`start` and :meth:`stop`.

    ``emit`` receives the records, on a thread of the sampler's own; before a program's first one also its
    ``Traced`` and ``Compiled``, if it was created before the start. ``first`` is called with each jitted function
    at its first call, on the calling thread. With ``windows=False`` calls are counted, not timed. With
    ``holds_arguments`` the arguments of each function's latest call are held, where they are small
    (:meth:`take_calls`). Programs with a profile in ``earlier`` begin with it, and if all have one they are profiled
    only after :data:`SECONDS_BEFORE_PROFILE`.
    """

    def __init__(
        self,
        *,
        emit: Emit = records.publish,
        first: Callable[[Any], None] | None = None,
        windows: bool = True,
        holds_arguments: bool = False,
        earlier: EarlierProfiles | None = None,
    ) -> None:
        self._emit = emit
        self._first = first
        self._windows = windows
        self._holds_arguments = holds_arguments
        self._holders: dict[ExecutionEngine, ArgumentHolder] = {}
        self._held_calls: list[ReplayableCall] = []
        self._reasons: list[str] = []
        self._watched: dict[ExecutionEngine, tuple[CallCounter, DispatchListener]] = {}
        self._completions = CompletionTracker(self._on_completion)
        self._gate = CallGate()
        self._held_since: float | None = None
        self._stall = self._overhead = self._noting = 0.0
        self._noted = 0
        self._running = RunningPrograms(self._programs_of, earlier)
        self._schedule = ProfilerSchedule()
        self._starts: dict[int, int] = {}
        self._began: dict[tuple[int, int], float] = {}
        self._published: set[int] = set()
        self._new_records: deque[records.Traced | records.Compiled] = deque()
        self._lock = threading.Lock()
        self._completed: deque[CompletedCall] = deque()
        self._timed: set[Any] = set()
        self._is_ambiguous: dict[Any, bool] = {}
        self._is_operation: dict[Any, bool] = {}
        self._readers: dict[Any, ProgramReader] = {}
        self._stopping = threading.Event()
        self._wake_event = threading.Event()
        self._thread: threading.Thread | None = None
        self._subscription: records.Subscription | None = None
        self._last_count_time = time.perf_counter()
        self._not_before = self._woken = 0.0
        self._busy = self._is_stopped = self._knows_engine = False
        self._unsubscribe: Callable[[], None] | None = None

    def start(self) -> None:
        """Start watching."""
        self._subscription = records.watch(self._receive)
        self._unsubscribe = subscribe(self._watch_engine)
        self._watch_own_engine()

    def stop(self) -> None:
        """Stop watching and publish the last counts; takes at most a tenth of a second (an open window is closed)."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        self._stop_holding()
        for watched_engine, (counter, listener) in self._watched.items():
            counter.stop()
            if listener in watched_engine.dispatched:
                watched_engine.dispatched.remove(listener)
        if self._subscription is not None:
            self._subscription.close()
        self._stopping.set()
        self._wake_event.set()
        if self._thread is not None:
            self._thread.join(MAX_CLOSING_SECONDS if self._running.on_gpu else STOP_TIMEOUT_SECONDS)
        self._completions.stop(STOP_TIMEOUT_SECONDS)
        self._is_stopped = True
        self._update_counts()
        with self._up_to_date():
            self._running.store_profiles()

    def __enter__(self) -> Sampler:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def read_calls(self) -> CallTotals:
        """Return the calls that jaxlib has repeated in C++ since the start, and the profiler's seconds of a call."""
        counters = [(engine, counter) for engine, (counter, _) in tuple(self._watched.items())]
        by_engine = [(engine, _sum_by_function(counter.counts())) for engine, counter in counters]
        # Each counter sees the calls of all engines: those of another one have a key there.
        foreign_calls = sum(sum(counts.values()) for _, counts in by_engine[1:])
        without_key = max(counters[0][1].count_without_key() - foreign_calls, 0) if counters else 0
        tallies = tuple(self._running.tallies.items())
        seconds = {number: weighted_quantile(tally.call_seconds, 0.5) for number, tally in tallies if tally.observed}
        return CallTotals(by_engine, without_key, seconds)

    def take_calls(self) -> tuple[list[ReplayableCall], list[str]]:
        """Return the latest calls whose arguments were held, latest first, and why others were not; release them.

        It ends holding, and so does :meth:`stop`; without ``holds_arguments`` there are none.
        """
        self._stop_holding()
        calls, reasons, self._held_calls, self._reasons = self._held_calls, self._reasons, [], []
        return calls, reasons

    def _stop_holding(self) -> None:
        for watched_engine, holder in self._holders.items():
            replayable, why_not = holder.stop(self._watched[watched_engine][0].take_arguments())
            self._held_calls += replayable
            self._reasons += why_not
        self._holders.clear()

    # Watched engines ----------------------------------------------------------------------------------------------

    def _watch_engine(self, watched_engine: ExecutionEngine) -> None:
        """Count the calls of one engine, and listen to those that go through Python."""
        holder = watched_engine.argument_holder() if self._holds_arguments else None
        if holder is not None:
            self._holders[watched_engine] = holder
        on_call = partial(self._on_call, watched_engine)
        counter = CallCounter(watched_engine, on_call, None if holder is None else holder.holds)
        listener = partial(self._on_dispatch, watched_engine)
        self._watched[watched_engine] = counter, listener
        watched_engine.dispatched.append(listener)
        counter.start()

    @contextlib.contextmanager
    def _up_to_date(self) -> Iterator[None]:
        """Take the lock of the measurements for the ``with`` block, with all completions so far added to them."""
        with self._lock:
            timed_before = self._running.timed_program_count
            self._running.add_completions(self._completed)
            has_first_time = self._running.timed_program_count > timed_before
            if has_first_time and threading.current_thread() is not self._thread:
                self._wake_event.set()  # publish the first time of a program at once
            yield

    def _watch_own_engine(self) -> None:
        """Watch xlascope's engine if it is started; watching does not start it."""
        if not self._knows_engine and is_started():
            self._knows_engine = True
            get_engine()

    def _programs_of(self, function: Any) -> Sequence[WatchedProgram]:
        owners = (
            watched_engine
            for watched_engine, (counter, _) in tuple(self._watched.items())
            if counter.is_counted(function)
        )
        if isinstance(function, FunctionProgram):
            return (function.program,)
        return next((watched_engine.programs(function) for watched_engine in owners), ())

    def _counts(self) -> dict[Any, int]:
        counters = [counter for counter, _ in tuple(self._watched.values())]
        if len(counters) == 1:
            return counters[0].counts()
        totals: dict[Any, int] = {}
        for counter in counters:
            totals |= counter.counts()
        return totals

    def _labels(self) -> dict[tuple[str, int], str]:
        return {key: label for watched_engine in tuple(self._watched) for key, label in watched_engine.labels().items()}

    # On the threads of the program that is watched -------------------------------------------------------------------

    def _on_call(self, watched_engine: ExecutionEngine, function: Any, arguments: Any, out: Any, first: bool) -> None:
        returned = time.perf_counter()
        counts = self._counts()
        program = self._find_program(watched_engine, function, arguments, counts)
        self._note_line(watched_engine, function, program)
        call = DispatchedCall(function, program, counts, self._starts, returned, None, self._overhead)
        self._completions.add(call, out, watched_engine.leaves)
        self._noting += time.perf_counter() - returned
        self._noted += 1
        self._gate.enter(out, watched_engine.leaves)
        if first:
            self._wake()
            if self._first is not None:
                self._first(function)
        self._overhead += time.perf_counter() - returned

    def _find_program(
        self, watched_engine: ExecutionEngine, key: Any, arguments: Any, counts: Mapping[Any, int]
    ) -> int | None:
        """Return the program that a noted call ran, None if its function has one alone or it is not known.

        ``key`` is what the call was counted by, ``counts`` are the calls so far. Calls of a function of the user's that
        has several programs are counted by program from now on, if their arguments tell it.
        """
        if isinstance(key, FunctionProgram):
            number = watched_engine.find_program(key.function, arguments)
            if number is not None and number != key.program.number:
                self._readers[key.function].disable()
            return key.program.number
        is_ambiguous = self._is_ambiguous.get(key)
        if is_ambiguous is None:
            is_ambiguous = self._is_ambiguous[key] = len(watched_engine.programs(key)) > 1
            if is_ambiguous and key not in self._readers and not watched_engine.is_operation(key):
                reader = self._readers[key] = ProgramReader(watched_engine, key)
                self._watched[watched_engine][0].tell_apart(key, reader.read)
        program = watched_engine.find_program(key, arguments) if is_ambiguous else None
        if program is not None:
            self._running.note_program(key, counts.get(key, 0), program)
        return program

    def _note_line(self, watched_engine: ExecutionEngine, key: Any, program: int | None) -> None:
        """Note the user's line that has called an operation of the library, which many lines may call."""
        is_operation = self._is_operation.get(key)
        if is_operation is None:
            is_user = isinstance(key, FunctionProgram) or not watched_engine.is_operation(key)
            is_operation = self._is_operation[key] = not is_user
        frame = find_user_frame(sys._getframe(1)) if is_operation else None
        if frame is not None:
            self._running.note_line(key, program, frame.f_code.co_filename, frame.f_lineno)

    def _on_dispatch(self, watched_engine: ExecutionEngine, program: int, out: Any) -> None:
        """Track a call that went through Python and was dispatched.

        ``program`` is the number of the program, ``out`` are the results of the call.
        """
        began = self._began.pop((threading.get_ident(), program), None)
        if began is not None:
            now = time.perf_counter()
            call = DispatchedCall(None, program, self._counts(), self._starts, now, began, self._overhead)
            self._completions.add(call, out, watched_engine.leaves)
            self._overhead += time.perf_counter() - now
        self._gate.enter(out, watched_engine.leaves)

    def _receive(self, record: records.Record) -> None:
        """Remember the modules of a compiled program; count the start of a call that jaxlib passed to Python.

        ``record`` is any record that is published; those of inspections are not counted as calls.
        """
        self._watch_own_engine()
        if not isinstance(record, records.Traced | records.Compiled | records.Started):
            return
        self._completions.flush()  # calls so far belong to the programs so far
        self._is_ambiguous = {}  # a function may have another program from now on
        if isinstance(record, records.Traced):
            for reader in tuple(self._readers.values()):
                reader.expire()
            for counter, _ in tuple(self._watched.values()):
                counter.ask_each()
        if isinstance(record, records.Traced | records.Compiled):
            with self._up_to_date():
                self._running.learn_modules(record)
            self._new_records.append(record)
        if inspecting():
            return
        match record:
            case records.Traced():
                self._published.add(record.program)
            case records.Compiled(target=""):
                age = max(time.time() - record.time - record.seconds, 0.0)
                with self._up_to_date():
                    self._running.restart(record.program, time.perf_counter() - age)
                for counter, _ in tuple(self._watched.values()):
                    counter.ask(CALLS_AFTER_COMPILING)
            case records.Started(stage="run"):
                now = time.perf_counter()
                with self._up_to_date():
                    if self._running.add_python_call(record, self._counts(), now - self._last_count_time):
                        self._last_count_time = now
                    # Another dict each time, as calls that were noted refer to this one.
                    self._starts = {**self._starts, record.program: self._starts.get(record.program, 0) + 1}
                self._wake()
                self._began[threading.get_ident(), record.program] = time.perf_counter()

    def _wake(self) -> None:
        if self._thread is None:
            self._last_count_time = self._woken = time.perf_counter()
            self._thread = threading.Thread(target=self._sample_loop, name="xlascope-sampler", daemon=True)
            self._thread.start()

    # On the sampler's thread ------------------------------------------------------------------------------------------

    def _sample_loop(self) -> None:
        """Read the call counts and open profiler windows until the sampler is stopped; runs on the sampler's thread."""
        pause = FIRST_TICK_SECONDS
        try:
            while not self._stopping.is_set():
                self._wake_event.wait(pause)
                self._wake_event.clear()
                if self._stopping.is_set():
                    return
                has_changed = self._update_counts()
                self._ask_for_calls()
                can_wait = self._can_wait()
                pause = TICK_SECONDS_OF_KNOWN if can_wait else TICK_SECONDS
                active = has_changed or self._busy or self._completions.has_pending
                if self._windows and active and time.perf_counter() >= self._not_before and not can_wait:
                    while self._sample_window():
                        pass
                    self._update_counts()  # calls made during the window are no reason for another one
        except Exception:
            _log.exception("the sampler of running programs failed; there will be no more times")

    def _can_wait(self) -> bool:
        """Return whether it is too early for a profile, as those of earlier runs are shown meanwhile."""
        with self._up_to_date():
            is_early = time.perf_counter() < self._woken + SECONDS_BEFORE_PROFILE
            return is_early and self._running.are_known

    def _ask_for_calls(self) -> None:
        """Note the next calls, as many as :meth:`_burst_length` says by the times that were just published.

        Calls that completed since then are not added first: all times would be computed again.
        """
        with self._lock:
            calls = self._burst_length(self._running.shortest_pace())
        for counter, _ in tuple(self._watched.values()):
            counter.ask(calls)

    def _burst_length(self, call_seconds: float) -> int:
        """Return how many successive calls are noted: fewer of short ones, and where noting one takes long.

        ``call_seconds`` is the time from call to call, 0.0 if it is unknown.
        """
        if call_seconds < MIN_BLOCK_SECONDS:
            return PAIR_OF_CALLS
        affordable = MAX_NOTING_FRACTION * TICK_SECONDS * self._noted / self._noting if self._noting else BURST_CALLS
        return max(min(int(affordable), BURST_CALLS), PAIR_OF_CALLS)

    def _on_completion(self, call: DispatchedCall, completion_time: float | None, waited: bool, late: bool) -> None:
        """Note a call that completed at ``completion_time`` (None: its results were donated); on the tracker's thread.

        ``waited`` says whether the results were not ready when the call was dispatched, ``late`` whether they were
        ready some time before.
        """
        self._completed.append((call, completion_time, waited, late))
        timed = call.program if call.function is None else call.function
        if timed in self._timed and len(self._completed) < MAX_BATCH_COMPLETIONS:
            return
        self._timed.add(timed)
        with self._up_to_date():
            pass

    def _update_counts(self) -> bool:
        """Read the call counters and publish the changed records; return whether there were any."""
        self._completions.flush()
        now = time.perf_counter()
        with self._up_to_date():
            elapsed, self._last_count_time = now - self._last_count_time, now
            self._running.add_counts(self._counts(), elapsed)
            changed = self._running.changed_records()
            unknown = [
                program.number for program in self._running.called_programs() if program.number not in self._published
            ]
            self._published.update(unknown)
        watched = tuple(self._watched)
        while self._new_records:
            new_record = self._new_records.popleft()
            for watched_engine in watched:
                watched_engine.remember(new_record)
        earlier_records = [
            record for number in unknown for watched_engine in watched for record in watched_engine.records_of(number)
        ]
        for record in earlier_records:
            self._running.learn_modules(record)
        self._emit_all([*earlier_records, *changed])
        return bool(changed)

    def _sample_window(self) -> bool:
        """Open a window and publish its results; return True when another one should follow at once."""
        with self._up_to_date():
            length = self._running.next_window(self._schedule)
        if not length:
            return False
        spent = time.thread_time()
        try:
            data, watched = self._record_window(length)
            with self._up_to_date():
                schedules = dict(self._running.schedules)
            profiles = read_profile(data, schedules=schedules, labels=self._labels())
        except ProfilerInUseError as error:
            self._on_profiler_in_use(error)
            return False
        except TooManyEventsError:
            self._schedule.reject_window(length)
            return False
        except FormatError as error:
            self._stop_profiling(error)
            return False
        finally:
            with self._up_to_date():
                self._running.end_window(time.perf_counter())
        with self._up_to_date():
            pause = self._running.add_window(
                self._schedule, profiles, watched, time.thread_time() - spent + self._stall
            )
            changed = self._running.changed_records()
        self._busy = bool(profiles)
        self._not_before = time.perf_counter() + pause
        self._emit_all(changed)
        return self._busy and not pause and not self._stopping.is_set()

    def _record_window(self, length: float) -> tuple[bytes, float]:
        """Return the data of a profiler window, and the seconds it was open.

        It is open for ``length`` seconds, or until it has a complete call. Calls are counted meanwhile.
        """
        with self._up_to_date():
            self._running.begin_window(time.perf_counter())
        with self._release_calls(), Window() as window:
            began = time.perf_counter()
            until = began + length
            last_update = began
            while not self._stopping.is_set() and (remaining := until - time.perf_counter()) > 0:
                self._stopping.wait(min(remaining, POLL_SECONDS))
                self._completions.flush()
                with self._up_to_date():
                    has_complete_call = self._running.has_complete_call(self._schedule.target_program, began)
                if has_complete_call:
                    break
                if time.perf_counter() - last_update > TICK_SECONDS:
                    last_update = time.perf_counter()
                    self._update_counts()
            watched = time.perf_counter() - began
            if self._running.on_gpu:
                self._hold_calls()
        return window.data, watched

    @contextlib.contextmanager
    def _release_calls(self) -> Iterator[None]:
        """Release held calls after the ``with`` block, and store how long one was held."""
        try:
            yield
        finally:
            self._gate.open()
            held_since, self._held_since = self._held_since, None
            self._stall = 0.0 if held_since is None else time.perf_counter() - held_since

    def _hold_calls(self) -> None:
        """Hold the next call as soon as its results are ready; return then, or when nothing runs."""
        until = idle_since = time.perf_counter()
        until += MAX_CLOSING_SECONDS
        while (now := time.perf_counter()) < until:
            if self._completions.has_pending:
                idle_since = now
            elif self._stopping.is_set() or now - idle_since > IDLE_SECONDS:
                return
            if not self._stopping.is_set():
                for counter, _ in tuple(self._watched.values()):
                    counter.ask(PAIR_OF_CALLS)
            if self._gate.close(POLL_SECONDS):
                self._held_since = time.perf_counter()
                return

    def _on_profiler_in_use(self, error: ProfilerInUseError) -> None:
        """Stop profiling and report it if another profiler is active; do nothing for a window of xlascope's own."""
        if error.__cause__ is None:
            return
        self._stop_profiling(error)

    def _stop_profiling(self, error: Exception) -> None:
        """Open no more windows, because they would fail like this one, and publish the failure."""
        self._windows = False
        self._emit_all([records.Failure(None, "profiler", "profile", time.time(), type(error).__name__, str(error))])

    def _emit_all(self, batch: Iterable[records.Record]) -> None:
        if self._is_stopped and threading.current_thread() is self._thread:
            return
        for record in batch:
            self._emit(record)


def _sum_by_function(counts: Mapping[Any, int]) -> dict[Any, int]:
    """Return counts of calls by the keys of functions alone, without their programs."""
    totals: dict[Any, int] = {}
    for key, calls in counts.items():
        function = key.function if isinstance(key, FunctionProgram) else key
        totals[function] = totals.get(function, 0) + calls
    return totals
