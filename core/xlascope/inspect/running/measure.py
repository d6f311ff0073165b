"""Measuring one program: calls inside profiler windows."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ... import records, tree
from ...readers import FormatError
from ...readers.profiles import UNTOLD, ModuleProfile, read_profile
from ...xla.backend import default_device, device_name
from ...xla.ceilings import measure_ceilings
from ...xla.dispatch import Executable, put
from ...xla.profile import ProfilerInUseError, Window
from ..engine.calls import Call
from .alternate import warm_up
from .tally import Tally

#: The measured calls take about this many seconds, in this many windows; a window holds at least one call.
SECONDS, WINDOWS = 0.1, 4
MOST_CALLS = 200
#: Kernel runs in one window: reading it costs about 20 µs each.
MOST_KERNEL_RUNS = 2000
#: How long to wait for a live view's window to close.
PATIENCE = 2.0


def measure(call: Call, compiled: records.Compiled) -> records.Executed:
    """Run a call often and say what the profiler saw of its program, which ``compiled`` describes."""
    run = runner(call, call.executable())
    step = warm_up(run)
    calls = max(1, min(MOST_CALLS, int(SECONDS / WINDOWS / step), MOST_KERNEL_RUNS // max(len(compiled.kernels), 1)))
    tally = Tally(call.traced.number, compiled.function, time.time())
    for _ in range(WINDOWS):
        data, seconds = _patient_window(run, calls)
        tally.add_calls(calls, seconds, seconds)
        tally.add_window(_of(compiled, data, tally.notes), seconds)
    return tally.record()


def _of(compiled: records.Compiled, data: bytes, notes: dict[str, None]) -> list[ModuleProfile]:
    """What a window saw of a program that ran in it; nothing, and a note why, where that cannot be told."""
    try:
        profiles = read_profile(data)
    except FormatError as error:
        notes[f"no kernel's time can be shown: {error}"] = None
        return []
    if not profiles:
        notes["no kernel's time can be shown: " + UNTOLD] = None
    return [each for each in profiles if each.module == compiled.module]


def ceilings(call: Call, executed: records.Executed) -> records.Ceilings:
    """What the device of a call can do at most; measured once per process."""
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


def _patient_window(run: Callable[[], None], calls: int) -> tuple[bytes, float]:
    """What the profiler saw of so many calls, and how long they took; waits while a live view's window is open."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return _window(run, calls)
        except ProfilerInUseError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _window(run: Callable[[], None], calls: int) -> tuple[bytes, float]:
    with Window() as opened:
        began = time.perf_counter()
        for _ in range(calls):
            run()
        seconds = time.perf_counter() - began
    return opened.data, seconds


def runner(call: Call, executable: Executable) -> Callable[[], None]:
    """A function that makes the call once and waits for its results; the arguments lie on the device already."""
    device = call.place.device
    operands = [put(x, aval, device) for x, aval in zip(call.arguments.operands, call.avals, strict=True)]
    donated = call.donated or (False,) * len(operands)

    def run() -> None:
        given = [
            put(np.asarray(x), aval, device) if reused else x
            for x, aval, reused in zip(operands, call.avals, donated, strict=True)
        ]
        for result in tree.leaves(executable(given, call.avals)):
            result.block_until_ready()

    return run
