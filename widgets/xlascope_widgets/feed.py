"""From records on any thread to few messages: what changed is gathered and sent at most ten times a second.

A notebook's message channel loses messages without an error when more than about a thousand are waiting, so a record
never makes a message of its own.
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

#: Seconds between two messages; a heavy one waits longer, so that no more than this many bytes a second are sent.
INTERVAL = 0.1
BYTES_A_SECOND = 4_000_000

#: Programs shown one by one; of a cell that makes more (eager operations), those with most to see are kept.
MOST_PROGRAMS = 40

#: Functions on the recompile card, and times that each was traced again: the numbers tell of all of them.
MOST_RETRACED, MOST_RETRACES = 6, 8

Send = Callable[[dict[str, wire.JSON] | None, wire.JSON], int]
"""Gets the programs by number (None when none has changed) and the live numbers; returns the bytes sent, roughly."""


class Feed:
    """Gathers records into a ledger and sends its state from one timer thread, which lives only while there is news."""

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
        #: What the same cell ran before, by the functions' names.
        self.before: Mapping[str, Run] = {}
        #: Which tab below the graph is shown at first.
        self.tab = ""
        self._sent: dict[str, wire.JSON] = {}
        self._thread: threading.Thread | None = None

    def restart(self, cell: str) -> None:
        """Forget what was shown, for the records of another cell, which people call ``cell``."""
        with self._news:
            self.ledger, self._sent, self.finished, self._cell = Ledger(), {}, False, cell
            self._dirty = self._grown = True

    def show(self, ledger: Ledger) -> None:
        """Show a ledger that is complete; :meth:`finish` sends it."""
        with self._news:
            self.ledger = ledger
            self._dirty = self._grown = True

    def receive(self, record: Record) -> None:
        """Take in a record, from any thread; returns at once."""
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
        """Stop the timer and send what is left; later records are sent by the next call of this."""
        with self._news:
            self.finished = True
            self._dirty = True
            self._news.notify()
            thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=2)
        self.flush()

    def flush(self) -> int:
        """Send now, if there is anything new; returns the bytes sent, roughly."""
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
        known = latest_ceilings(shown)
        return {
            "seq": self._sequence,
            "now": time.time(),
            "finished": self.finished,
            "main": None if not shown else AFTER if self.ledger.diff is not None else shown[0].number,
            "more": 0 if self.ledger.script is not None else self._more(shown),
            "programs": [wire.light(program, known) | self._since(program) for program in shown],
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
        """What has changed since the cell ran before."""
        before = self.before.get(program.function)
        found = since(before, program.run) if before is not None and not program.is_operation else None
        if found is None:
            return {}
        return {"edited": {"was": found.was, "words": list(found.words), "differs": found.differs}}

    def _retraced(self) -> wire.JSON:
        """Functions that were traced again; nothing of most cells."""
        if self.ledger.diff is not None:  # both programs of a comparison were meant to be traced
            return {}
        functions = self.ledger.retraces.by_cost()[:MOST_RETRACED]
        return {"retraced": bounded(retraces_json(functions, most=MOST_RETRACES))} if functions else {}

    def _heavy(self, numbers: list[int]) -> dict[str, wire.JSON]:
        """The heavy halves; one that was made already is made again only when its program has reached another stage."""
        heavies = {}
        for number in numbers:
            program = self.ledger.programs[number]
            known = self._sent.get(str(number))
            stages = (program.traced is not None, program.compiled is not None, program.answers)
            if known is None or stages != ("jaxpr" in known, "kernels" in known, known.get("found", 0)):
                known = wire.heavy(program)
            heavies[str(number)] = known
        self._sent = heavies
        return dict(heavies)

    def _run(self) -> None:
        pause = 0.0
        while True:
            with self._news:
                self._news.wait_for(lambda: self._dirty or self.finished)
                # A first short pause gathers what comes at once: trace, lowering and compilation of a small program.
                if self._news.wait_for(lambda: self.finished, timeout=max(pause, self._interval / 4)):
                    return
            try:
                sent = self.flush()
            except Exception:
                _log.exception("the panel could not be updated")
                return
            pause = max(self._interval, sent / BYTES_A_SECOND)
