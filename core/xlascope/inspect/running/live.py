"""Watching programs run: exact calls from a counter, times from short profiler windows, as ``Executed`` records.

Nothing runs for a :class:`Sampler` until the first call; then one thread wakes a few times a second, and now and then
opens a window, for less than a hundredth of the time (:mod:`xlascope.xla.profile`), and only while calls are made.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from ... import records
from ...readers import FormatError
from ...readers.profiles import read_profile
from ...xla.profile import ProfilerInUseError, Window, first_window, next_pause, next_window
from ..engine.calls import jitted_of, known_records
from ..quiet import inspecting
from .calls import CallCounter
from .counts import Running

_log = logging.getLogger(__name__)

#: Seconds between two looks at the counts, and before the first.
TICK, FIRST_TICK = 0.5, 0.03
#: Windows become rarer the more has been seen, until the pauses are so many times as long.
SELDOM = 4
#: How long `stop` waits for a window to close.
PATIENCE = 0.1

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
        self._counter = CallCounter(self._met)
        self._running = Running()
        self._told: set[int] = set()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._subscription: records.Subscription | None = None
        self._looked = time.perf_counter()
        self._window = 0.0
        self._not_before = 0.0
        self._looks = 0
        self._busy = self._over = False

    def start(self) -> None:
        """Watch from now on."""
        self._subscription = records.watch(self._receive)
        self._counter.start()

    def stop(self) -> None:
        """Watch no more, and tell the last counts; takes at most a tenth of a second (an open window is closed)."""
        self._counter.stop()
        if self._subscription is not None:
            self._subscription.close()
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)
        self._over = True
        self._count()

    def __enter__(self) -> Sampler:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # On the threads of the program that is watched -------------------------------------------------------------------

    def _met(self, function: Any) -> None:
        if jitted_of(function) is not None:
            self._wake()
            if self._first is not None:
                self._first(function)

    def _receive(self, record: records.Record) -> None:
        with self._lock:
            self._running.know(record)
        if inspecting():
            return
        match record:
            case records.Traced():
                self._told.add(record.program)
            case records.Started(stage="run"):
                with self._lock:
                    self._running.called(record)
                self._wake()

    def _wake(self) -> None:
        if self._thread is None:
            self._looked = time.perf_counter()
            self._thread = threading.Thread(target=self._run, name="xlascope-sampler", daemon=True)
            self._thread.start()

    # On the sampler's thread ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        pause = FIRST_TICK
        try:
            while not self._stopping.wait(pause):
                pause = TICK
                moved = self._count()
                if self._windows and (moved or self._busy) and time.perf_counter() >= self._not_before:
                    self._look()
        except Exception:
            _log.exception("the sampler of running programs failed; there will be no more times")

    def _count(self) -> bool:
        """Read the counter and tell what has changed; False when nothing has."""
        now = time.perf_counter()
        with self._lock:
            elapsed, self._looked = now - self._looked, now
            self._running.count(self._counter.counts(), elapsed)
            found = self._running.news()
            unknown = [traced for traced in self._running.called_programs() if traced.number not in self._told]
            self._told.update(traced.number for traced in unknown)
        known = [record for traced in unknown for record in known_records(traced)]
        for record in known:
            self._running.know(record)
        self._tell([*known, *found])
        return bool(found)

    def _look(self) -> None:
        """Open a window, and tell what it saw."""
        began = time.thread_time()
        self._window = self._window or first_window(*self._running.pace())
        try:
            with Window() as opened:
                watching = time.perf_counter()
                self._stopping.wait(self._window)
                watched = time.perf_counter() - watching
        except ProfilerInUseError as error:
            self._blocked(error)
            return
        try:
            profiles = read_profile(opened.data)
        except FormatError as error:
            self._give_up(error)
            return
        with self._lock:
            self._running.saw(profiles, watched)
            found = self._running.news()
        self._window = next_window(self._window, profiles)
        self._busy = bool(profiles)
        if profiles:  # an empty window was cheap, and the next one is twice as long
            self._looks += 1
            pause = next_pause(time.thread_time() - began) * min(self._looks, SELDOM)
            self._not_before = time.perf_counter() + pause
        self._tell(found)

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
