"""Measurement of one program: the time of a call by the host's clock, and its kernels' shares by the profiler."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from ... import records
from ...readers import FormatError
from ...readers.hlo.entry import read_schedules
from ...readers.profiles import NO_LABELS, UNTOLD, Labels, ModuleProfile, read_profile
from ...xla.profiling.profile import ProfilerInUseError, Window
from .alternate import warm_up
from .pace import StepTime
from .tally import Tally

#: Approximate seconds of all timed calls and of a round, and numbers of rounds; a round's time is its calls' mean.
SECONDS, ROUNDS, ROUND, MOST_ROUNDS = 0.3, 5, 0.002, 200
#: No round or window starts after so many seconds.
MOST_SECONDS = 2.0
#: Approximate seconds of profiled calls, and the number of windows; a window holds at least one call.
SEEN_SECONDS, WINDOWS = 0.1, 4
MOST_CALLS = 200
#: Kernel runs in one window: reading it costs about 20 µs each.
MOST_KERNEL_RUNS = 2000
#: Kernel runs in one call from which on there is a single window.
MANY_KERNEL_RUNS = 20_000
#: Seconds to wait for a live view's window to close.
PATIENCE = 2.0


def measure(run: Callable[[], None], compiled: records.Compiled, labels: Labels = NO_LABELS) -> records.Executed:
    """Run a call often, and measure its time by the host's clock and then the share of each kernel.

    ``run`` makes the call of the compiled program once, and waits for its results. ``labels`` are those of
    :func:`~xlascope.readers.profiles.read_profile`.

    The profiler makes a program slower, a small one several times: so the time of a call is that of runs without it.
    """
    step = warm_up(run)
    tally = Tally(compiled.program, compiled.function, time.time())
    step = _timed(run, step, tally)
    runs = max(len(compiled.kernels), 1)
    if any(kernel.opcode == "while" for kernel in compiled.kernels):  # a profile shows the trip count
        runs = max(_look(run, 1, compiled, tally, labels), runs)
    calls = max(1, min(MOST_CALLS, int(SEEN_SECONDS / WINDOWS / step), MOST_KERNEL_RUNS // runs))
    for _ in range(WINDOWS if step * calls * WINDOWS < MOST_SECONDS and runs < MANY_KERNEL_RUNS else 1):
        _look(run, calls, compiled, tally, labels)
    return tally.record(StepTime(step, "host"), step)


def _look(run: Callable[[], None], calls: int, compiled: records.Compiled, tally: Tally, labels: Labels) -> int:
    """Profile so many calls and return the number of kernel runs recorded."""
    profiles = _of(compiled, _patient_window(run, calls), tally.notes, labels)
    tally.add_window(profiles)
    return sum(kernel.calls for profile in profiles for device in profile.devices for kernel in device.kernels)


def _timed(run: Callable[[], None], step: float, tally: Tally) -> float:
    """Return the median over rounds of the seconds of a call, from its dispatch until its results are ready."""
    calls = max(1, int(ROUND / step))
    rounds: list[float] = []
    started = time.perf_counter()
    while len(rounds) < MOST_ROUNDS:
        elapsed = time.perf_counter() - started
        if rounds and elapsed > (SECONDS if len(rounds) >= ROUNDS else MOST_SECONDS):
            break
        began = time.perf_counter()
        for _ in range(calls):
            run()
        seconds = time.perf_counter() - began
        rounds.append(seconds / calls)
        tally.add_calls(calls, seconds)
    return statistics.median(rounds)


def _of(compiled: records.Compiled, data: bytes, notes: dict[str, None], labels: Labels) -> list[ModuleProfile]:
    """Return a window's profiles of a program; empty, with a note, where they cannot be read."""
    schedules = {compiled.module: read_schedules(compiled.hlo, {kernel.name for kernel in compiled.kernels})}
    try:
        profiles = read_profile(data, schedules=schedules, labels=labels)
    except FormatError as error:
        notes[f"no kernel's time can be shown: {error}"] = None
        return []
    if not profiles:
        notes["no kernel's time can be shown: " + UNTOLD] = None
    return [profile for profile in profiles if profile.module == compiled.module]


def _patient_window(run: Callable[[], None], calls: int) -> bytes:
    """Profile so many calls and return the data; wait while a live view's window is open."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return _window(run, calls)
        except ProfilerInUseError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _window(run: Callable[[], None], calls: int) -> bytes:
    with Window() as window:
        for _ in range(calls):
            run()
    return window.data
