"""Batching of records from any thread into few messages: changes are sent at most ten times a second.

A notebook's message channel silently drops messages when more than about a thousand are queued, so a record
never causes a message of its own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from xlascope.analysis.earlier_run import Run, since
from xlascope.analysis.retraces import retraces_json
from xlascope.records import Record

from . import wire
from .bounded import bounded
from .compared_programs import AFTER
from .ledger import Ledger, Program
from .wire_diff import diff_wire
from .wire_doctor import doctor
from .wire_measured import ceilings, latest_ceilings
from .wire_script import script, told_failures

_log = logging.getLogger(__name__)

#: The minimum time between two messages, which is longer for large ones to limit the bytes per second.
INTERVAL = 0.1
BYTES_A_SECOND = 4_000_000

#: The maximum number of programs shown; of a cell with more (eager operations), the largest are shown.
MOST_PROGRAMS = 40

#: The maximum number of functions on the recompile card, and of retraces of each; the totals count all of them.
MOST_RETRACED, MOST_RETRACES = 6, 8

Send = Callable[[dict[str, wire.JSON] | None, wire.JSON], int]
"""Gets the programs by number (None when none has changed) and the live numbers; returns the bytes sent, roughly."""


class Feed:
    """A scheduler that collects records and sends their state from a timer thread, which runs only while needed."""

    def __init__(self, send: Send, interval: float = INTERVAL) -> None:
        self.ledger = Ledger()
        self.finished = False
        self._send = send
        self._interval = interval
        self._news = threading.Condition()
        self._sending = threading.Lock()
        self._dirty = self._grown = False
        self._sequence = 0
        self._cell = ""
        #: The previous runs of the same cell, by function name.
        self.before: Mapping[str, Run] = {}
        #: Which tab below the graph is shown at first.
        self.tab = ""
        self._sent: dict[str, wire.JSON] = {}
        self._thread: threading.Thread | None = None

    def restart(self, cell: str) -> None:
        """Discard what is shown and show the records of another cell, whose title is ``cell``."""
        with self._news:
            self.ledger, self._sent, self.finished, self._cell = Ledger(), {}, False, cell
            self._dirty = self._grown = True

    def show(self, store: Ledger) -> None:
        """Show a complete store; :meth:`finish` sends it."""
        with self._news:
            self.ledger = store
            self._dirty = self._grown = True

    def receive(self, record: Record) -> None:
        """Add a record, from any thread; returns immediately."""
        with self._news:
            self._grown |= self.ledger.receive(record)
            self._dirty = True
            if self.finished:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="xlascope-panel", daemon=True)
                self._thread.start()
            self._news.notify()

    def finish(self) -> None:
        """Stop the timer and send the final state; call again to send later records."""
        with self._news:
            self.finished = True
            self._dirty = True
            self._news.notify()
            thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=2)
        self.flush()

    def flush(self) -> int:
        """Send the state if it has changed; return the approximate number of bytes sent."""
        with self._sending:
            with self._news:
                if not self._dirty:
                    return 0
                grown, self._dirty, self._grown = self._grown, False, False
                self._sequence += 1
                shown = self.ledger.shown(MOST_PROGRAMS)
                live = self._live(shown)
            programs = self._heavy([p.number for p in shown]) if grown else None
            return self._send(programs, live)

    def _live(self, shown: list[Program]) -> wire.JSON:
        device_ceilings = latest_ceilings(shown)
        return {
            "seq": self._sequence,
            "now": time.time(),
            "finished": self.finished,
            "main": None if not shown else AFTER if self.ledger.diff is not None else shown[0].number,
            "more": 0 if self.ledger.script is not None else self._more(shown),
            "programs": [wire.light(program, device_ceilings) | self._since(program) for program in shown],
            "failures": [wire.failure(failure) for failure in told_failures(self.ledger, shown)],
            **self._retraced(),
            **({"cell": self._cell} if self._cell else {}),
            **bounded(ceilings(shown)),
            **doctor(self.ledger, shown, self.finished),
            **script(self.ledger, shown),
            **({"tab": self.tab} if self.tab else {}),
            **({"diff": diff_wire(self.ledger.diff)} if self.ledger.diff is not None else {}),
        }

    def _more(self, shown: list[Program]) -> int:
        return len(self.ledger.programs) + len(self.ledger.forgotten) - len(shown)

    def _since(self, program: Program) -> wire.JSON:
        """Return what has changed since the cell ran before."""
        before = self.before.get(program.function)
        difference = since(before, program.run) if before is not None and not program.is_operation else None
        if difference is None:
            return {}
        return {"edited": {"was": difference.was, "words": list(difference.words), "differs": difference.differs}}

    def _retraced(self) -> wire.JSON:
        """Return the functions that were traced again, if there are any."""
        if self.ledger.diff is not None:  # both programs of a comparison are traced on purpose
            return {}
        functions = self.ledger.retraces.by_cost()[:MOST_RETRACED]
        return {"retraced": bounded(retraces_json(functions, most=MOST_RETRACES))} if functions else {}

    def _heavy(self, numbers: list[int]) -> dict[str, wire.JSON]:
        """Return the heavy state of each program, encoded again only if the program has reached another stage."""
        heavies = {}
        for number in numbers:
            program = self.ledger.programs[number]
            state = self._sent.get(str(number))
            stages = (program.traced is not None, program.compiled is not None, program.answers)
            if state is None or stages != ("jaxpr" in state, "kernels" in state, state.get("found", 0)):
                state = wire.heavy(program)
            heavies[str(number)] = state
        self._sent = heavies
        return dict(heavies)

    def _run(self) -> None:
        pause = 0.0
        while True:
            with self._news:
                self._news.wait_for(lambda: self._dirty or self.finished)
                # A short first pause batches the trace, lowering and compilation of a small program.
                if self._news.wait_for(lambda: self.finished, timeout=max(pause, self._interval / 4)):
                    return
            try:
                sent = self.flush()
            except Exception:
                _log.exception("the panel could not be updated")
                return
            pause = max(self._interval, sent / BYTES_A_SECOND)
