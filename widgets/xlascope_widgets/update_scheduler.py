"""Batching of records from any thread into few messages: changes are sent at most ten times a second.

A notebook's message channel silently drops messages when more than about a thousand are queued, so a record
never causes a message of its own.
"""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from xlascope.analysis.cell_runs import CellHistory, RunTime, compare_runs
from xlascope.analysis.retraces import retraces_json
from xlascope.records import Ceilings, Record

from . import wire
from .compared_programs import AFTER
from .program_store import ProgramState, ProgramStore
from .sanitize import sanitize
from .wire_account import encode_account
from .wire_diff import encode_diff
from .wire_doctor import encode_doctor
from .wire_job import encode_job
from .wire_measured import encode_ceilings, latest_ceilings
from .wire_script import encode_script, unshown_failures

_log = logging.getLogger(__name__)

#: The minimum time between two messages, which is longer for large ones to limit the bytes per second.
MIN_INTERVAL_SECONDS = 0.1
MAX_BYTES_PER_SECOND = 4_000_000

#: The maximum number of programs shown; of a cell with more (eager operations), the largest are shown.
MAX_PROGRAMS = 40

#: The maximum number of functions on the recompile card, and of retraces of each; the totals count all of them.
MAX_RETRACED_FUNCTIONS, MAX_RETRACES_PER_FUNCTION = 6, 8

#: The maximum number of earlier runs' times that are kept encoded.
MAX_ENCODED_RUNS = 256

Send = Callable[[dict[str, wire.JSON] | None, wire.JSON], int]
"""Gets the programs by number (None when none has changed) and the live numbers; returns the bytes sent, roughly."""


