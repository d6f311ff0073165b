"""Watching programs run: exact calls from a counter, times from short profiler windows, as ``Executed`` records.

Nothing runs for a :class:`Sampler` until the first call; then one thread wakes a few times a second, and now and then
opens a window, for less than a hundredth of the time (:mod:`xlascope.xla.profiling.profile`), and only while calls are
made; another waits for the results of a few calls, and so knows when they are done.
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

#: Seconds between two looks at the counts, and before the first.
TICK, FIRST_TICK = 0.5, 0.03
#: Seconds between two looks at what has finished, while a window is open.
GLANCE = 0.05
#: How long `stop` waits for a window to close.
PATIENCE = 0.1
#: The same on a GPU, where a window that closes beside the program's calls would end the process.
MAX_CLOSING_SECONDS = 2.0
#: A program that made no call for so many seconds, and waits for none, is taken for idle.
IDLE_SECONDS = 0.5

Emit = Callable[[records.Record], None]


class Sampler:
    """Publishes ``Executed`` records of the programs that run between :meth:`start` and :meth:`stop`.

    ``emit`` receives the records, on a thread of the sampler's own; before a program's first one also its ``Traced``
    and ``Compiled``, when it was made before the start. ``first`` is called with each jitted function when it is
    called for the first time, on the thread that calls it. With ``windows=False`` calls are counted, not timed.
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
        """Watch from now on."""
        self._subscription = records.watch(self._receive)
        self._leave = meet(self._meet)
        self._meet_engine()

    def stop(self) -> None:
        """Watch no more, and tell the last counts; takes at most a tenth of a second (an open window is closed)."""
        if self._leave is not None:
            self._leave()
            self._leave = None
        for runs, (counter, listener) in self._watched.items():
            counter.stop()
            if listener in runs.dispatched:
                runs.dispatched.remove(listener)
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

    # Whose programs run ----------------------------------------------------------------------------------------------

    def _meet(self, runs: Runs) -> None:
        """Hear of the calls of one engine from now on."""
        counter = CallCounter(runs, partial(self._made, runs))
        listener = partial(self._dispatched, runs)
        self._watched[runs] = counter, listener
        runs.dispatched.append(listener)
        counter.start()

    def _meet_engine(self) -> None:
        """Our own engine says who it is when it is asked for; it is not started by being watched."""
        if not self._knows_engine and is_started():
            self._knows_engine = True
            engine()

    def _programs_of(self, function: Any) -> Sequence[Known]:
        owners = (runs for runs, (counter, _) in tuple(self._watched.items()) if counter.counted(function))
        return next((runs.programs(function) for runs in owners), ())

    def _counts(self) -> dict[Any, int]:
        counted: dict[Any, int] = {}
        for counter, _ in tuple(self._watched.values()):
            counted |= counter.counts()
        return counted

    def _labels(self) -> dict[tuple[str, int], str]:
        return {key: label for runs in tuple(self._watched) for key, label in runs.labels().items()}

    # On the threads of the program that is watched -------------------------------------------------------------------

    def _made(self, runs: Runs, function: Any, out: Any, first: bool) -> None:
        made = Made(function, None, self._counts(), dict(self._starts), time.perf_counter())
        self._finishes.add(made, partial(runs.leaves, out))
        self._gate.enter(partial(runs.leaves, out))
        if first:
            self._wake()
            if self._first is not None:
                self._first(function)

    def _dispatched(self, runs: Runs, program: int, out: Any) -> None:
        """A call that came through Python is on its way."""
        began = self._began.pop((threading.get_ident(), program), None)
        if began is not None:
            now = time.perf_counter()
            made = Made(None, program, self._counts(), dict(self._starts), now, began)
            self._finishes.add(made, partial(runs.leaves, out))
        self._gate.enter(partial(runs.leaves, out))

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
                moved = self._count()
                active = moved or self._busy or self._finishes.pending
                if self._windows and active and time.perf_counter() >= self._not_before:
                    while self._look():
                        pass
                    self._count()  # a call made while this looked is no reason to look again half a second later
        except Exception:
            _log.exception("the sampler of running programs failed; there will be no more times")

    def _finished(self, made: Made, done: float, waited: bool) -> None:
        """A call is done; called on the thread that waits for that."""
        with self._lock:
            known = self._running.timed
            self._running.finished(made, done, waited)
        if self._running.timed > known:  # the first time of a program is told at once
            self._stirred.set()

    def _count(self) -> bool:
        """Read the counter and tell what has changed; False when nothing has."""
        now = time.perf_counter()
        with self._lock:
            elapsed, self._looked = now - self._looked, now
            self._running.count(self._counts(), elapsed)
            found = self._running.news()
            unknown = [each.number for each in self._running.called_programs() if each.number not in self._told]
            self._told.update(unknown)
        watched = tuple(self._watched)
        while self._fresh:
            fresh = self._fresh.popleft()
            for runs in watched:
                runs.remember(fresh)
        known = [record for number in unknown for runs in watched for record in runs.records_of(number)]
        for record in known:
            self._running.know(record)
        self._tell([*known, *found])
        return bool(found)

    def _look(self) -> bool:
        """Open a window, and tell what it saw; True when another one is to follow at once."""
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
            found = self._running.news()
        self._busy = bool(profiles)
        self._not_before = time.perf_counter() + pause
        self._tell(found)
        return self._busy and not pause and not self._stopping.is_set()

    def _watch(self, length: float) -> tuple[bytes, float]:
        """What a window of so many seconds saw, or a shorter one if a whole call is in it; counts go on meanwhile."""
        with self._lock:
            self._running.pace.look_begins(time.perf_counter())
        with self._calls_pass_again(), Window() as opened:
            began = time.perf_counter()
            until = began + length
            told = began
            while not self._stopping.is_set() and (left := until - time.perf_counter()) > 0:
                self._stopping.wait(min(left, GLANCE))
                if self._running.saw_whole(self._looks.sought, began):
                    break
                if time.perf_counter() - told > TICK:
                    told = time.perf_counter()
                    self._count()
            watched = time.perf_counter() - began
            if self._running.on_gpu:
                self._hold_calls()
        return opened.data, watched

    @contextlib.contextmanager
    def _calls_pass_again(self) -> Iterator[None]:
        """A ``with`` block after which calls are held no more; notes how long one was."""
        try:
            yield
        finally:
            self._gate.open()
            held, self._held_since = self._held_since, None
            self._stall = 0.0 if held is None else time.perf_counter() - held

    def _hold_calls(self) -> None:
        """Return when a call is held whose results are there, or when nothing runs."""
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
        """A window of our own is open elsewhere: try again later. Somebody else is profiling: say so, once."""
        if error.__cause__ is None:
            return
        self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """No more windows: they would fail like this one."""
        self._windows = False
        self._tell([records.Failure(None, "profiler", "profile", time.time(), type(error).__name__, str(error))])

    def _tell(self, found: Iterable[records.Record]) -> None:
        if self._over and threading.current_thread() is self._thread:
            return
        for record in found:
            self._emit(record)
