"""Ledger of the spans that one thread reports itself, made exclusive: a span's time is without those inside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

_clock, _processor_clock = time.perf_counter, time.thread_time
#: A shorter span runs on the processor; a longer one that only waits does not.
MAX_BUSY_WAIT_SECONDS = 50e-6

#: Activity, with the number and the name of its program: (0, "") for none.
SpanKey = tuple[str, tuple[int, str]]
NO_PROGRAM = (0, "")


class SpanTotal(NamedTuple):
    """Exclusive seconds and number of the spans of one kind."""

    seconds: float = 0.0
    spans: int = 0


class OuterTotals(NamedTuple):
    """Seconds of all outermost spans, by the wall clock and by the thread's processor clock.

    ``delay`` are those in which the thread waited for a processor, where it was not waiting for a result; ``waits`` is
    the number of waits.
    """

    wall: float
    processor: float
    delay: float = 0.0
    waits: int = 0


class SpanLedger:
    """Spans of one thread: :meth:`enter` and :meth:`leave`, or :meth:`add` for one without others inside.

    Calls on other threads are ignored. ``thread`` is the thread's identifier, ``latest`` is when its last span ended,
    and ``waiting_since`` when a span began that is added when it ends (0.0: none). ``read_delay`` returns the seconds
    that the thread has waited for a processor.
    """

    __slots__ = (
        *("_delay", "_open", "_processor", "_read_delay", "_totals", "_wait_count", "_wait_seconds", "_wall"),
        *("latest", "thread", "waiting_since"),
    )

    def __init__(self, thread: int, read_delay: Callable[[], float] = lambda: 0.0) -> None:
        self.thread = thread
        self._read_delay = read_delay
        self.latest = _clock()
        self.waiting_since = 0.0
        self._totals: dict[SpanKey, list[Any]] = {}
        self._open: list[tuple[SpanKey, float, float, float, list[float]]] = []
        self._wall = self._processor = self._delay = self._wait_seconds = 0.0
        self._wait_count = 0

    def enter(self, activity: str, program: tuple[int, str] = NO_PROGRAM) -> None:
        """Begin a span that may have others inside."""
        if threading.get_ident() == self.thread:
            delay = 0.0 if self._open else self._read_delay()
            self._open.append(((activity, program), _clock(), _processor_clock(), delay, [0.0]))

    def leave(self) -> float:
        """End the span that began last; return its seconds if it was an outermost one, else 0.0."""
        return self._end_innermost() if threading.get_ident() == self.thread and self._open else 0.0

    def _end_innermost(self) -> float:
        key, began, processor_began, delay_began, (inner,) = self._open.pop()
        self.latest = now = _clock()
        self._add_total(key, now - began - inner)
        if self._open:
            self._open[-1][4][0] += now - began
        else:
            self._wall += now - began
            is_own_clock = threading.get_ident() == self.thread
            self._processor += _processor_clock() - processor_began if is_own_clock else now - began
            self._delay += self._read_delay() - delay_began
        return 0.0 if self._open else now - began

    def add(self, activity: str, began: float, ended: float) -> None:
        """Add a span without others inside, on the ledger's thread."""
        self.latest, self.waiting_since = ended, 0.0
        seconds = ended - began
        self._add_total((activity, NO_PROGRAM), seconds)
        if self._open:
            self._open[-1][4][0] += seconds
        else:
            self._wall += seconds
            self._processor += seconds

    def add_wait(self, began: float) -> None:
        """Add a wait that ends now, on the ledger's thread."""
        self.latest = ended = _clock()
        self.waiting_since = 0.0
        seconds = ended - began
        self._wait_seconds += seconds
        self._wait_count += 1
        if self._open:
            self._open[-1][4][0] += seconds
        else:
            self._wall += seconds
            if seconds < MAX_BUSY_WAIT_SECONDS:
                self._processor += seconds

    def _add_total(self, key: SpanKey, seconds: float) -> None:
        total = self._totals.get(key)
        if total is None:
            self._totals[key] = [seconds, 1]
        else:
            total[0] += seconds
            total[1] += 1

    @property
    def is_open(self) -> bool:
        """Return whether the thread is inside a span; from any thread."""
        return bool(self._open) or self.waiting_since > 0.0

    def close(self) -> None:
        """End all open spans, at the end of the account; on the thread itself, or on another if that has ended."""
        while self._open:
            self._end_innermost()

    def outer(self, now: float) -> OuterTotals:
        """Return the seconds of all outermost spans until ``now``; from any thread.

        The processor time of an open span is counted when it ends.
        """
        outermost = self._open[:1]
        wall = self._wall + sum(max(now - began, 0.0) for _, began, *_ in outermost)
        return OuterTotals(wall, self._processor, self._delay, self._wait_count)

    def totals(self) -> dict[SpanKey, SpanTotal]:
        """Return the exclusive seconds and the numbers of all spans that have ended."""
        totals = {key: SpanTotal(*total) for key, total in self._totals.items()}
        if self._wait_count:
            totals["wait", NO_PROGRAM] = SpanTotal(self._wait_seconds, self._wait_count)
        return totals

    def until(self, now: float) -> tuple[OuterTotals, dict[SpanKey, SpanTotal]]:
        """Return :meth:`outer` and :meth:`totals` with what has begun and not ended at ``now``; from any thread.

        Raises RuntimeError if the ledger's thread adds a kind of span meanwhile.
        """
        open_spans, waiting_since = list(self._open), self.waiting_since
        outer, totals = self.outer(now), self.totals()
        ends = [*(began for _, began, *_ in open_spans[1:]), waiting_since or now]
        going = [
            (key, end - began - inner) for (key, began, _, _, (inner,)), end in zip(open_spans, ends, strict=False)
        ]
        if waiting_since:
            going.append((("wait", NO_PROGRAM), now - waiting_since))
        for key, seconds in going:
            before = totals.get(key, SpanTotal())
            totals[key] = SpanTotal(before.seconds + max(seconds, 0.0), before.spans + 1)
        if waiting_since and not open_spans:
            outer = outer._replace(wall=outer.wall + max(now - waiting_since, 0.0))
        return outer, totals
