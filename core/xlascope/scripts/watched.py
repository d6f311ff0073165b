"""A script, or a part of one, while it is watched: from its records to what is written of it."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sys
import threading
import time
import weakref
from typing import Any

from .. import records
from ..analysis.retraces import Retraces, heading
from ..ir.source_texts import excerpt
from ..ir.sources import is_library, locate
from ..records.events import Failure, Record
from ..records.plain import plain
from ..records.programs import SourceRange
from ..records.store import text_of
from .about import About
from .files import Files
from .progress import Progress
from .seen import Seen
from .signals import Signals
from .sources import Undo, install

_log = logging.getLogger(__name__)

#: Seconds between two looks at what is due.
TICK = 0.5
#: How long the thread that ticks is waited for, and a signal that the main thread has not answered.
PATIENCE, DEAF = 1.0, 2.0
#: Functions that the last words tell of because they were traced again, and characters of each of these lines.
MAX_RETRACED_LINES, MAX_LINE = 3, 300


class Watched:
    """Watches between :meth:`begin` and :meth:`finish`. ``every`` is after how many seconds files are written anew."""

    def __init__(self, about: About, files: Files, seen: Seen, progress: Progress, every: float | None) -> None:
        self.about = about
        self.files = files
        self.seen = seen
        self.progress = progress
        self._every = every
        self._process = os.getpid()
        self._signals = Signals(self.finish)
        self._undo: list[Undo] = []
        self._subscription: records.Subscription | None = None
        self._sampler: Any = None
        self._inspecting: Any = None
        self._ticker: threading.Thread | None = None
        self._over = threading.Event()
        self._writing = threading.RLock()
        self._starting = threading.RLock()
        self._written = False

    def begin(self) -> None:
        """Watch from now on. What counts calls is started with the first program, or now where there may be some."""
        self._subscription = records.watch(self._receive)
        self._signals.meet()
        self._undo, complaints = install()
        self.about.notes.update(dict.fromkeys(complaints))
        _begun.add(self)
        if "xlascope.runtime.boot" in sys.modules or "jax" in sys.modules:
            self._start()

    def settle(self) -> None:
        """Watch no more. What was seen is still to be written."""
        if os.getpid() != self._process:
            return
        self._over.set()
        self.about.end()
        sampler, self._sampler = self._sampler, None
        try:
            if sampler is not None:
                sampler.stop()
            for undo in reversed(self._undo):
                undo()
        except Exception:
            _log.exception("watching could not be ended")
        self._undo = []
        self._signals.leave()
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    def settle_unless_threads_run(self) -> None:
        """The script has come to its end: watch no more, unless threads of it go on."""
        ours = ("MainThread", "xlascope-watch")
        if all(each.daemon or each.name in ours for each in threading.enumerate()):
            self.settle()

    def finish(self, ended: str) -> None:
        """Write what was seen, and say where it is. Only the first call does, and only in the process that began."""
        if os.getpid() != self._process:
            return
        with self._writing:
            if self._written:
                return
            self._written = True
            self._over.set()
            self.about.end()
            self.progress.clear()
            self._last(ended)

    def _last(self, ended: str) -> None:
        try:
            try:
                self.write(ended)
            except KeyboardInterrupt:  # once more: that was impatience
                self.write(ended)
        except OSError as error:
            self.progress.say(f"what was seen cannot be written: {error}")
            return
        if not self.seen.programs and not self.about.notes:
            self.about.notes["nothing was traced, compiled or run"] = None
        page = self._page()
        programs = f"{self.seen.programs:,} program{'s' if self.seen.programs != 1 else ''}"
        for text in self._retraced():
            self.progress.say(text)
        self.progress.say(f"{programs} in {self.about.seconds:.3g} s; {page}, {self.files.json}")

    def _retraced(self) -> list[str]:
        """Return a line for each of the functions that lost most time because they were traced again."""
        found = self.seen.told_again()
        if not found:
            return []
        functions = [each for each in Retraces.of(found).by_cost() if each.count]
        lines = [
            plain(f"{heading(each)}; the last time: {each.newest_first[0].reason}", MAX_LINE)
            for each in functions[:MAX_RETRACED_LINES]
        ]
        more = len(functions) - len(lines)
        return lines + ([f"and {more:,} more function{'s' if more > 1 else ''} traced again"] if more else [])

    def _page(self) -> str:
        try:
            self.files.draw(wait=True)
        except KeyboardInterrupt:
            self.files.give_up()
            self.files.complaint = "interrupted"
        except OSError as error:
            self.files.complaint = str(error)
        if self.files.complaint:
            return f"no page ({self.files.complaint}): python -m xlascope show {self.files.json} -o {self.files.html}"
        return str(self.files.html)

    def write(self, ended: str = "") -> None:
        """Write the records as they are now."""
        run, texts = self.about.record(self.seen, ended)
        self.files.write([text_of(run), *texts])

    def fail(self, error: BaseException) -> None:
        """The script has raised; not told again where a program told of it."""
        if type(error).__name__ in self.seen.failed:
            return
        message = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
        place = _place(error, self.about.home)
        failure = (type(error).__name__, message, place, excerpt(place))
        self.seen.receive(Failure(None, self.about.script, "run", time.time(), *failure))

    # On the threads of the script ------------------------------------------------------------------------------------

    def _receive(self, record: Record) -> None:
        if self._sampler is None:
            self._start()
        if not self._inspecting():
            self.seen.receive(record)

    def _start(self) -> None:
        """There is a program: count calls, and tick."""
        with self._starting:
            if self._ticker is not None or self._over.is_set():
                return
            found = importlib.import_module("xlascope.scripts.calls")
            self._inspecting = found.inspecting
            self._sampler = found.Sampler()
            self._sampler.start()
            self._ticker = threading.Thread(target=self._tick, name="xlascope-watch", daemon=True)
            self._ticker.start()

    def block_signals(self) -> set[int] | None:
        """Hold back the signals that this answers, on this thread; returns what was held back before."""
        return self._signals.block() if os.getpid() == self._process else None

    def leave(self) -> None:
        """Watch no more in a child that was forked: it has none of our threads."""
        self._signals.leave()
        if self._subscription is not None:
            self._subscription.close()

    # On a thread of our own ------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        due = self.about.seconds + (self._every or 0.0)
        while not self._over.wait(TICK):
            try:
                self._answer_signals()
                passed = self.about.seconds
                self.progress.tick(passed)
                if self._every is not None and passed >= due:
                    self._write_anew()
                    due = self.about.seconds + self._every
            except Exception:
                _log.exception("what is watched cannot be told while it runs")
                return

    def _answer_signals(self) -> None:
        """A signal has come, and the main thread does not answer: it waits for something."""
        came = self._signals.waiting()
        if came is not None and not self._over.wait(DEAF):
            self._signals.end(came)

    def _write_anew(self) -> None:
        with self._writing:
            if self._over.is_set():
                return
            try:
                self.write()
                self.files.draw(wait=False)
            except OSError as error:
                self.progress.say(f"what was seen so far cannot be written: {error}")


#: Those that are watched now, for a child that is forked.
_begun: weakref.WeakSet[Watched] = weakref.WeakSet()


#: The signals that each thread held back before it began to fork.
_held_back = threading.local()


def _before_fork() -> None:
    _held_back.signals = [watched.block_signals() for watched in tuple(_begun)]


def _after_fork() -> None:
    held_back, _held_back.signals = getattr(_held_back, "signals", ()), ()
    for signals in reversed(held_back):
        if signals is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)


def _after_fork_in_child() -> None:
    for watched in tuple(_begun):
        watched.leave()
    _after_fork()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


def _place(error: BaseException, folder: str) -> SourceRange | None:
    """Where in the script an error came from: the innermost line in its folder, or else that is not the library's."""
    found = near = None
    where = error.__traceback__
    while where is not None:
        code = where.tb_frame.f_code
        if not is_library[code.co_filename]:
            found = locate(code, where.tb_lasti) or found
            if not _is_installed(code.co_filename) and os.path.abspath(code.co_filename).startswith(folder):
                near = found
        where = where.tb_next
    return near or found


def _is_installed(file: str) -> bool:
    return "site-packages" in file or file.startswith("<")
