"""Profiler windows: short recordings of the devices' work, as bytes that :mod:`xlascope.readers.profiles` reads."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable
from types import TracebackType

from jaxlib import _profiler

from ...readers.profiles import ModuleProfile

#: Bounds of a window, and the upper bound of one that has to contain a whole call.
MIN_WINDOW_SECONDS, MAX_WINDOW_SECONDS, MAX_WHOLE_CALL_SECONDS = 0.001, 0.25, 5.0
#: Profiling may take this share of the time, and windows are at least this far apart.
_MAX_TIME_SHARE, _MIN_PAUSE_SECONDS = 0.003, 1.0
#: A window should contain this many calls of the slowest program, unless these are more kernel runs than
#: `_MAX_KERNEL_RUNS`: closing and reading a window costs 20 to 50 µs per kernel run.
_CALLS_PER_WINDOW = 10
_MAX_KERNEL_RUNS = 150


def _no_holder() -> None:
    """Return None, as the weak reference to a holder of the profiler while there is none."""


_lock = threading.Lock()
_holder: Callable[[], object] = _no_holder


class ProfilerInUseError(RuntimeError):
    """Error for a process that is already being profiled; XLA has one profiler per process."""


class Window:
    """Profiler window that records what runs inside the ``with`` block, on every thread and device.

    ``data`` holds the recording after the block. One window at a time: entering a second one raises
    :class:`ProfilerInUseError`; so does leaving one when another profiler was active before it (XLA reports it only
    then). Python itself is not traced.

    >>> with Window() as window:
    ...     pass
    >>> isinstance(window.data, bytes)
    True
    """

    data: bytes = b""
    _session: _profiler.ProfilerSession | None = None

    def __enter__(self) -> Window:
        try:
            if claim_profiler(self):
                self._session = _profiler.ProfilerSession(_options())
                return self
        except BaseException:
            release_profiler(self)
            raise
        raise ProfilerInUseError("a profiler window of xlascope is open already in this process; close it first")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        try:
            assert self._session is not None
            self.data = self._session.stop()
        except RuntimeError as failure:
            if error is None:
                raise _explain_failure(failure) from failure
        finally:
            self._session = None
            release_profiler(self)


def claim_profiler(holder: object) -> bool:
    """Claim the profiler for ``holder`` and return whether it was free.

    The claim lasts until it is released or the holder is garbage collected. An interrupt can arrive right after the
    profiler was claimed, before the caller knows of it; then the holder is collected, and its claim ends. (A lock that
    was just acquired would have no known owner.)
    """
    global _holder
    with _lock:
        free = _holder() is None
        if free:
            _holder = weakref.ref(holder)
        return free


def release_profiler(holder: object) -> None:
    """Release the profiler, if ``holder`` has it."""
    global _holder
    with _lock:
        if _holder() is holder:
            _holder = _no_holder


def current_holder() -> object:
    """Return the open window or trace that holds the profiler; None if it is free."""
    return _holder()


def record_window(seconds: float) -> bytes:
    """Return a recording of the whole process over ``seconds``, made while this thread sleeps."""
    with Window() as open_window:
        time.sleep(seconds)
    return open_window.data


def next_window_seconds(seconds: float, modules: Iterable[ModuleProfile]) -> float:
    """Return how long the next profiler window should be, after one of ``seconds`` in which ``modules`` ran.

    Long enough for some calls of the slowest program, short enough to cost little; twice as long when nothing ran.

    >>> next_window_seconds(0.002, [])
    0.004
    """
    modules = tuple(modules)
    runs = sum(module.runs for module in modules)
    if not runs:
        return min(2 * seconds, MAX_WINDOW_SECONDS)
    desired = _CALLS_PER_WINDOW * max(module.step for module in modules)
    affordable = seconds * _MAX_KERNEL_RUNS / runs
    return min(max(min(desired, affordable), MIN_WINDOW_SECONDS), MAX_WINDOW_SECONDS)


def first_window_seconds(step: float, kernels: int) -> float:
    """Return how long the first profiler window should be for a program called every ``step`` seconds.

    ``kernels`` is the number of kernels in the program: more of them make a window more expensive.

    >>> first_window_seconds(0.004, 15), first_window_seconds(0.004, 75)
    (0.04, 0.008)
    """
    calls = min(_CALLS_PER_WINDOW, max(_MAX_KERNEL_RUNS / max(kernels, 1), 1.0))
    return min(max(calls * step, MIN_WINDOW_SECONDS), MAX_WINDOW_SECONDS)


def next_pause_seconds(spent: float) -> float:
    """Return how many seconds to pause after a profiler window that cost a thread ``spent`` seconds.

    The cost is that of opening, closing and reading it.

    >>> next_pause_seconds(0.003), next_pause_seconds(0.006)
    (1.0, 2.0)
    """
    return max(spent / _MAX_TIME_SHARE, _MIN_PAUSE_SECONDS)


def _options() -> _profiler.ProfileOptions:
    options = _profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = 1
    options.enable_hlo_proto = False  # the programs take five times the bytes, and we have them already
    options.include_dataset_ops = False
    return options


def _explain_failure(failure: RuntimeError) -> RuntimeError:
    if "ALREADY_EXISTS" not in str(failure):
        return failure
    return ProfilerInUseError(
        "another profiler is active in this process (jax.profiler, TensorBoard, a profiler server?); "
        "stop it to see xlascope's timings"
    )
