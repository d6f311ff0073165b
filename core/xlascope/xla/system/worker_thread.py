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
_SIGNAL_POLL_SECONDS = 0.05
#: The exit of the process waits this long for running tasks.
EXIT_WAIT_SECONDS = 3.0
_STANDARD_LIBRARY = os.path.dirname(threading.__file__) + os.sep

_idle_workers: list[SimpleQueue[UninterruptibleTask[Any]]] = []
_running_tasks: set[UninterruptibleTask[Any]] = set()


class UninterruptibleTask(Generic[T]):
    """Task that runs ``run()`` once, even if its caller stops waiting.

    ``began`` is when it was created, in seconds since the epoch, and ``seconds`` how long it ran. ``on_done()`` is
    called when it is done, on the thread that ran it.
    """

    def __init__(self, run: Callable[[], T], on_done: Callable[[], object] = lambda: None) -> None:
        self.began = time.time()
        self.seconds = 0.0
        self.is_done = False
        self._run: Callable[[], T] | None = run
        self._on_done: Callable[[], object] | None = on_done
        self._result: T | None = None
        self._error: BaseException | None = None
        self._done_lock = _thread.allocate_lock()
        self._done_lock.acquire()

    def start(self) -> None:
        """Run the task on a worker thread if this is the main thread, which can be interrupted; else here and now."""
        if threading.get_ident() == threading.main_thread().ident:
            _idle_worker().put(self)
        else:
            self.execute()

    def start_on_worker(self) -> None:
        """Run the task on a worker thread, whatever thread this is."""
        _idle_worker().put(self)

    def wait(self) -> None:
        """Wait until the task is done; leaving the wait by an exception does not affect the task."""
        while not self.wait_for(_SIGNAL_POLL_SECONDS):
            pass

    def wait_for(self, seconds: float) -> bool:
        """Wait until the task is done, for at most that many seconds, and return whether it is done."""
        if not self.is_done and self._done_lock.acquire(timeout=max(seconds, 0.0)):
            self._done_lock.release()
        return self.is_done

    def result(self) -> T:
        """Return what ``run`` returned, or raise what it raised; the task has to be done."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]  # None only if run() returned None

    def execute(self) -> None:
        """Run the task on this thread and store its outcome; a task is run once."""
        _running_tasks.add(self)
        on_done, began = self._on_done, time.perf_counter()
        try:
            self._result = self._run()  # type: ignore[misc]  # it is run once
        except BaseException as error:
            self._error = error.with_traceback(None)  # its frames refer to this task
        self._run = self._on_done = None
        self.seconds = time.perf_counter() - began
        _running_tasks.discard(self)
        self.is_done = True
        self._done_lock.release()
        on_done()  # type: ignore[misc]  # it is called once


def run_uninterruptible(run: Callable[[], T]) -> T:
    """Run ``run()`` to its end even if this call is interrupted, and return what it returns or raise what it raises.

    >>> run_uninterruptible(lambda: 6 * 7)
    42
    """
    task = UninterruptibleTask(run)
    task.start()
    task.wait()
    return task.result()


def _idle_worker() -> SimpleQueue[UninterruptibleTask[Any]]:
    """Return the task queue of an idle worker thread, which is started if there is none.

    Threads are reused, to spare the start of one (0.1 ms).
    """
    with contextlib.suppress(IndexError):
        return _idle_workers.pop()
    tasks: SimpleQueue[UninterruptibleTask[Any]] = SimpleQueue()
    _thread.start_new_thread(_run_worker, (tasks,))  # an interrupt of Thread.start breaks its locks
    return tasks


def _run_worker(tasks: SimpleQueue[UninterruptibleTask[Any]]) -> None:
    while True:
        task = tasks.get()
        task.execute()
        del task  # only the caller may keep it alive
        _idle_workers.append(tasks)


def _wait_at_exit() -> None:
    """Wait for running tasks as the process exits, and skip the compiler's cleanup if that takes too long.

    While the interpreter exits, it ends each daemon thread that returns from C++ by unwinding its stack. C++ frames
    do not allow that and abort the process. Threads of the compiler do so too while C++ destroys what they use.
    """
    deadline = time.monotonic() + EXIT_WAIT_SECONDS
    finished = False
    with contextlib.suppress(KeyboardInterrupt):  # a second interrupt means not to wait
        finished = all(task.wait_for(deadline - time.monotonic()) for task in tuple(_running_tasks))
    waiting, computing = _count_daemon_threads()
    if sys.platform == "linux":
        if waiting or computing or not finished:
            _pause_threads_on_terminate()
        if computing or not finished:
            skip_destructors()
    elif not finished:  # without the functions called above the exit has to wait
        for task in tuple(_running_tasks):
            task.wait()


def _count_daemon_threads() -> tuple[int, int]:
    """Return how many other threads wait in Python's standard library, and how many may be in C++.

    Worker threads of this module are not counted.
    """
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


def _pause_threads_on_terminate() -> None:
    """Let a thread for which C++ would abort the process (``std::terminate``) pause forever instead."""
    library = ctypes.CDLL(None)
    with contextlib.suppress(OSError, AttributeError):  # the C++ library has another name: the abort stays
        ctypes.CDLL("libstdc++.so.6")._ZSt13set_terminatePFvvE(ctypes.cast(library.pause, ctypes.c_void_p))


def skip_destructors() -> None:
    """Let the process exit with its status as soon as Python has ended, before C++ destroys anything."""
    library = ctypes.CDLL(None)
    with contextlib.suppress(AttributeError):  # only glibc has it
        library.on_exit(ctypes.cast(library._exit, ctypes.c_void_p), None)  # the last one registered is called first


def _reset_after_fork() -> None:
    """Reset the state in the child of a fork, which has none of its parent's threads."""
    _idle_workers.clear()
    _running_tasks.clear()


atexit.register(_wait_at_exit)
os.register_at_fork(after_in_child=_reset_after_fork)
