"""Worker threads for calls into jaxlib that an interrupt must not abandon.

jaxlib compiles and loads on threads of its own, and waits for them in a way that a signal ends. The call is then
left, its arguments are destroyed (the MLIR context that it read the module into, for one), and the compiler, which
still uses them, crashes the process. Signals reach the main thread alone. So the main thread hands such a task to
a worker thread, and waits for that: an interrupt ends the wait at once, and the task goes on with everything that
it needs. Other threads run such tasks themselves, since nothing interrupts them.
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

#: Interval of checks for signals: one that another thread received does not end the waiting for a lock.
_LOOK = 0.05
#: The exit of the process waits this long for running tasks.
PATIENCE = 3.0
_STANDARD_LIBRARY = os.path.dirname(threading.__file__) + os.sep

_idle: list[SimpleQueue[Work[Any]]] = []
_running: set[Work[Any]] = set()


class Work(Generic[T]):
    """Task that runs ``run()`` once, even if its caller stops waiting; ``began`` and ``seconds`` say when.

    ``on_done()`` is called when it is done, on the thread that ran it.
    """

    def __init__(self, run: Callable[[], T], on_done: Callable[[], object] = lambda: None) -> None:
        self.began = time.time()
        self.seconds = 0.0
        self.ended = False
        self._run: Callable[[], T] | None = run
        self._then: Callable[[], object] | None = on_done
        self._result: T | None = None
        self._error: BaseException | None = None
        self._going = _thread.allocate_lock()
        self._going.acquire()

    def start(self) -> None:
        """Run the task on a worker thread if this thread can be interrupted, else here and now."""
        if threading.get_ident() == threading.main_thread().ident:
            _a_thread().put(self)
        else:
            self.carry_out()

    def start_elsewhere(self) -> None:
        """Run the task on a worker thread, whatever thread this is."""
        _a_thread().put(self)

    def wait(self) -> None:
        """Wait until the task is done. Leaving the wait by an exception is harmless."""
        while not self.wait_at_most(_LOOK):
            pass

    def wait_at_most(self, seconds: float) -> bool:
        """Wait until the task is done or the time is over; return whether it is done."""
        if not self.ended and self._going.acquire(timeout=max(seconds, 0.0)):
            self._going.release()
        return self.ended

    def result(self) -> T:
        """Return what ``run`` returned, or raise what it raised."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]  # None only if run() returned None

    def carry_out(self) -> None:
        """Run the task on this thread."""
        _running.add(self)
        on_done, began = self._then, time.perf_counter()
        try:
            self._result = self._run()  # type: ignore[misc]  # it is run once
        except BaseException as error:
            self._error = error.with_traceback(None)  # its frames refer to this task
        self._run = self._then = None
        self.seconds = time.perf_counter() - began
        _running.discard(self)
        self.ended = True
        self._going.release()
        on_done()  # type: ignore[misc]  # it is called once


def uninterrupted(run: Callable[[], T]) -> T:
    """Run ``run()`` to its end even if this call is interrupted; return or raise its outcome.

    >>> run_uninterruptible(lambda: 6 * 7)
    42
    """
    task = Work(run)
    task.start()
    task.wait()
    return task.result()


def _a_thread() -> SimpleQueue[Work[Any]]:
    """Return the queue of an idle worker thread, reusing threads to spare the start of one (0.1 ms)."""
    with contextlib.suppress(IndexError):
        return _idle.pop()
    tasks: SimpleQueue[Work[Any]] = SimpleQueue()
    _thread.start_new_thread(_serve, (tasks,))  # an interrupt of Thread.start breaks its locks
    return tasks


def _serve(tasks: SimpleQueue[Work[Any]]) -> None:
    while True:
        task = tasks.get()
        task.carry_out()
        del task  # only the caller may keep it alive
        _idle.append(tasks)


def _end_in_order() -> None:
    """Wait for running tasks as the process exits, and skip the compiler's cleanup if that takes too long.

    While the interpreter exits, it ends each daemon thread that returns from C++ by unwinding its stack. C++ frames
    do not allow that and abort the process. Threads of the compiler do so too while C++ destroys what they use.
    """
    deadline = time.monotonic() + PATIENCE
    finished = False
    with contextlib.suppress(KeyboardInterrupt):  # a second interrupt means not to wait
        finished = all(task.wait_at_most(deadline - time.monotonic()) for task in tuple(_running))
    waiting, computing = _count_daemon_threads()
    if sys.platform == "linux":
        if waiting or computing or not finished:
            _stop_threads_instead_of_aborting()
        if computing or not finished:
            _skip_destructors()
    elif not finished:  # without the functions called above the exit has to wait
        for task in tuple(_running):
            task.wait()


def _count_daemon_threads() -> tuple[int, int]:
    """Return how many user threads wait in Python's standard library, and how many may be in C++."""
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
    """Let a thread for which C++ would abort the process pause forever instead."""
    library = ctypes.CDLL(None)
    with contextlib.suppress(OSError, AttributeError):  # the C++ library has another name: the abort stays
        ctypes.CDLL("libstdc++.so.6")._ZSt13set_terminatePFvvE(ctypes.cast(library.pause, ctypes.c_void_p))


def _skip_destructors() -> None:
    """Let the process exit with its status as soon as Python has ended, before C++ destroys anything."""
    library = ctypes.CDLL(None)
    with contextlib.suppress(AttributeError):  # only glibc has it
        library.on_exit(ctypes.cast(library._exit, ctypes.c_void_p), None)  # the last one registered is called first


def _begin_alone() -> None:
    """Reset the state in the child of a fork, which has none of its parent's threads."""
    _idle.clear()
    _running.clear()


atexit.register(_end_in_order)
os.register_at_fork(after_in_child=_begin_alone)
