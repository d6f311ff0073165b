"""Handling of signals that terminate a process, as clusters send them: the records are written first.

Python runs signal handlers on the main thread, which may be blocked in a compilation or waiting for other
processes. So a wakeup pipe also reports signals, and a separate thread reads it.

A forked child inherits the pipe and the handlers. A signal sent to the child must not reach the pipe, or the
parent would terminate: signals are blocked around a fork until the child has left the pipe.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

_NAMES = ("SIGTERM", "SIGHUP")


class Signals:
    """Handler of signals that end a process: it calls ``on_terminate(name)`` first.

    Only signals without another handler are handled; a handler installed later replaces this one.
    """

    def __init__(self, on_terminate: Callable[[str], None]) -> None:
        self._on_terminate = on_terminate
        self._process = os.getpid()
        self._handled: list[signal.Signals] = []
        self._pipe: tuple[int, int] | None = None

    def install(self) -> None:
        """Install the handlers; does nothing outside the main thread, where Python does not allow it."""
        if threading.current_thread() is not threading.main_thread():
            return
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self._handle)
                self._handled.append(number)
        if self._handled:
            read, write = os.pipe()
            for end in (read, write):
                os.set_blocking(end, False)
            previous = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
            if previous != -1:  # another wakeup fd is in use
                signal.set_wakeup_fd(previous)
            self._pipe = read, write

    def uninstall(self) -> None:
        """Uninstall the handlers."""
        for number in self._handled:
            if signal.getsignal(number) == self._handle:
                signal.signal(number, signal.SIG_DFL)
        self._handled = []
        if self._pipe is not None:
            previous = signal.set_wakeup_fd(-1)
            if previous not in (-1, self._pipe[1]):
                signal.set_wakeup_fd(previous)
            for end in self._pipe:
                os.close(end)
            self._pipe = None

    def find_pending(self) -> signal.Signals | None:
        """Return a handled signal that has arrived although the main thread may be blocked, or None."""
        if self._pipe is None or os.getpid() != self._process:
            return None
        try:
            received = os.read(self._pipe[0], 64)
        except OSError:
            return None
        handled = (number for number in self._handled if number in received)
        return next((number for number in handled if signal.getsignal(number) == self._handle), None)

    def block(self) -> set[int] | None:
        """Block the handled signals on this thread; return those that were blocked before, None if none is handled."""
        return set(signal.pthread_sigmask(signal.SIG_BLOCK, self._handled)) if self._handled else None

    def terminate(self, number: int) -> None:
        """Call ``on_terminate`` with the signal's name, then end the process by the signal."""
        with contextlib.suppress(Exception):
            self._on_terminate(signal.Signals(number).name)
        if threading.current_thread() is threading.main_thread():
            signal.signal(number, signal.SIG_DFL)
        else:  # signal.signal() works only on the main thread, which does not respond
            ctypes.CDLL(None).signal(int(number), 0)
        os.kill(os.getpid(), number)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._process:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        self.terminate(number)
