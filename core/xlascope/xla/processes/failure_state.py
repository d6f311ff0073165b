"""Failure of the job: recorded once, raised where this process waits, and in its main thread.

A thread inside XLA cannot be reached by a Python exception. If the main thread has not raised the error after a
while, the process ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import NoReturn

from ... import bootstrap
from ...errors import DistributedError

#: Status with which the process ends when its main thread cannot be reached (``EX_TEMPFAIL``: try again).
EXIT_STATUS = 75
#: The main thread has this long to raise the error of a failure; then the process ends.
MAX_DELIVERY_SECONDS = 10.0

#: Functions that :func:`end_process` calls with its message before the process ends; the time they take is bounded.
exit_listeners: list[Callable[[str], None]] = []
#: These functions have this long together.
MAX_LISTENER_SECONDS = 20.0

_lock = threading.Lock()
_delivered = threading.Event()
_failure: DistributedError | None = None


def failure() -> DistributedError | None:
    """Return the error of the job's failure, None while all is well."""
    return _failure


def require_healthy() -> None:
    """Raise the error of the job's failure if there is one."""
    if _failure is not None:
        raise_failure(_failure)


def raise_failure(error: DistributedError) -> NoReturn:
    """Raise the error of the job's failure here, and no more in the main thread if that is this one."""
    if threading.current_thread() is threading.main_thread():
        _delivered.set()
        _raise_in_thread(threading.main_thread().ident, None)
    raise type(error)(error.args[0])


def stop_delivery() -> None:
    """Let failures from now on be recorded only: this process leaves the job."""
    _delivered.set()


def note_failure(error: DistributedError) -> None:
    """Record that the job has failed, and raise the error in the main thread; later failures are ignored.

    The process ends with ``EXIT_STATUS`` if the main thread does not raise the error, or that of a wait, within
    ``MAX_DELIVERY_SECONDS``.
    """
    global _failure
    with _lock:
        if _failure is not None:
            return
        _failure = error
    if _delivered.is_set():
        return
    threading.Thread(target=_deliver, args=(error,), name="xlascope failure", daemon=True).start()


def _deliver(error: DistributedError) -> None:
    main = threading.main_thread()
    _raise_in_thread(main.ident, _make_announcing_class(error))
    if not _delivered.wait(MAX_DELIVERY_SECONDS) and main.is_alive():
        end_process(f"{error}\n\nThe main thread cannot be reached, so this process ends. It is at\n{_main_stack()}")


def _make_announcing_class(error: DistributedError) -> type[DistributedError]:
    """Return a class of the error's class and name, whose instances have its message and say that they are raised."""
    kind = type(error)

    def initialize(self: DistributedError, *args: object) -> None:
        _delivered.set()
        kind.__init__(self, error.args[0])
        self.__suppress_context__ = True  # what the thread was doing is no cause

    return type(kind.__name__, (kind,), {"__init__": initialize, "__module__": kind.__module__})


def _raise_in_thread(thread: int | None, kind: type[BaseException] | None) -> None:
    """Raise an exception of class ``kind`` in a thread before its next bytecode; None: no longer raise one."""
    if thread is not None:
        value = None if kind is None else ctypes.py_object(kind)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), value)


def _main_stack() -> str:
    """Return where the main thread is, as the lines of a traceback without the library's own."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    entries = [entry for entry in traceback.extract_stack(frame) if not bootstrap.is_library(entry.filename)]
    return "".join(traceback.format_list(entries))


def _notify_exit_listeners(message: str) -> None:
    for listener in tuple(exit_listeners):
        with contextlib.suppress(Exception):
            listener(message)


def end_process(message: str) -> NoReturn:
    """End the process at once with ``EXIT_STATUS``, after a message on standard error."""
    with contextlib.suppress(Exception):
        print(f"xlascope: {message}", file=sys.stderr, flush=True)
        sys.stdout.flush()
    listeners = threading.Thread(target=_notify_exit_listeners, args=(message,), daemon=True)
    listeners.start()
    listeners.join(MAX_LISTENER_SECONDS)
    os._exit(EXIT_STATUS)
