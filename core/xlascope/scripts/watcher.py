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
from ..analysis.retraces import Retraces, format_heading
from ..ir.source_texts import excerpt
from ..ir.user_frames import is_library, locate
from ..records.events import Failure, Record
from ..records.job import JobProcess
from ..records.plain import plain
from ..records.programs import SourceRange
from ..records.store import text_of
from .output_files import OutputFiles
from .progress import Progress
from .recorder import ScriptRecorder
from .run_info import RunInfo
from .signals import Signals
from .watch_plugins import Undo, install_watchers

_log = logging.getLogger(__name__)

#: The interval of the timer thread.
TICK_SECONDS = 0.5
#: How long to wait for the timer thread, and for the main thread to handle a signal.
TICKER_TIMEOUT_SECONDS, UNANSWERED_SIGNAL_SECONDS = 1.0, 2.0
#: A process of a job writes its records so often, without a page, if no other interval was given: it may be killed.
JOB_INTERVAL_SECONDS = 10.0
#: The maximum number of retraced functions in the final output, and of characters of each line.
MAX_RETRACED_LINES, MAX_LINE_CHARS = 3, 300


class ScriptWatcher:
    """Watcher of a script: records its programs from :meth:`begin` on, and writes the files in :meth:`finish`.

    ``every`` is the number of seconds after which the files are rewritten (None: only at the end). ``values`` says
    whether the values of training steps are watched as well.
    """

    def __init__(
        self,
        info: RunInfo,
        files: OutputFiles,
        recorder: ScriptRecorder,
        progress: Progress,
        every: float | None,
        *,
        values: bool = False,
    ) -> None:
        self.info = info
        self.files = files
        self.recorder = recorder
        self.progress = progress
        self._every = every
        self._watches_values = values
        self._value_watch: Any = None
        self._value_texts: list[str] = []
        self._process = os.getpid()
        self._signals = Signals(self.finish)
        self._undo: list[Undo] = []
        self._subscription: records.Subscription | None = None
        self._sampler: Any = None
        #: The account of the time of the thread that began to watch, and when that was on its clocks.
        self._accountant: Any = None
        self._began = (0.0, 0.0, 0.0, 0.0)
        self._account_thread = threading.current_thread()
        self._inspecting: Any = None
        self._ticker: threading.Thread | None = None
        self._stopped = threading.Event()
        self._write_lock = threading.RLock()
        self._start_lock = threading.RLock()
        self._written = False
        #: The module that counts calls, loaded with the first program.
        self._calls: Any = None
        self._shared_calls: Any = None
        self._exit_listeners: Any = []
        self._draws_while_running = True

    def begin(self) -> None:
        """Start watching; calls are sampled from the first program on, or at once if programs may exist already."""
        self._began = (time.time(), time.perf_counter(), time.thread_time(), _read_delay_seconds())
        self._account_thread = threading.current_thread()
        self._subscription = records.watch(self._receive)
        self._signals.install()
        self._undo, complaints = install_watchers()
        self.info.notes.update(dict.fromkeys(complaints))
        _active_watchers.add(self)
        if "xlascope.runtime.boot" in sys.modules or "jax" in sys.modules:
            self._start()
            membership = self._calls.current_membership()
            if membership is not None:
                self._join_job(membership.process_id, membership.num_processes)

    def stop_watching(self) -> None:
        """Stop watching. The records remain to be written."""
        if os.getpid() != self._process:
            return
        self._stopped.set()
        self.info.end()
        sampler, self._sampler = self._sampler, None
        try:
            if self._value_watch is not None:
                self._value_texts += self._value_watch.stop()
            if self._accountant is not None:
                self._accountant.stop()
            if sampler is not None:
                sampler.stop()
            if self._shared_calls is not None:
                self._shared_calls.stop()
            for undo in reversed(self._undo):
                undo()
        except Exception:
            _log.exception("watching could not be ended")
        self._undo = []
        self._signals.uninstall()
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None

    def stop_unless_threads_run(self) -> None:
        """Stop watching at the script's end, unless it has threads other than daemons that continue."""
        ignored_names = ("MainThread", "xlascope-watch")
        if all(thread.daemon or thread.name in ignored_names for thread in threading.enumerate()):
            self.stop_watching()

    def finish(self, end_reason: str, *, draws: bool = True) -> None:
        """Write the records, draw the page and print where they are; only the first call does.

        ``end_reason`` says how the script ended; without ``draws`` there is no page. A forked child writes nothing.
        """
        if os.getpid() != self._process:
            return
        with self._write_lock:
            if self._written:
                return
            self._written = True
            self._stopped.set()
            self.info.end()
            self.progress.clear()
            if self._exit in self._exit_listeners:
                self._exit_listeners.remove(self._exit)
            self._write_final(end_reason, draws)

    def _exit(self, message: str) -> None:
        """Write the records of a process that ends at once because its job has failed."""
        self.info.notes[message.splitlines()[0]] = None
        self.finish("the failure of its job", draws=False)

    def _write_final(self, end_reason: str, draws: bool) -> None:
        """Write the files for the last time and print messages; errors of writing are printed, too."""
        try:
            try:
                self.write(end_reason)
            except KeyboardInterrupt:  # try once more: the user interrupted the wait
                self.write(end_reason)
        except OSError as error:
            self.progress.print_message(f"what was seen cannot be written: {error}")
            return
        if not self.recorder.program_count and not self.info.notes:
            self.info.notes["nothing was traced, compiled or run"] = None
        page = self._draw_page() if draws else "no page"
        programs = f"{self.recorder.program_count:,} program{'s' if self.recorder.program_count != 1 else ''}"
        value_lines = (line for text in self._value_texts for line in text.splitlines())
        for text in (*self._retrace_lines(), *value_lines):
            self.progress.print_message(text)
        self.progress.print_message(f"{programs} in {self.info.seconds:.3g} s; {page}, {self.files.json}")

    def _retrace_lines(self) -> list[str]:
        """Return a line for each function that lost the most time to retracing."""
        findings = self.recorder.finding_records()
        if not findings:
            return []
        functions = [function for function in Retraces.of(findings).by_cost() if function.count]
        lines = [
            plain(f"{format_heading(function)}; the last time: {function.newest_first[0].reason}", MAX_LINE_CHARS)
            for function in functions[:MAX_RETRACED_LINES]
        ]
        more = len(functions) - len(lines)
        return lines + ([f"and {more:,} more function{'s' if more > 1 else ''} traced again"] if more else [])

    def _draw_page(self) -> str:
        """Draw the page, wait for it, and return its path, or text that says why there is none."""
        try:
            self.files.draw(wait=True)
        except KeyboardInterrupt:
            self.files.cancel_drawing()
            self.files.error = "interrupted"
        except OSError as error:
            self.files.error = str(error)
        if self.files.error:
            return f"no page ({self.files.error}): python -m xlascope show {self.files.json} -o {self.files.html}"
        return str(self.files.html)

    def write(self, end_reason: str = "") -> None:
        """Write the current records to the JSON file; ``end_reason`` is ``""`` while the script runs."""
        run, texts = self.info.build_record(self.recorder, end_reason)
        self.files.write([text_of(run), *self._job_texts(), *self._account_texts(), *texts])

    def _job_texts(self) -> list[str]:
        """Return the JSON texts about this process in its job and the programs that it shares; none without a job."""
        if self._shared_calls is None:
            return []
        return list(map(text_of, self._shared_calls.build_records(self.info.script, self.info.rank)))

    def _account_texts(self) -> list[str]:
        """Return the JSON text of the account of the main thread's time, once watching has ended."""
        if self._accountant is None or not self._stopped.is_set():
            return []
        try:
            self._accountant.stop()
            return [text_of(self._accountant.build_record(self.info.script, self.recorder.executed_records()))]
        except Exception:
            _log.exception("there is no account of the script's time")
            return []

    def record_failure(self, error: BaseException) -> None:
        """Record an exception raised by the script, unless a program has already reported it."""
        if type(error).__name__ in self.recorder.error_names:
            return
        message = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
        source_range = _find_error_line(error, self.info.script_folder)
        failure = (type(error).__name__, message, source_range, excerpt(source_range))
        self.recorder.receive(Failure(None, self.info.script, "run", time.time(), *failure))

    # On the script's threads -----------------------------------------------------------------------------------------

    def _receive(self, record: Record) -> None:
        if self._sampler is None:
            self._start()
        if isinstance(record, JobProcess):
            self._join_job(record.number, record.count)
        if not self._inspecting():
            self.recorder.receive(record)

    def _start(self) -> None:
        """Start sampling calls, and the timer thread."""
        with self._start_lock:
            if self._ticker is not None or self._stopped.is_set():
                return
            calls = self._calls = importlib.import_module("xlascope.scripts.calls")
            self._inspecting = calls.inspecting
            self._sampler = calls.Sampler()
            self._sampler.start()
            self._shared_calls = calls.SharedCallRecorder()
            self._shared_calls.start()
            if self._watches_values:
                self._value_watch = importlib.import_module("xlascope.scripts.value_watch").ValueWatch()
                self._value_watch.start()
            self._accountant = calls.TimeAccountant(self._sampler.read_calls, self._account_thread)
            self._accountant.start(calls.Moment(*self._began))
            self._ticker = threading.Thread(target=self._tick, name="xlascope-watch", daemon=True)
            self._ticker.start()

    def _join_job(self, number: int, count: int) -> None:
        """Write the records of process ``number`` of ``count`` to files of its own, and now and then."""
        if count > 1 and self.info.rank is None:
            self.info.rank = number, count
            self.files.add_rank(number)
        if self._every is None:
            self._every, self._draws_while_running = JOB_INTERVAL_SECONDS, False
        self._exit_listeners = self._calls.exit_listeners
        if self._exit not in self._exit_listeners:
            self._exit_listeners.append(self._exit)

    def block_signals(self) -> set[int] | None:
        """Block the handled signals on this thread; return those that were blocked before, None if nothing was done."""
        return self._signals.block() if os.getpid() == self._process else None

    def detach_in_child(self) -> None:
        """Stop watching in a forked child, which has none of the watcher's threads."""
        self._signals.uninstall()
        if self._accountant is not None:
            self._accountant.stop()
        if self._subscription is not None:
            self._subscription.close()

    # On the timer thread ---------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        """Handle signals, show progress and rewrite files until watching stops; runs on the timer thread."""
        last_write = self.info.seconds
        while not self._stopped.wait(TICK_SECONDS):
            try:
                self._handle_pending_signal()
                passed = self.info.seconds
                self.progress.tick(passed)
                if self._every is not None and passed >= last_write + self._every:
                    self._rewrite()
                    last_write = self.info.seconds
            except Exception:
                _log.exception("what is watched cannot be told while it runs")
                return

    def _handle_pending_signal(self) -> None:
        """Terminate by a signal that the blocked main thread has not handled."""
        pending = self._signals.find_pending()
        if pending is not None and not self._stopped.wait(UNANSWERED_SIGNAL_SECONDS):
            self._signals.terminate(pending)

    def _rewrite(self) -> None:
        with self._write_lock:
            if self._stopped.is_set():
                return
            try:
                self.write()
                if self._draws_while_running:
                    self.files.draw(wait=False)
            except OSError as error:
                self.progress.print_message(f"what was seen so far cannot be written: {error}")


#: The active watchers, for a forked child.
_active_watchers: weakref.WeakSet[ScriptWatcher] = weakref.WeakSet()


#: The signals that each thread had blocked before a fork.
_blocked_before_fork = threading.local()


def _before_fork() -> None:
    _blocked_before_fork.signals = [watcher.block_signals() for watcher in tuple(_active_watchers)]


def _after_fork() -> None:
    blocked, _blocked_before_fork.signals = getattr(_blocked_before_fork, "signals", ()), ()
    for signals in reversed(blocked):
        if signals is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)


def _after_fork_in_child() -> None:
    for watcher in tuple(_active_watchers):
        watcher.detach_in_child()
    _after_fork()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)


def _read_delay_seconds() -> float:
    """Return for how long this thread has waited for a processor so far; 0.0 where the system does not count that."""
    try:
        with open("/proc/thread-self/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _find_error_line(error: BaseException, folder: str) -> SourceRange | None:
    """Return the innermost line of an error in the script's ``folder``, or else the innermost outside of libraries."""
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
