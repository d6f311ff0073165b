"""Measurement of one program: the time of a call by the host's clock, and its kernels' shares by the profiler."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from ... import records
from ...readers import FormatError
from ...readers.hlo.schedules import read_schedules
from ...readers.profiles import NO_KERNEL_EVENTS, NO_LABELS, Labels, ModuleProfile, read_profile
from ...runtime.debug_output import debug_output_discarded
from ...xla.profiling.profiler_windows import ProfilerInUseError, Window
from .accumulator import ProgramTally
from .interleaved_timing import WARM_UP_CALLS, warm_up
from .periods import HIGH, LOW, weighted_quantile
from .step_time import StepTime

#: Approximate seconds of all timed calls and of a round, and numbers of rounds; a round's time is its calls' mean.
TIMED_SECONDS, MIN_ROUNDS, ROUND_SECONDS, MAX_ROUNDS = 0.3, 5, 0.002, 200
#: No round or window starts after so many seconds.
MAX_MEASUREMENT_SECONDS = 2.0
#: Approximate seconds of profiled calls, and the number of windows; a window holds at least one call.
PROFILED_SECONDS, PROFILER_WINDOWS = 0.1, 4
MAX_WINDOW_CALLS = 200
#: Kernel runs in one window: reading it costs about 20 µs each.
MAX_WINDOW_KERNEL_RUNS = 2000
#: Kernel runs in one call from which on there is a single window.
SINGLE_WINDOW_KERNEL_RUNS = 20_000
#: Seconds to wait for a live view's window to close.
MAX_WAIT_SECONDS = 2.0


def measure(run: Callable[[], None], compiled: records.Compiled, labels: Labels = NO_LABELS) -> records.Executed:
    """Run a call often, and measure its time by the host's clock and then the share of each kernel.

    ``run`` makes the call of the compiled program once, and waits for its results. ``labels`` are those of
    :func:`~xlascope.readers.profiles.read_profile`.

    The profiler makes a program slower, a small one several times: so the time of a call is that of runs without it.
    """
    warm_up(run, 1)
    with debug_output_discarded():  # but of the first call
        return _measure_warm_calls(run, compiled, labels)


def _measure_warm_calls(run: Callable[[], None], compiled: records.Compiled, labels: Labels) -> records.Executed:
    step = warm_up(run, WARM_UP_CALLS - 1)
    tally = ProgramTally(compiled.program, compiled.function, time.time())
    times = _time_calls(run, step, tally)
    step = times.median
    runs = max(len(compiled.kernels), 1)
    if any(kernel.opcode == "while" for kernel in compiled.kernels):  # a profile shows the trip count
        runs = max(_profile_calls(run, 1, compiled, tally, labels), runs)
    calls = max(
        1, min(MAX_WINDOW_CALLS, int(PROFILED_SECONDS / PROFILER_WINDOWS / step), MAX_WINDOW_KERNEL_RUNS // runs)
    )
    for _ in range(
        PROFILER_WINDOWS
        if step * calls * PROFILER_WINDOWS < MAX_MEASUREMENT_SECONDS and runs < SINGLE_WINDOW_KERNEL_RUNS
        else 1
    ):
        _profile_calls(run, calls, compiled, tally, labels)
    return tally.record(StepTime(step, "host"), step, times)


def _profile_calls(
    run: Callable[[], None], calls: int, compiled: records.Compiled, tally: ProgramTally, labels: Labels
) -> int:
    """Profile ``calls`` calls, add the profile to ``tally``, and return the number of kernel runs recorded.

    ``run`` makes one call of the program ``compiled``. ``labels`` distinguish modules that share a name.
    """
    profiles = _read_profiles(compiled, _record_when_free(run, calls), tally.notes, labels)
    tally.add_window(profiles)
    return sum(kernel.calls for profile in profiles for device in profile.devices for kernel in device.kernels)


def _time_calls(run: Callable[[], None], step: float, tally: ProgramTally) -> records.TimeDistribution:
    """Return the distribution over rounds of the seconds of a call, from its dispatch until its results are ready.

    ``step`` is a first estimate of these seconds. The calls are added to ``tally``.
    """
    calls = max(1, int(ROUND_SECONDS / step))
    rounds: list[float] = []
    started = time.perf_counter()
    while len(rounds) < MAX_ROUNDS:
        elapsed = time.perf_counter() - started
        if rounds and elapsed > (TIMED_SECONDS if len(rounds) >= MIN_ROUNDS else MAX_MEASUREMENT_SECONDS):
            break
        began = time.perf_counter()
        for _ in range(calls):
            run()
        seconds = time.perf_counter() - began
        rounds.append(seconds / calls)
        tally.add_calls(calls, seconds)
    low, high = (weighted_quantile(((seconds, 1) for seconds in rounds), fraction) for fraction in (LOW, HIGH))
    mean = statistics.fmean(rounds)
    return records.TimeDistribution(statistics.median(rounds), low, high, mean, calls * len(rounds), "host")


def _read_profiles(
    compiled: records.Compiled, data: bytes, notes: dict[str, None], labels: Labels
) -> list[ModuleProfile]:
    """Return the profiles of a program in the data of one window; empty if they cannot be read.

    The reason is then added to ``notes``. ``labels`` are those of :func:`~xlascope.readers.profiles.read_profile`.
    """
    schedules = {compiled.module: read_schedules(compiled.hlo, {kernel.name for kernel in compiled.kernels})}
    try:
        profiles = read_profile(data, schedules=schedules, labels=labels)
    except FormatError as error:
        notes[f"no kernel's time can be shown: {error}"] = None
        return []
    if not profiles:
        notes["no kernel's time can be shown: " + NO_KERNEL_EVENTS] = None
    return [profile for profile in profiles if profile.module == compiled.module]


def _record_when_free(run: Callable[[], None], calls: int) -> bytes:
    """Profile ``calls`` calls and return the data; wait while another window of this process is open.

    Raises ProfilerInUseError if that takes more than ``MAX_WAIT_SECONDS``.
    """
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while True:
        try:
            return _record_window(run, calls)
        except ProfilerInUseError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _record_window(run: Callable[[], None], calls: int) -> bytes:
    with Window() as window:
        for _ in range(calls):
            run()
    return window.data