class UpdateScheduler:
    """Collector of a panel's records that sends the state to the browser from a timer thread.

    ``send`` receives the programs and the live numbers, about every ``interval`` seconds while they change, and
    returns how many bytes it sent. ``store`` holds the records. The thread runs only from the first record until
    :meth:`finish`. With ``profiles_apart`` the live numbers have profiles as ``profiles`` by program: the same objects
    until there are others.
    """

    def __init__(self, send: Send, interval: float = MIN_INTERVAL_SECONDS, *, profiles_apart: bool = False) -> None:
        self._profiles_apart = profiles_apart
        self.store = ProgramStore()
        self.finished = False
        #: Whether the doctor examines the programs when the cell has ended.
        self.is_examined = True
        self._send = send
        self._interval = interval
        self._condition = threading.Condition()
        self._send_lock = threading.Lock()
        self._dirty = self._grown = False
        #: Whether the thread waits for a record.
        self._is_idle = False
        self._sequence = 0
        self._cell = ""
        #: The runs of the same cell, and the title of this one.
        self.history, self.title = CellHistory(), ""
        #: What the button does to the place of the panel: ``pin``, ``unpin``, or "" for no button.
        self.pin = ""
        #: What names the panel in whose place this one began, "" for none: the page begins with what was opened there.
        self.origin = ""
        #: Which tab is selected at first, and stands above the graph.
        self.tab = ""
        self._sent: dict[str, wire.JSON] = {}
        self._thread: threading.Thread | None = None

    def restart(self, cell: str) -> None:
        """Discard what is shown and show the records of another cell, whose title is ``cell``."""
        with self._condition:
            self.store, self._sent, self.finished, self._cell = ProgramStore(), {}, False, cell
            self._dirty = self._grown = True

    def show(self, store: ProgramStore) -> None:
        """Replace the store by a complete one; :meth:`finish` sends it."""
        with self._condition:
            self.store = store
            self._dirty = self._grown = True

    def copy_from(self, other: UpdateScheduler) -> None:
        """Show what another scheduler has received so far; :meth:`finish` or the next record sends it."""
        store = other.snapshot()
        with self._condition:
            self.store, self.history, self.title = store, other.history, other.title
            self._dirty = self._grown = True

    def snapshot(self) -> ProgramStore:
        """Return a store of what has been received so far, to which later records are not added."""
        with self._condition:
            if self.store.diff is not None or self.store.scaled:
                return self.store  # complete: nothing is added to these
            records = list(self.store.records())
        return ProgramStore.of(records)

    def receive(self, record: Record) -> None:
        """Add a record, from any thread; returns immediately."""
        with self._condition:
            self._grown |= self.store.receive(record)
            self._dirty = True
            if self.finished:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="xlascope-panel", daemon=True)
                self._thread.start()
            elif self._is_idle:  # otherwise it wakes anyway, when the pause is over
                self._condition.notify()

    def finish(self, *, examined: bool = True) -> None:
        """Stop the timer and send the final state; call again to send later records.

        Without ``examined`` the doctor has not examined the programs yet, which takes longer than all the rest.
        """
        with self._condition:
            self.finished, self.is_examined = True, examined
            self._dirty = True
            self._condition.notify()
            thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=2)
        self.flush()

    def flush(self) -> int:
        """Send the state if it has changed; return the approximate number of bytes sent."""
        with self._send_lock:
            with self._condition:
                if not self._dirty:
                    return 0
                has_grown, self._dirty, self._grown = self._grown, False, False
                self._sequence += 1
                shown = self.store.select_shown(MAX_PROGRAMS)
                live = self._live_state(shown)
            programs = self._heavy_states([p.number for p in shown if p.has_content]) if has_grown else None
            return self._send(programs, live)

    def _live_state(self, shown: list[ProgramState]) -> wire.JSON:
        """Return as JSON the changing numbers of the shown programs, and the cards about all programs."""
        lights, profiles = self._encode_lights(shown, latest_ceilings(shown))
        return {
            "seq": self._sequence,
            "now": time.time(),
            "finished": self.finished,
            "main": None if not shown else AFTER if self.store.diff is not None else shown[0].number,
            "more": 0 if self.store.script is not None else self._hidden_count(shown),
            "programs": [
                light | self._changes_since_before(program) | self._times_of_runs(program)
                for program, light in zip(shown, lights, strict=True)
            ],
            **({"profiles": profiles} if self._profiles_apart else {}),
            "failures": [wire.encode_failure(failure) for failure in unshown_failures(self.store, shown)],
            **self._retraces_state(),
            **({"cell": self._cell} if self._cell else {}),
            **sanitize(encode_ceilings(shown)),
            **encode_doctor(self.store, shown, self.finished and self.is_examined),
            **encode_script(self.store, shown),
            **encode_account(self.store.time_account),
            **encode_job(self.store.job),
            **({"tab": self.tab} if self.tab else {}),
            **({"pin": self.pin} if self.pin else {}),
            **({"origin": self.origin} if self.origin else {}),
            **({"diff": encode_diff(self.store.diff)} if self.store.diff is not None else {}),
        }

    def _encode_lights(self, shown: list[ProgramState], ceilings: Ceilings | None) -> tuple[list[wire.JSON], wire.JSON]:
        """Return the numbers of each program that change, and by program the profiles that are apart from them."""
        if not self._profiles_apart:
            return [wire.encode_light(program, ceilings) for program in shown], {}
        pairs = [wire.encode_light_apart(program, ceilings) for program in shown]
        lights = [light for light, _ in pairs]
        return lights, {str(light["number"]): profile for light, profile in pairs if profile is not None}

    def _hidden_count(self, shown: list[ProgramState]) -> int:
        return len(self.store.programs) + len(self.store.evicted) - len(shown)

    def _changes_since_before(self, program: ProgramState) -> wire.JSON:
        """Return as JSON how a program differs from the cell's previous run; empty if it does not or there was none."""
        earlier = "" if program.is_operation else self.history.title_before(self.title, program.function)
        before = self.history.find(earlier, program.function)
        difference = None if before is None else compare_runs(before, program.as_run)
        if difference is None:
            return {}
        words = {"was": difference.was, "words": list(difference.words), "differs": difference.differs}
        return {"edited": words | {"runs": f"{earlier} {self.title}"}}

    def _times_of_runs(self, program: ProgramState) -> wire.JSON:
        """Return the times of a program in the runs of the cell as JSON, empty unless there are several."""
        times = [] if program.is_operation else self.history.times(program.function, self.title, program.as_run)
        return {"runs": [_encode_run_time(time) for time in times]} if len(times) > 1 else {}

    def _retraces_state(self) -> wire.JSON:
        """Return the functions that were traced again as JSON, empty if there are none."""
        if self.store.diff is not None:  # both programs of a comparison are traced on purpose
            return {}
        functions = self.store.retraces.by_cost()[:MAX_RETRACED_FUNCTIONS]
        return {"retraced": sanitize(retraces_json(functions, most=MAX_RETRACES_PER_FUNCTION))} if functions else {}

    def _heavy_states(self, numbers: list[int]) -> dict[str, wire.JSON]:
        """Return what is sent once of each program, encoded again only if the program has reached another stage.

        ``numbers`` are the programs to send, and the keys of the result as text.
        """
        heavies = {}
        for number in numbers:
            program = self.store.programs[number]
            state = self._sent.get(str(number))
            stages = (program.traced is not None, program.compiled is not None, program.answer_count)
            if state is None or stages != ("jaxpr" in state, "kernels" in state, state.get("found", 0)):
                state = wire.encode_heavy(program)
            heavies[str(number)] = state
        self._sent = heavies
        return dict(heavies)

    def _run(self) -> None:
        """Send changes until :meth:`finish` is called; runs on the timer thread."""
        pause = 0.0
        while True:
            with self._condition:
                self._is_idle = True
                self._condition.wait_for(lambda: self._dirty or self.finished)
                self._is_idle = False
                # A first pause batches the records of a small program: that it was compiled, or first called.
                if self._condition.wait_for(lambda: self.finished, timeout=max(pause, self._interval / 2)):
                    return
            try:
                sent = self.flush()
            except Exception:
                _log.exception("the panel could not be updated")
                return
            pause = max(self._interval, sent / MAX_BYTES_PER_SECOND)


@functools.lru_cache(MAX_ENCODED_RUNS)
def _encode_run_time(time: RunTime) -> list[Any]:
    """Return the time of a run as JSON: each update has those of the earlier runs again."""
    encoded: list[Any] = sanitize(list(time))
    return encoded
