"""Sampler of running programs: exact call counts, and times from short profiler windows, as ``Executed`` records.

A :class:`Sampler` is idle until the first call. Then one thread wakes a few times a second, and opens a
window now and then, for less than a hundredth of the time (:mod:`xlascope.xla.profiling.profile`), and only
while calls are made. Another thread waits for the results of some calls to record when they complete.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from ... import records
from ...readers import FormatError
from ...readers.profile_events import TooManyEventsError
from ...readers.profiles import read_profile
from ...starting import engine, is_started
from ...xla.profiling.profile import ProfilerInUseError, Window
from ..quiet import inspecting
from .call_gate import CallGate
from .calls import CallCounter
from .counts import Running
from .finishes import Finishes, Made
from .looks import Looks
from .runs import Dispatched, Known, Runs, meet

_log = logging.getLogger(__name__)

#: Seconds between two reads of the counts, and before the first.
TICK, FIRST_TICK = 0.5, 0.03
#: Seconds between two checks for completed calls, while a window is open.
GLANCE = 0.05
#: Seconds that `stop` waits for a window to close.
PATIENCE = 0.1
#: The same on a GPU, where closing a window during a call of the program would end the process.
MAX_CLOSING_SECONDS = 2.0
#: A program that made no call for so many seconds, and waits for none, counts as idle.
IDLE_SECONDS = 0.5

Emit = Callable[[records.Record], None]


class Sampler:
    """Publisher of ``Executed`` records of the programs that run between :meth:`start` and :meth:`stop`.

    ``emit`` receives the records, on a thread of the sampler's own; before a program's first one also its
    ``Traced`` and ``Compiled``, if it was created before the start. ``first`` is called with each jitted function
    at its first call, on the calling thread. With ``windows=False`` calls are counted, not timed.
    """

    def __init__(
        self,
        *,
        emit: Emit = records.publish,
        first: Callable[[Any], None] | None = None,
        windows: bool = True,
    ) -> None:
        self._emit = emit
        self._first = first
        self._windows = windows
        self._watched: dict[Runs, tuple[CallCounter, Dispatched]] = {}
        self._finishes = Finishes(self._finished)
        self._gate = CallGate()
        self._held_since: float | None = None
        self._stall = 0.0
        self._running = Running(self._programs_of)
        self._looks = Looks()
        self._starts: dict[int, int] = {}
        self._began: dict[tuple[int, int], float] = {}
        self._told: set[int] = set()
        self._fresh: deque[records.Traced | records.Compiled] = deque()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._stirred = threading.Event()
        self._thread: threading.Thread | None = None
        self._subscription: records.Subscription | None = None
        self._looked = time.perf_counter()
        self._not_before = 0.0
        self._busy = self._over = self._knows_engine = False
        self._leave: Callable[[], None] | None = None

    def start(self) -> None:
        """Start watching."""
        self._subscription = records.watch(self._receive)
        self._leave = meet(self._meet)
        self._meet_engine()

    def stop(self) -> None:
        """Stop watching and publish the last counts; takes at most a tenth of a second (an open window is closed)."""
        if self._leave is not None:
            self._leave()
            self._leave = None
        for watched_engine, (counter, listener) in self._watched.items():
            counter.stop()
            if listener in watched_engine.dispatched:
                watched_engine.dispatched.remove(listener)
        if self._subscription is not None:
            self._subscription.close()
        self._stopping.set()
        self._stirred.set()
        if self._thread is not None:
            self._thread.join(MAX_CLOSING_SECONDS if self._running.on_gpu else PATIENCE)
        self._finishes.stop(PATIENCE)
        self._over = True
        self._count()

    def __enter__(self) -> Sampler:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # Watched engines ----------------------------------------------------------------------------------------------

    def _meet(self, watched_engine: Runs) -> None:
        """Watch the calls of one engine."""
        counter = CallCounter(watched_engine, partial(self._made, watched_engine))
        listener = partial(self._dispatched, watched_engine)
        self._watched[watched_engine] = counter, listener
        watched_engine.dispatched.append(listener)
        counter.start()

    def _meet_engine(self) -> None:
        """Watch xlascope's engine if it is started; watching does not start it."""
        if not self._knows_engine and is_started():
            self._knows_engine = True
            engine()

    def _programs_of(self, function: Any) -> Sequence[Known]:
        owners = (
            watched_engine for watched_engine, (counter, _) in tuple(self._watched.items()) if counter.counted(function)
        )
        return next((watched_engine.programs(function) for watched_engine in owners), ())

    def _counts(self) -> dict[Any, int]:
        totals: dict[Any, int] = {}
        for counter, _ in tuple(self._watched.values()):
            totals |= counter.counts()
        return totals

    def _labels(self) -> dict[tuple[str, int], str]:
        return {key: label for watched_engine in tuple(self._watched) for key, label in watched_engine.labels().items()}

    # On the threads of the program that is watched -------------------------------------------------------------------

    def _made(self, watched_engine: Runs, function: Any, out: Any, first: bool) -> None:
        call = Made(function, None, self._counts(), dict(self._starts), time.perf_counter())
        self._finishes.add(call, partial(watched_engine.leaves, out))
        self._gate.enter(partial(watched_engine.leaves, out))
        if first:
            self._wake()
            if self._first is not None:
                self._first(function)

    def _dispatched(self, watched_engine: Runs, program: int, out: Any) -> None:
        """Track a call that went through Python and was dispatched."""
        began = self._began.pop((threading.get_ident(), program), None)
        if began is not None:
            now = time.perf_counter()
            call = Made(None, program, self._counts(), dict(self._starts), now, began)
            self._finishes.add(call, partial(watched_engine.leaves, out))
        self._gate.enter(partial(watched_engine.leaves, out))

    def _receive(self, record: records.Record) -> None:
        self._meet_engine()
        with self._lock:
            self._running.know(record)
        if isinstance(record, records.Traced | records.Compiled):
            self._fresh.append(record)
        if inspecting():
            return
        match record:
            case records.Traced():
                self._told.add(record.program)
            case records.Started(stage="run"):
                now = time.perf_counter()
                with self._lock:
                    if self._running.called(record, self._counts(), now - self._looked):
                        self._looked = now
                self._starts[record.program] = self._starts.get(record.program, 0) + 1
                self._wake()
                self._began[threading.get_ident(), record.program] = time.perf_counter()

    def _wake(self) -> None:
        if self._thread is None:
            self._looked = time.perf_counter()
            self._thread = threading.Thread(target=self._run, name="xlascope-sampler", daemon=True)
            self._thread.start()

    # On the sampler's thread ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        pause = FIRST_TICK
        try:
            while not self._stopping.is_set():
                self._stirred.wait(pause)
                self._stirred.clear()
                if self._stopping.is_set():
                    return
                pause = TICK
                for counter, _ in tuple(self._watched.values()):
                    counter.ask()
                has_changed = self._count()
                active = has_changed or self._busy or self._finishes.pending
                if self._windows and active and time.perf_counter() >= self._not_before:
                    while self._look():
                        pass
                    self._count()  # calls made during the window are no reason for another one
        except Exception:
            _log.exception("the sampler of running programs failed; there will be no more times")

    def _finished(self, call: Made, done: float, waited: bool) -> None:
        """Add the completion of a call; called on the thread that waits for results."""
        with self._lock:
            timed_before = self._running.timed
            self._running.finished(call, done, waited)
        if self._running.timed > timed_before:  # publish the first time of a program at once
            self._stirred.set()

    def _count(self) -> bool:
        """Read the counters and publish changes; return False when there are none."""
        now = time.perf_counter()
        with self._lock:
            elapsed, self._looked = now - self._looked, now
            self._running.count(self._counts(), elapsed)
            changed = self._running.news()
            unknown = [
                program.number for program in self._running.called_programs() if program.number not in self._told
            ]
            self._told.update(unknown)
        watched = tuple(self._watched)
        while self._fresh:
            new_record = self._fresh.popleft()
            for watched_engine in watched:
                watched_engine.remember(new_record)
        earlier_records = [
            record for number in unknown for watched_engine in watched for record in watched_engine.records_of(number)
        ]
        for record in earlier_records:
            self._running.know(record)
        self._tell([*earlier_records, *changed])
        return bool(changed)

    def _look(self) -> bool:
        """Open a window and publish its results; return True when another one should follow at once."""
        with self._lock:
            length = self._running.next_look(self._looks)
        if not length:
            return False
        spent = time.thread_time()
        try:
            data, watched = self._watch(length)
            profiles = read_profile(data, schedules=self._running.schedules, labels=self._labels())
        except ProfilerInUseError as error:
            self._blocked(error)
            return False
        except TooManyEventsError:
            self._looks.too_long(length)
            return False
        except FormatError as error:
            self._give_up(error)
            return False
        finally:
            with self._lock:
                self._running.pace.look_ends(time.perf_counter())
        with self._lock:
            pause = self._running.saw(self._looks, profiles, watched, time.thread_time() - spent + self._stall)
            changed = self._running.news()
        self._busy = bool(profiles)
        self._not_before = time.perf_counter() + pause
        self._tell(changed)
        return self._busy and not pause and not self._stopping.is_set()

    def _watch(self, length: float) -> tuple[bytes, float]:
        """Return the data of a window of so many seconds, or a shorter one if it has a complete call.

        Calls are counted meanwhile.
        """
        with self._lock:
            self._running.pace.look_begins(time.perf_counter())
        with self._calls_pass_again(), Window() as window:
            began = time.perf_counter()
            until = began + length
            last_update = began
            while not self._stopping.is_set() and (remaining := until - time.perf_counter()) > 0:
                self._stopping.wait(min(remaining, GLANCE))
                if self._running.saw_whole(self._looks.sought, began):
                    break
                if time.perf_counter() - last_update > TICK:
                    last_update = time.perf_counter()
                    self._count()
            watched = time.perf_counter() - began
            if self._running.on_gpu:
                self._hold_calls()
        return window.data, watched

    @contextlib.contextmanager
    def _calls_pass_again(self) -> Iterator[None]:
        """Release held calls after the ``with`` block, and store how long one was held."""
        try:
            yield
        finally:
            self._gate.open()
            held_since, self._held_since = self._held_since, None
            self._stall = 0.0 if held_since is None else time.perf_counter() - held_since

    def _hold_calls(self) -> None:
        """Return when a call with ready results is held, or when nothing runs."""
        until = idle_since = time.perf_counter()
        until += MAX_CLOSING_SECONDS
        while (now := time.perf_counter()) < until:
            if self._finishes.pending:
                idle_since = now
            elif self._stopping.is_set() or now - idle_since > IDLE_SECONDS:
                return
            if not self._stopping.is_set():
                for counter, _ in tuple(self._watched.values()):
                    counter.ask()
            if self._gate.close(GLANCE):
                self._held_since = time.perf_counter()
                return

    def _blocked(self, error: ProfilerInUseError) -> None:
        """Stop profiling and report it if another profiler is active; retry later if it is a window of xlascope."""
        if error.__cause__ is None:
            return
        self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Open no more windows, because they would fail like this one, and publish the failure."""
        self._windows = False
        self._tell([records.Failure(None, "profiler", "profile", time.time(), type(error).__name__, str(error))])

    def _tell(self, batch: Iterable[records.Record]) -> None:
        if self._over and threading.current_thread() is self._thread:
            return
        for record in batch:
            self._emit(record)
