"""Measuring one program: the time of a call by the host's clock, its kernels' shares inside profiler windows."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from ... import records, tree
from ...analysis.doctor import Copied
from ...control.jit.arguments import join
from ...control.programs.bodies import settings_of_trace
from ...readers import FormatError
from ...readers.hlo.entry import entry_names
from ...readers.profiles import UNTOLD, ModuleProfile, read_profile
from ...xla.backend import default_device, device_name
from ...xla.ceilings import measure_ceilings
from ...xla.dispatch import Executable
from ...xla.profile import ProfilerInUseError, Window
from ..engine.calls import Call
from .alternate import alternate, warm_up
from .pace import StepTime
from .tally import Tally

#: The calls that are timed take about this many seconds, in rounds; a round's time is the mean of its calls.
SECONDS, ROUNDS, ROUND, MOST_ROUNDS = 0.3, 5, 0.002, 200
#: After so many seconds there are no more rounds or windows, however few there were.
MOST_SECONDS = 2.0
#: The calls that the profiler sees take about this many seconds, in this many windows; a window holds at least one.
SEEN_SECONDS, WINDOWS = 0.1, 4
MOST_CALLS = 200
#: Kernel runs in one window: reading it costs about 20 µs each.
MOST_KERNEL_RUNS = 2000
#: Kernel runs in one call from which on one window has to do.
MANY_KERNEL_RUNS = 20_000
#: Bytes in NumPy arrays from which on it is worth to measure what copying them costs.
WORTH_COPYING = 100_000
#: How long to wait for a live view's window to close.
PATIENCE = 2.0


def measure(call: Call, compiled: records.Compiled) -> records.Executed:
    """Run a call often and say how long it takes, by the host's clock, and then what part of that each kernel takes.

    The profiler makes a program slower, a small one several times: so the time of a call is that of runs without it.
    """
    run = caller(call)
    step = warm_up(run)
    tally = Tally(call.traced.number, compiled.function, time.time())
    step = _timed(run, step, tally)
    runs = max(len(compiled.kernels), 1)
    if any(kernel.opcode == "while" for kernel in compiled.kernels):  # how often a loop runs its kernels it has to show
        runs = max(_look(run, 1, compiled, tally), runs)
    calls = max(1, min(MOST_CALLS, int(SEEN_SECONDS / WINDOWS / step), MOST_KERNEL_RUNS // runs))
    for _ in range(WINDOWS if step * calls * WINDOWS < MOST_SECONDS and runs < MANY_KERNEL_RUNS else 1):
        _look(run, calls, compiled, tally)
    return tally.record(StepTime(step, "host"), step)


def _look(run: Callable[[], None], calls: int, compiled: records.Compiled, tally: Tally) -> int:
    """Let the profiler see so many calls; returns how many kernels it saw run."""
    profiles = _of(compiled, _patient_window(run, calls), tally.notes)
    tally.add_window(profiles)
    return sum(kernel.calls for profile in profiles for device in profile.devices for kernel in device.kernels)


def _timed(run: Callable[[], None], step: float, tally: Tally) -> float:
    """The median over rounds of the seconds of a call, from its being made until its results are there."""
    calls = max(1, int(ROUND / step))
    rounds: list[float] = []
    started = time.perf_counter()
    while len(rounds) < MOST_ROUNDS:
        passed = time.perf_counter() - started
        if rounds and passed > (SECONDS if len(rounds) >= ROUNDS else MOST_SECONDS):
            break
        began = time.perf_counter()
        for _ in range(calls):
            run()
        seconds = time.perf_counter() - began
        rounds.append(seconds / calls)
        tally.add_calls(calls, seconds)
    return statistics.median(rounds)


def _of(compiled: records.Compiled, data: bytes, notes: dict[str, None]) -> list[ModuleProfile]:
    """What a window saw of a program that ran in it; nothing, and a note why, where that cannot be told."""
    entries = {compiled.module: entry_names(compiled.hlo) & {kernel.name for kernel in compiled.kernels}}
    try:
        profiles = read_profile(data, entries=entries)
    except FormatError as error:
        notes[f"no kernel's time can be shown: {error}"] = None
        return []
    if not profiles:
        notes["no kernel's time can be shown: " + UNTOLD] = None
    return [each for each in profiles if each.module == compiled.module]


def ceilings(call: Call, executed: records.Executed) -> records.Ceilings:
    """What the device of a call can do at most, as measured while the machine was idle."""
    device = call.place.device or default_device()
    found = measure_ceilings(device)
    return records.Ceilings(
        program=executed.program,
        function=executed.function,
        time=found.time,
        device=device_name(device),
        flops=found.flops,
        bytes_per_second=found.bytes_per_second,
        source=found.source,
    )


def _patient_window(run: Callable[[], None], calls: int) -> bytes:
    """What the profiler saw of so many calls; waits while a live view's window is open."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return _window(run, calls)
        except ProfilerInUseError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _window(run: Callable[[], None], calls: int) -> bytes:
    with Window() as opened:
        for _ in range(calls):
            run()
    return opened.data


def caller(call: Call) -> Callable[[], None]:
    """A function that makes the call as its user does, its arguments on the device already, and waits for its results.

    Where the call reuses its arguments' memory, which can be done once, it runs on copies; and where the function would
    now run another program (it is changed, or was traced under other settings), this one: :func:`runner`.
    """
    if any(call.donated) or not _runs_now(call):
        return runner(call, call.executable())
    args, kwargs = join(call.arguments, call.placed(call.executable()))
    function = call.function

    def run() -> None:
        for result in tree.leaves(function(*args, **kwargs)):
            result.block_until_ready()

    return run


def copied(call: Call, names: Sequence[str], asked: Callable[[], Any]) -> Copied | None:
    """What the call's NumPy arrays cost it, measured by turns: as ``asked`` makes it, and with arrays on the device.

    ``names`` are those of its operands. None without such arrays, where they are small, and where the two would not run
    the same program.
    """
    mine = [(name, x) for name, x in zip(names, call.arguments.operands, strict=True) if isinstance(x, np.ndarray)]
    size = sum(x.nbytes for _, x in mine)
    if size < WORTH_COPYING or any(call.donated) or not _runs_now(call):
        return None

    def given() -> None:
        for result in tree.leaves(asked()):
            result.block_until_ready()

    found = alternate(given, caller(call))
    slower = not found.within_noise and found.ratio < 1
    seconds = statistics.median(found.before), statistics.median(found.after)
    return Copied(tuple(name for name, _ in mine), size, *seconds, slower, found.source)


def _runs_now(call: Call) -> bool:
    kept = call.jitted.traces.items()
    return any(traced is call.traced and signature.settings == settings_of_trace() for signature, traced in kept)


def runner(call: Call, executable: Executable) -> Callable[[], None]:
    """A function that makes the call once and waits for its results; the arguments lie on the device already."""
    operands = call.placed(executable)
    donated = call.donated or (False,) * len(operands)

    def run() -> None:
        given = [copy(x) if reused else x for x, reused in zip(operands, donated, strict=True)]
        for result in tree.leaves(executable(given, call.avals)):
            result.block_until_ready()

    return run
