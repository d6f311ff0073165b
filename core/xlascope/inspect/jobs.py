"""Background jobs with progress, cancellation and a result."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar

_log = logging.getLogger(__name__)

T = TypeVar("T", covariant=True)
State = Literal["working", "done", "failed", "cancelled"]


class Cancelled(Exception):  # noqa: N818  a requested cancellation is no error
    """Cancellation of a job: raised by :meth:`Job.result`, and inside the work by :meth:`Job.check`."""


class Job(Generic[T]):
    """Call of ``run(job)`` on a daemon thread of its own, started at once.

    ``state`` is working, done, failed or cancelled; ``progress`` is a fraction from 0 to 1, or None while it is
    unknown; ``message`` describes the current step. The work calls :meth:`report` and :meth:`check`; its users
    call :meth:`result`, :meth:`cancel` or :meth:`on_change`.

    >>> job = Job(lambda job: job.report(0.5, "halfway") or 42)
    >>> job.result(timeout=10)
    42
    >>> job.state, job.progress
    ('done', 1.0)
    """

    def __init__(self, run: Callable[[Job[T]], T], name: str = "xlascope job") -> None:
        self.state: State = "working"
        self.progress: float | None = None
        self.message = ""
        self._value: T | None = None
        self._error: BaseException | None = None
        self._cancelled = threading.Event()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._watchers: list[Callable[[Job[T]], object]] = []
        self._stoppers: list[Callable[[], object]] = []
        threading.Thread(target=self._run, args=(run,), name=name, daemon=True).start()

    @property
    def cancelled(self) -> bool:
        """Return whether cancellation was requested."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Request cancellation: functions given to :meth:`on_cancel` are called now, and :meth:`check` raises."""
        with self._lock:
            if self._ended.is_set() or self._cancelled.is_set():
                return
            self._cancelled.set()
            stoppers = list(self._stoppers)
        for stop in stoppers:
            _call_safely(stop)

    def result(self, timeout: float | None = None) -> T:
        """Wait for the job and return the result of ``run``.

        Raises what ``run`` raised, :class:`Cancelled` after :meth:`cancel`, and TimeoutError after ``timeout``
        seconds.
        """
        if not self._ended.wait(timeout):
            raise TimeoutError(f"the job is not done after {timeout:g} s: {self.message or 'it works'}")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # None only when that is what run returned

    def on_change(self, callback: Callable[[Job[T]], object]) -> None:
        """Call ``callback(job)`` now, at every change of state or progress, and at the end; from any thread."""
        with self._lock:
            self._watchers.append(callback)
        _call_safely(callback, self)

    # Methods for the work itself.

    def report(self, progress: float | None = None, message: str = "") -> None:
        """Set the progress and notify the watchers; raise :class:`Cancelled` when cancellation was requested.

        ``progress`` is a fraction from 0 to 1, or None if it is unknown; ``message`` says what is being done.
        """
        self.check()
        self.progress, self.message = progress, message
        self._notify()

    def check(self) -> None:
        """Raise :class:`Cancelled` when cancellation was requested."""
        if self._cancelled.is_set():
            raise Cancelled(self.message or "the job was cancelled")

    def on_cancel(self, stop: Callable[[], object]) -> None:
        """Call ``stop()`` when the job is cancelled, on the cancelling thread, for example to kill a process."""
        with self._lock:
            self._stoppers.append(stop)
            late = self._cancelled.is_set()
        if late:
            _call_safely(stop)

    def _run(self, run: Callable[[Job[T]], T]) -> None:
        """Call ``run(self)``, store the result or the error, and notify the watchers; runs on the job's thread."""
        try:
            self._value = run(self)
        except BaseException as error:  # raised again by result()
            was_cancelled = self.cancelled
            self._error = (
                error if isinstance(error, Cancelled) or not was_cancelled else Cancelled("the job was cancelled")
            )
            self.state = "cancelled" if isinstance(self._error, Cancelled) else "failed"
            self.message = self.message if self.state == "cancelled" else str(error)
        else:
            self.progress, self.state = 1.0, "done"
        with self._lock:
            self._ended.set()
            self._stoppers.clear()
        self._notify()

    def _notify(self) -> None:
        with self._lock:
            watchers = list(self._watchers)
        for callback in watchers:
            _call_safely(callback, self)


def _call_safely(function: Callable[..., object], *arguments: Any) -> None:
    """Call a function and log its exception, which must not end the work."""
    try:
        function(*arguments)
    except Exception:
        _log.exception("a watcher of a job failed")
