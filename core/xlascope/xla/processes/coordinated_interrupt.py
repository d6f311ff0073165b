"""Interrupts of a job's processes at one point of the program that they run together.

An interrupt reaches each process somewhere else: one before a call that all share, one behind it. If both stopped
there, the second would wait for the first inside XLA for ever, and variables would differ by a step. So the processes
tell each other how many shared calls each has begun, and each stops where it would begin the first call that no
process has begun.
"""

from __future__ import annotations

import contextlib
import json
import signal
import threading
import time
from collections.abc import Sequence
from typing import Any

from ...runtime.errors import JaxRuntimeError
from .failure_state import failure
from .membership import Membership

#: How long an interrupted process waits for what the others say.
MAX_AGREEMENT_SECONDS = 2.0
#: From then on an interrupted process that begins no shared call stops where it is.
MAX_DELAY_SECONDS = 3.0
_POLL_SECONDS = 0.05
#: Seconds between two looks of the thread that listens to the others.
_LISTENING_SECONDS = 0.2


class InterruptCoordinator:
    """Coordinator of interrupts of one process; a *run* is a piece of work that ``processes`` do at the same time.

    ``begin_call`` is called before each call of a shared program. The main thread runs what is interrupted.
    """

    def __init__(self, membership: Membership) -> None:
        self._membership = membership
        self._lock = threading.Lock()
        self._run = ""
        self._processes: tuple[int, ...] = (membership.process_id,)
        self._calls = self._calls_at_begin = 0
        self._is_asked = False
        self._stop_at: int | None = None
        self._signals = 0
        self._deadline: float | None = None
        self._is_running = False
        self._former_handler: Any = None
        self._is_closed = False
        threading.Thread(target=self._listen, name="xlascope interrupts", daemon=True).start()

    def begin_run(self, run: str, processes: Sequence[int]) -> None:
        """Begin a run, which has the same name in all of its processes; interrupts are coordinated until its end."""
        with self._lock:
            self._run, self._processes = run, tuple(processes)
            self._calls_at_begin = self._calls
            self._is_asked, self._stop_at, self._signals, self._deadline = False, None, 0, None
            self._is_running = True
        if threading.current_thread() is threading.main_thread():
            self._former_handler = signal.signal(signal.SIGINT, self._on_signal)

    def end_run(self) -> None:
        """End the run."""
        self._is_running, self._deadline = False, None
        if self._former_handler is not None:
            signal.signal(signal.SIGINT, self._former_handler)
            self._former_handler = None

    def close(self) -> None:
        """Listen to the others no more."""
        self._is_closed = True

    def begin_call(self) -> None:
        """Count a call of a shared program that begins; raise KeyboardInterrupt instead if the run stops here."""
        if threading.current_thread() is not threading.main_thread():
            return
        if self._is_asked and self._is_running:
            self._agree()
        if self._stop_at is not None and self._calls >= self._stop_at and self._is_running:
            self._deadline = self._stop_at = None
            raise KeyboardInterrupt
        self._calls += 1

    def _on_signal(self, number: int, frame: object) -> None:
        """Raise KeyboardInterrupt, or let the run go on to the call at which all stop."""
        __tracebackhide__ = True  # IPython's tracebacks
        self._signals += 1
        if self._signals > 1 or not self._agree():
            raise KeyboardInterrupt

    def _agree(self) -> bool:
        """Agree with the others on the call before which all stop; return False if this process stops at once.

        It does where no process has begun a shared call in this run, and where one does not answer.
        """
        with self._lock:
            if self._stop_at is not None:
                return True
            self._is_asked = True
        self._tell()
        counts = self._collect()
        if counts is None or all(calls == at_begin for calls, at_begin in counts):
            self._is_asked = False
            return False
        self._stop_at = max(calls for calls, _ in counts)
        self._is_asked = False
        self._deadline = time.monotonic() + MAX_DELAY_SECONDS
        return True

    def _collect(self) -> list[tuple[int, int]] | None:
        """Return how many shared calls each process has begun, now and when the run began; None if one is silent."""
        deadline = time.monotonic() + MAX_AGREEMENT_SECONDS
        while failure() is None and time.monotonic() < deadline:
            answers = self._read()
            if set(map(str, self._processes)) <= set(answers):
                return [(calls, at_begin) for calls, at_begin in map(json.loads, answers.values())]
            time.sleep(_POLL_SECONDS)
        return None

    def _tell(self) -> None:
        """Tell the others how many shared calls this process has begun; once for a run."""
        counts = json.dumps([self._calls, self._calls_at_begin])
        with contextlib.suppress(JaxRuntimeError):
            self._membership.store.write(f"interrupts/{self._run}/{self._membership.process_id}", counts)

    def _read(self) -> dict[str, str]:
        with contextlib.suppress(JaxRuntimeError):
            return self._membership.store.read_folder(f"interrupts/{self._run}")
        return {}

    def _listen(self) -> None:
        """Answer when another process is interrupted, also while the main thread is inside XLA; runs on a thread."""
        answered = ""
        while failure() is None and not self._is_closed:
            time.sleep(_LISTENING_SECONDS)
            run = self._run
            if self._deadline is not None and time.monotonic() > self._deadline:
                self._deadline = None
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            if run and run != answered and self._read():
                answered = run
                with self._lock:
                    self._is_asked = self._is_running and self._stop_at is None
                self._tell()


_coordinator: InterruptCoordinator | None = None


def coordinate_interrupts(membership: Membership) -> InterruptCoordinator:
    """Return the coordinator of interrupts of this process, which exists from the first call on."""
    global _coordinator
    if _coordinator is None:
        _coordinator = InterruptCoordinator(membership)
    return _coordinator


def begin_shared_call() -> None:
    """Note that a program of several processes is about to be called; raise KeyboardInterrupt if all stop here."""
    if _coordinator is not None:
        _coordinator.begin_call()
