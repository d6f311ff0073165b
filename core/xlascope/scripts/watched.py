"""A watcher of a script or of a part of one, from its records to the files written of it."""

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

#: The interval of the timer thread.
TICK = 0.5
#: How long to wait for the timer thread, and for the main thread to handle a signal.
PATIENCE, DEAF = 1.0, 2.0
#: The maximum number of retraced functions in the final output, and of characters of each line.
MAX_RETRACED_LINES, MAX_LINE = 3, 300


class Watched:
    """The watcher of a script, active between :meth:`begin` and :meth:`finish`.

    ``every`` is the number of seconds after which the files are rewritten.
    """

    def __init__(self, info: About, files: Files, recorder: Seen, progress: Progress, every: float | None) -> None:
        self.about = info
        self.files = files
        self.seen = recorder
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
        """Start watching; calls are sampled from the first program on, or at once if programs may exist already."""
        self._subscription = records.watch(self._receive)
        self._signals.meet()
        self._undo, complaints = install()
        self.about.notes.update(dict.fromkeys(complaints))
        _begun.add(self)
        if "xlascope.runtime.boot" in sys.modules or "jax" in sys.modules:
            self._start()

    def settle(self) -> None:
        """Stop watching. The records remain to be written."""
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
        """Stop watching at the script's end, unless it has threads that continue."""
        ignored_names = ("MainThread", "xlascope-watch")
        if all(thread.daemon or thread.name in ignored_names for thread in threading.enumerate()):
            self.settle()

    def finish(self, ended: str) -> None:
        """Write the records and print where they are; only the first call does, in the process that began."""
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
            except KeyboardInterrupt:  # try once more: the user interrupted the wait
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
        """Return a line for each function that lost the most time to retracing."""
        findings = self.seen.told_again()
        if not findings:
            return []
        functions = [function for function in Retraces.of(findings).by_cost() if function.count]
        lines = [
            plain(f"{heading(function)}; the last time: {function.newest_first[0].reason}", MAX_LINE)
            for function in functions[:MAX_RETRACED_LINES]
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
        """Write the current records."""
        run, texts = self.about.record(self.seen, ended)
        self.files.write([text_of(run), *texts])

    def fail(self, error: BaseException) -> None:
        """Record an exception raised by the script, unless a program has already reported it."""
        if type(error).__name__ in self.seen.failed:
            return
        message = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
        source_range = _place(error, self.about.home)
        failure = (type(error).__name__, message, source_range, excerpt(source_range))
        self.seen.receive(Failure(None, self.about.script, "run", time.time(), *failure))

    # On the script's threads -----------------------------------------------------------------------------------------

    def _receive(self, record: Record) -> None:
        if self._sampler is None:
            self._start()
        if not self._inspecting():
            self.seen.receive(record)

    def _start(self) -> None:
        """Start sampling calls, and the timer thread."""
        with self._starting:
            if self._ticker is not None or self._over.is_set():
                return
            calls = importlib.import_module("xlascope.scripts.calls")
            self._inspecting = calls.inspecting
            self._sampler = calls.Sampler()
            self._sampler.start()
            self._ticker = threading.Thread(target=self._tick, name="xlascope-watch", daemon=True)
            self._ticker.start()

    def block_signals(self) -> set[int] | None:
        """Block the handled signals on this thread; return those that were blocked before."""
        return self._signals.block() if os.getpid() == self._process else None

    def leave(self) -> None:
        """Stop watching in a forked child, which has none of the watcher's threads."""
        self._signals.leave()
        if self._subscription is not None:
            self._subscription.close()

    # On the timer thread ---------------------------------------------------------------------------------------------

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
        """Terminate by a signal that the blocked main thread has not handled."""
        pending = self._signals.waiting()
        if pending is not None and not self._over.wait(DEAF):
            self._signals.end(pending)

    def _write_anew(self) -> None:
        with self._writing:
            if self._over.is_set():
                return
            try:
                self.write()
                self.files.draw(wait=False)
            except OSError as error:
                self.progress.say(f"what was seen so far cannot be written: {error}")


#: The active watchers, for a forked child.
_begun: weakref.WeakSet[Watched] = weakref.WeakSet()


#: The signals that each thread had blocked before a fork.
_held_back = threading.local()


def _before_fork() -> None:
    _held_back.signals = [watcher.block_signals() for watcher in tuple(_begun)]


def _after_fork() -> None:
    blocked, _held_back.signals = getattr(_held_back, "signals", ()), ()
    for signals in reversed(blocked):
        if signals is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)


def _after_fork_in_child() -> None:
    for watcher in tuple(_begun):
        watcher.leave()
    _after_fork()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


def _place(error: BaseException, folder: str) -> SourceRange | None:
    """Return the innermost line of an error in the script's folder, or else the innermost outside libraries."""
    line = near = None
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_library[code.co_filename]:
            line = locate(code, traceback.tb_lasti) or line
            if not _is_installed(code.co_filename) and os.path.abspath(code.co_filename).startswith(folder):
                near = line
        traceback = traceback.tb_next
    return near or line


def _is_installed(file: str) -> bool:
    return "site-packages" in file or file.startswith("<")
