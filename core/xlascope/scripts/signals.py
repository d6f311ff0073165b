"""Signals that end a process at once, as clusters send them: what was seen is written first.

Python answers a signal on the main thread, which may wait in a compilation or for other processes, perhaps for ever.
So a pipe tells of it as well, and a thread of ours looks there.

A forked child inherits the pipe and the handlers. What is sent to the child must not reach the pipe, or the parent
would end: signals are held back around a fork until the child has left the pipe.
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
    """Calls ``ending(name)`` when one of these signals comes, and then lets it end the process as it would have.

    Only those are met that nobody else answers; who sets a handler of his own later has it.
    """

    def __init__(self, ending: Callable[[str], None]) -> None:
        self._ending = ending
        self._process = os.getpid()
        self._met: list[signal.Signals] = []
        self._pipe: tuple[int, int] | None = None

    def meet(self) -> None:
        """Be there for them from now on; from the main thread only, as Python has it."""
        if threading.current_thread() is not threading.main_thread():
            return
        for name in _NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self._answer)
                self._met.append(number)
        if self._met:
            read, write = os.pipe()
            for end in (read, write):
                os.set_blocking(end, False)
            previous = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
            if previous != -1:  # somebody listens there
                signal.set_wakeup_fd(previous)
            self._pipe = read, write

    def leave(self) -> None:
        """Leave them to themselves again."""
        for number in self._met:
            if signal.getsignal(number) == self._answer:
                signal.signal(number, signal.SIG_DFL)
        self._met = []
        if self._pipe is not None:
            previous = signal.set_wakeup_fd(-1)
            if previous not in (-1, self._pipe[1]):
                signal.set_wakeup_fd(previous)
            for end in self._pipe:
                os.close(end)
            self._pipe = None

    def waiting(self) -> signal.Signals | None:
        """A signal that has come and is ours to answer, whatever the main thread does; None where there is none."""
        if self._pipe is None or os.getpid() != self._process:
            return None
        try:
            came = os.read(self._pipe[0], 64)
        except OSError:
            return None
        mine = (number for number in self._met if number in came)
        return next((number for number in mine if signal.getsignal(number) == self._answer), None)

    def block(self) -> set[int] | None:
        """Hold these signals back on this thread; returns those held back before, None where nothing was done."""
        return set(signal.pthread_sigmask(signal.SIG_BLOCK, self._met)) if self._met else None

    def end(self, number: int) -> None:
        """End the process by a signal, after telling."""
        with contextlib.suppress(Exception):
            self._ending(signal.Signals(number).name)
        if threading.current_thread() is threading.main_thread():
            signal.signal(number, signal.SIG_DFL)
        else:  # Python lets only the main thread do that, which does not answer
            ctypes.CDLL(None).signal(int(number), 0)
        os.kill(os.getpid(), number)

    def _answer(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._process:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        self.end(number)
