"""Profiler windows: short looks at what the devices do, as the bytes that :mod:`xlascope.readers.profiles` reads."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable
from types import TracebackType

from jaxlib import _profiler

from ...readers.profiles import ModuleProfile

#: Windows are never shorter or longer than this (seconds), but for one that is to hold a whole call.
SHORTEST, LONGEST, LONGEST_ONCE = 0.001, 0.25, 5.0
#: Watching may take this share of the time, and looks at most once in so many seconds.
_SHARE, _PERIOD = 0.003, 1.0
#: A window should see this many calls of the slowest program, unless that means more kernel runs than `_KERNEL_RUNS`:
#: closing and reading a window costs 20 to 50 µs per kernel run.
_CALLS = 10
_KERNEL_RUNS = 150


def _nobody() -> None:
    """Who has the profiler when nobody has."""


_lock = threading.Lock()
_holder: Callable[[], object] = _nobody


class ProfilerInUseError(RuntimeError):
    """Somebody is profiling this process already; XLA has one profiler per process."""


class Window:
    """A profiler window: what runs inside the ``with`` block is seen, on every thread and device.

    ``data`` holds what was seen, after the block. One window at a time: entering a second one raises
    :class:`ProfilerInUseError`; so does leaving one when another profiler was active before it
    (XLA tells only then). Python itself is not traced.

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
    """Whether the profiler was free: it is the holder's now, until :func:`release`, or until nobody has the holder.

    An interrupt can come when the profiler has just been claimed and nobody knows of it yet; the holder goes then,
    and its claim with it. (Of a lock that was just acquired nobody could say whose it is.)
    """
    global _holder
    with _lock:
        free = _holder() is None
        if free:
            _holder = weakref.ref(holder)
        return free


def release(holder: object) -> None:
    """Let others have the profiler, if it is the holder's."""
    global _holder
    with _lock:
        if _holder() is holder:
            _holder = _nobody


def holder() -> object:
    """Who has the profiler: an open window or trace, or None."""
    return _holder()


def window(seconds: float) -> bytes:
    """Watch the whole process for a while; call it from a thread of its own. Other threads keep running meanwhile."""
    with Window() as opened:
        time.sleep(seconds)
    return opened.data


def next_window(seconds: float, seen: Iterable[ModuleProfile]) -> float:
    """How long the next window should be, after one of ``seconds`` that saw this.

    Long enough for some calls of the slowest program, short enough to cost little; twice as long when nothing was seen.

    >>> next_window(0.002, [])
    0.004
    """
    seen = tuple(seen)
    runs = sum(module.runs for module in seen)
    if not runs:
        return min(2 * seconds, LONGEST)
    wanted = _CALLS * max(module.step for module in seen)
    affordable = seconds * _KERNEL_RUNS / runs
    return min(max(min(wanted, affordable), SHORTEST), LONGEST)


def first_window(step: float, kernels: int) -> float:
    """How long the first window should be for a program of so many kernels that is called every ``step`` seconds.

    >>> first_window(0.004, 15), first_window(0.004, 75)
    (0.04, 0.008)
    """
    calls = min(_CALLS, max(_KERNEL_RUNS / max(kernels, 1), 1.0))
    return min(max(calls * step, SHORTEST), LONGEST)


def next_pause(spent: float) -> float:
    """How long to leave the process alone after a window on which a thread spent so many seconds (opening to reading).

    >>> next_pause(0.003), next_pause(0.006)
    (1.0, 2.0)
    """
    return max(spent / _SHARE, _PERIOD)


def _options() -> _profiler.ProfileOptions:
    options = _profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = 1
    options.enable_hlo_proto = False  # the programs themselves: five times the bytes, and we have them
    options.include_dataset_ops = False
    return options


def _explained(failure: RuntimeError) -> RuntimeError:
    if "ALREADY_EXISTS" not in str(failure):
        return failure
    return ProfilerInUseError(
        "another profiler is active in this process (jax.profiler, TensorBoard, a profiler server?); "
        "stop it to see xlascope's timings"
    )
