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
SHORTEST, LONGEST, LONGEST_ONCE = 0.001, 0.25, 5.0
#: Profiling may take this share of the time, and windows are at least this far apart.
_SHARE, _PERIOD = 0.003, 1.0
#: A window should contain this many calls of the slowest program, unless these are more kernel runs than
#: `_MAX_KERNEL_RUNS`: closing and reading a window costs 20 to 50 µs per kernel run.
_CALLS = 10
_KERNEL_RUNS = 150


def _nobody() -> None:
    """Stand in for the weak reference to a holder while the profiler is free."""


_lock = threading.Lock()
_holder: Callable[[], object] = _nobody


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
            if claim(self):
                self._session = _profiler.ProfilerSession(_options())
                return self
        except BaseException:
            release(self)
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
                raise _explained(failure) from failure
        finally:
            self._session = None
            release(self)


def claim(holder: object) -> bool:
    """Claim the profiler and return whether it was free; the claim lasts until released or the holder is collected.

    An interrupt can arrive right after the profiler was claimed, before the caller knows of it; then the holder is
    garbage collected, and its claim with it. (A lock that was just acquired would have no known owner.)
    """
    global _holder
    with _lock:
        free = _holder() is None
        if free:
            _holder = weakref.ref(holder)
        return free


def release(holder: object) -> None:
    """Release the profiler, if ``holder`` has it."""
    global _holder
    with _lock:
        if _holder() is holder:
            _holder = _nobody


def holder() -> object:
    """Return the open window or trace that holds the profiler, or None."""
    return _holder()


def window(seconds: float) -> bytes:
    """Record the whole process for a while from a thread of its own; other threads keep running meanwhile."""
    with Window() as open_window:
        time.sleep(seconds)
    return open_window.data


def next_window(seconds: float, modules: Iterable[ModuleProfile]) -> float:
    """Return how long the next window should be, after one of ``seconds`` that recorded these modules.

    Long enough for some calls of the slowest program, short enough to cost little; twice as long when nothing was
    seen.

    >>> next_window_seconds(0.002, [])
    0.004
    """
    modules = tuple(modules)
    runs = sum(module.runs for module in modules)
    if not runs:
        return min(2 * seconds, LONGEST)
    desired = _CALLS * max(module.step for module in modules)
    affordable = seconds * _KERNEL_RUNS / runs
    return min(max(min(desired, affordable), SHORTEST), LONGEST)


def first_window(step: float, kernels: int) -> float:
    """Return the length of the first window for a program of some kernels called every ``step`` seconds.

    >>> first_window_seconds(0.004, 15), first_window_seconds(0.004, 75)
    (0.04, 0.008)
    """
    calls = min(_CALLS, max(_KERNEL_RUNS / max(kernels, 1), 1.0))
    return min(max(calls * step, SHORTEST), LONGEST)


def next_pause(spent: float) -> float:
    """Return how long to pause after a window that cost a thread ``spent`` seconds (opening to reading).

    >>> next_pause_seconds(0.003), next_pause_seconds(0.006)
    (1.0, 2.0)
    """
    return max(spent / _SHARE, _PERIOD)


def _options() -> _profiler.ProfileOptions:
    options = _profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = 1
    options.enable_hlo_proto = False  # the programs take five times the bytes, and we have them already
    options.include_dataset_ops = False
    return options


def _explained(failure: RuntimeError) -> RuntimeError:
    if "ALREADY_EXISTS" not in str(failure):
        return failure
    return ProfilerInUseError(
        "another profiler is active in this process (jax.profiler, TensorBoard, a profiler server?); "
        "stop it to see xlascope's timings"
    )
