"""Work that signals do not reach: what jaxlib does with things that must not go away before it is done.

jaxlib compiles and loads on threads of its own, and waits for them in a way that a signal ends. The call is then left,
what it was given is destroyed (the MLIR context that it read the module into, for one), and the compiler, still at
work with it, takes the process down. Signals reach the main thread alone. So the main thread hands such work to a
thread of ours, and waits for that: an interrupt ends the wait at once, and the work goes on with all that it needs.
Other threads do it themselves; nothing ends their waiting.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")

#: Seconds between two looks for signals: one that another thread received does not end the waiting for a lock.
_LOOK = 0.05
#: Seconds that the end of the process waits for work that is under way.
PATIENCE = 3.0
_STANDARD_LIBRARY = os.path.dirname(threading.__file__) + os.sep

_idle: list[SimpleQueue[Work[Any]]] = []
_running: set[Work[Any]] = set()


class Work(Generic[T]):
    """``run()``, to be carried out once, whoever stops waiting for it; ``began`` and ``seconds`` say when it was.

    ``then()`` is called when it has ended, where it was carried out.
    """

    def __init__(self, run: Callable[[], T], then: Callable[[], object] = lambda: None) -> None:
        self.began = time.time()
        self.seconds = 0.0
        self.ended = False
        self._run: Callable[[], T] | None = run
        self._then: Callable[[], object] | None = then
        self._result: T | None = None
        self._error: BaseException | None = None
        self._going = _thread.allocate_lock()
        self._going.acquire()

    def start(self) -> None:
        """Have it carried out: elsewhere when this thread can be interrupted, or else here and now."""
        if threading.get_ident() == threading.main_thread().ident:
            _a_thread().put(self)
        else:
            self.carry_out()

    def start_elsewhere(self) -> None:
        """Have it carried out on a thread of ours, whichever this one is."""
        _a_thread().put(self)

    def wait(self) -> None:
        """Wait for the end. Leaving the wait by an exception harms nothing."""
        while not self.wait_at_most(_LOOK):
            pass

    def wait_at_most(self, seconds: float) -> bool:
        """Wait for the end, but not for longer; says whether it has come."""
        if not self.ended and self._going.acquire(timeout=max(seconds, 0.0)):
            self._going.release()
        return self.ended

    def result(self) -> T:
        """What ``run`` returned; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]  # None only when that is what it returned

    def carry_out(self) -> None:
        """Run here."""
        _running.add(self)
        then, began = self._then, time.perf_counter()
        try:
            self._result = self._run()  # type: ignore[misc]  # it is run once
        except BaseException as error:
            self._error = error.with_traceback(None)  # whose frames hold this
        self._run = self._then = None
        self.seconds = time.perf_counter() - began
        _running.discard(self)
        self.ended = True
        self._going.release()
        then()  # type: ignore[misc]  # it is called once


def uninterrupted(run: Callable[[], T]) -> T:
    """What ``run()`` returns or raises; it comes to its end even if this call is interrupted.

    >>> uninterrupted(lambda: 6 * 7)
    42
    """
    work = Work(run)
    work.start()
    work.wait()
    return work.result()


def _a_thread() -> SimpleQueue[Work[Any]]:
    """The way to a thread that has nothing to do: threads are used again, which spares starting one (0.1 ms)."""
    with contextlib.suppress(IndexError):
        return _idle.pop()
    tasks: SimpleQueue[Work[Any]] = SimpleQueue()
    _thread.start_new_thread(_serve, (tasks,))  # Thread.start waits, and an interrupt of that breaks its locks
    return tasks


def _serve(tasks: SimpleQueue[Work[Any]]) -> None:
    while True:
        work = tasks.get()
        work.carry_out()
        del work  # whoever asked for it holds it, or nobody does
        _idle.append(tasks)


def _end_in_order() -> None:
    """Wait for the work under way as the process ends, and leave without the compiler when that takes longer.

    While the interpreter ends, it ends each daemon thread that comes back from C++ by unwinding its stack. C++ frames
    do not allow that and abort the process. Threads of the compiler do so too while C++ destroys what they use.
    """
    until = time.monotonic() + PATIENCE
    finished = False
    with contextlib.suppress(KeyboardInterrupt):  # who asks twice does not want to wait
        finished = all(work.wait_at_most(until - time.monotonic()) for work in tuple(_running))
    waiting, computing = _count_daemon_threads()
    if sys.platform == "linux":
        if waiting or computing or not finished:
            _stop_threads_instead_of_aborting()
        if computing or not finished:
            _skip_destructors()
    elif not finished:  # the functions that are called above do not exist there: the end has to wait
        for work in tuple(_running):
            work.wait()


def _count_daemon_threads() -> tuple[int, int]:
    """Return how many threads of the user's wait in Python's standard library, and how many may be in C++."""
    waiting = computing = 0
    for thread, frame in sys._current_frames().items():
        file = frame.f_code.co_filename
        if thread == threading.get_ident() or file == __file__:
            continue
        if file.startswith((_STANDARD_LIBRARY, "<frozen")) and "site-packages" not in file:
            waiting += 1
        else:
            computing += 1
    return waiting, computing


def _stop_threads_instead_of_aborting() -> None:
    """Let a thread that C++ would abort the process for stop for ever instead."""
    library = ctypes.CDLL(None)
    with contextlib.suppress(OSError, AttributeError):  # C++'s library has another name: what aborts then does
        ctypes.CDLL("libstdc++.so.6")._ZSt13set_terminatePFvvE(ctypes.cast(library.pause, ctypes.c_void_p))


def _skip_destructors() -> None:
    """Let the process end, with its status, as soon as Python has ended, before C++ destroys anything."""
    library = ctypes.CDLL(None)
    with contextlib.suppress(AttributeError):  # GNU's C library has it
        library.on_exit(ctypes.cast(library._exit, ctypes.c_void_p), None)  # the last to be registered is called first


def _begin_alone() -> None:
    """In the child of a fork, which has none of its parent's threads."""
    _idle.clear()
    _running.clear()


atexit.register(_end_in_order)
os.register_at_fork(after_in_child=_begin_alone)
