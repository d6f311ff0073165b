"""Looks at a thread, many times a second: how long it was blocked outside of its spans, and at which line."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import CodeType
from typing import NamedTuple

from ..user_location import CodeLocation, find_user_location
from .call_intervals import CallIntervals
from .numpy_waits import is_array_read
from .span_ledger import OuterTotals, SpanLedger
from .thread_clock import ThreadClock

_log = logging.getLogger(__name__)

#: Seconds between looks at first, the factor by which they grow, and at most.
FIRST_LOOK_SECONDS, LOOK_GROWTH_FACTOR, MAX_LOOK_SECONDS = 0.005, 1.6, 0.25
#: The factor once so many looks in a row have seen the thread at the same instruction.
STEADY_LOOKS, STEADY_GROWTH_FACTOR = 3, 2.0
#: Bytes from a call to where the interpreter hands on its lock: at the call, or behind its inline caches.
CALL_OFFSETS = (0, 2, 4, 6, 8)
#: Share of a wait in the delays of a thread that waits for a processor, as seconds of running.
WAKING_SECONDS = 50e-6
#: Seconds that `stop` waits for the thread.
STOP_TIMEOUT_SECONDS = 0.2


class _Reading(NamedTuple):
    """Clocks at one moment: seconds of the wall, of the processor, of waiting for one, and those of spans."""

    wall: float
    processor: float
    delay: float
    outer: OuterTotals


class _Alarm:
    """Signal that ends one wait; unlike an event, it runs no code of Python, which a thread that wakes has to load."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def wait(self, seconds: float) -> bool:
        """Wait until it is triggered, at most so many seconds; return whether it was."""
        return self._lock.acquire(timeout=seconds)

    def trigger(self) -> None:
        """End the wait, or else the next one; from any thread."""
        with contextlib.suppress(RuntimeError):  # it was triggered already
            self._lock.release()


class ThreadLooks:
    """Thread that looks at another one, from :meth:`start` to :meth:`stop`; starting it again has no effect.

    ``in_calls`` are the seconds in which it was blocked in a call of a function, ``in_numpy`` those in which NumPy
    waited for a result, and ``by_line`` those in which it was blocked elsewhere, by the user's instruction, None where
    no code of the user's ran; all outside of the spans of ``ledger``. ``blocked_before`` are the seconds for which it
    was blocked before the first look.
    ``waits`` counts the looks that saw it wait for a result, by the user's instruction.
    ``on_look`` is called at each look.
    """

    def __init__(
        self, clock: ThreadClock, ledger: SpanLedger, intervals: CallIntervals, on_look: Callable[[], None]
    ) -> None:
        self.has_started = False
        self.in_calls = self.in_numpy = self.blocked_before = 0.0
        self.by_line: dict[CodeLocation | None, float] = {}
        self.waits: Counter[CodeLocation] = Counter()
        self._clock, self._ledger, self._intervals = clock, ledger, intervals
        self._on_look = on_look
        self._stopping = False
        self._alarm = _Alarm()
        self._thread = threading.Thread(target=self._look_until_stopped, name="xlascope-account", daemon=True)
        self._previous = self._read()
        self._instruction: tuple[CodeType | None, int] = None, -1
        self._same_looks = 0
        self._seen_in_call = False, 0

    def start(self) -> None:
        """Start looking, unless it is stopped already."""
        if not self.has_started and not self._stopping:
            self.has_started = True
            reading = self._read()
            if reading is not None and self._previous is not None:
                self.blocked_before = blocked_seconds(self._previous, reading)
                self._previous = reading
            self._thread.start()

    def look_often(self) -> None:
        """Look now, and then as often as at first: something else begins."""
        self._alarm.trigger()

    def stop(self) -> None:
        """Stop looking; a look that is under way is waited for."""
        self._stopping = True
        self._alarm.trigger()
        if self.has_started:
            self._thread.join(STOP_TIMEOUT_SECONDS)

    def _look_until_stopped(self) -> None:
        pause = FIRST_LOOK_SECONDS
        try:
            while True:
                is_woken = self._alarm.wait(pause)
                if self._stopping:
                    return
                pause = FIRST_LOOK_SECONDS if is_woken else self._next_pause(pause)
                self._look()
                self._on_look()
        except Exception:
            _log.exception("the account of a cell's time has no more looks at its thread")

    def _next_pause(self, pause: float) -> float:
        """Return the seconds until the next look; they grow faster while each look sees the same."""
        growth = LOOK_GROWTH_FACTOR if self._same_looks < STEADY_LOOKS else STEADY_GROWTH_FACTOR
        return min(pause * growth, MAX_LOOK_SECONDS)

    def _look(self) -> None:
        """Book the time since the last look in which the thread was blocked, to where it is now."""
        frame = self._clock.frame()
        reading = self._read()
        if reading is None or self._previous is None or frame is None:
            return
        if self._ledger.is_open:  # the next look outside of a span counts the time between
            if self._ledger.waiting_since and (location := find_user_location(frame)) is not None:
                self.waits[location] += 1
            return
        blocked = blocked_seconds(self._previous, reading)
        self._previous = reading
        instruction, location = (frame.f_code, frame.f_lasti), find_user_location(frame)
        del frame  # it holds the user's values
        is_same = instruction[0] is self._instruction[0] and instruction[1] == self._instruction[1]
        self._same_looks, self._instruction = self._same_looks + 1 if is_same else 0, instruction
        sites = len(self._intervals.call_sites)
        if not is_same or self._seen_in_call[1] != sites:  # hashing code takes long
            self._seen_in_call = self._is_in_call(*instruction), sites
        if self._seen_in_call[0]:
            self.in_calls += blocked
        elif is_array_read(*instruction):
            self.in_numpy += blocked
            if location is not None and blocked > 0:
                self.waits[location] += 1
        else:
            self.by_line[location] = self.by_line.get(location, 0.0) + blocked

    def _is_in_call(self, code: CodeType, instruction: int) -> bool:
        """Return whether an instruction calls a function, or hands on the interpreter's lock right after a call."""
        sites = self._intervals.call_sites
        return any((code, instruction - offset) in sites for offset in CALL_OFFSETS)

    def _read(self) -> _Reading | None:
        processor = self._clock.processor_seconds()
        if processor is None:
            return None
        now = time.perf_counter()
        return _Reading(now, processor, self._clock.delay_seconds(), self._ledger.outer(now))


def blocked_seconds(before: _Reading, after: _Reading) -> float:
    """Return for how long a thread was blocked outside of spans between two readings; the difference may be noise."""
    idle = after.wall - before.wall - (after.outer.wall - before.outer.wall)
    processor = after.processor - before.processor - (after.outer.processor - before.outer.processor)
    delay = after.delay - before.delay - (after.outer.delay - before.outer.delay)
    return idle - processor - delay_outside(delay, processor, after.outer.waits - before.outer.waits)


def delay_outside(delay: float, processor: float, waits: int) -> float:
    """Return which part of a thread's waiting for a processor was not at the end of a wait for a result.

    The system counts all of it together. ``processor`` are the seconds for which the thread ran outside of its
    ``waits``, each of which counts as ``WAKING_SECONDS`` more.

    >>> delay_outside(0.4, 0.01, 0), delay_outside(0.4, 0.01, 200)
    (0.4, 0.2)
    """
    running = max(processor, 0.0)
    return delay * running / (running + waits * WAKING_SECONDS) if running else 0.0
