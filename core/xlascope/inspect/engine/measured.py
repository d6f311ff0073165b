"""Measurements of calls of xlascope's engine."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from ... import records, tree
from ...analysis.doctor import Copied
from ...control.jit.arguments import join
from ...control.programs.interning import settings_of_trace
from ...xla.devices.backend import default_device
from ...xla.profiling.ceilings import measure_ceilings
from ...xla.running.executables import Executable
from ...xla.system.device_names import device_name
from ..running.alternate import alternate
from .calls import Call

#: Minimum bytes in NumPy arrays for the cost of copying them to be measured.
WORTH_COPYING = 100_000


def caller(call: Call) -> Callable[[], None]:
    """Return a function that makes the call as its user does, with arguments on the device, and waits for results.

    If the call donates arguments, which is possible once only, it runs on copies. If the function would now run
    another program (because it was changed, or traced under other settings), this program runs:
    :func:`make_runner`.
    """
    if any(call.donated) or not _runs_now(call):
        return runner(call, call.executable())
    args, kwargs = join(call.arguments, call.placed(call.executable()))
    function = call.function

    def call_and_wait() -> None:
        for result in tree.leaves(function(*args, **kwargs)):
            result.block_until_ready()

    return call_and_wait


def copied(call: Call, names: Sequence[str], user_call: Callable[[], Any]) -> Copied | None:
    """Measure the cost of the call's NumPy arrays, interleaved: with them, and with arrays on the device.

    ``names`` are the names of its operands, and ``user_call`` makes the call with the original arguments. Returns
    None without such arrays, if they are small, and if the two would not run the same program.
    """
    numpy_operands = [
        (name, x) for name, x in zip(names, call.arguments.operands, strict=True) if isinstance(x, np.ndarray)
    ]
    size = sum(x.nbytes for _, x in numpy_operands)
    if size < WORTH_COPYING or any(call.donated) or not _runs_now(call):
        return None

    def call_as_given() -> None:
        for result in tree.leaves(user_call()):
            result.block_until_ready()

    timing = alternate(call_as_given, caller(call))
    slower = not timing.within_noise and timing.ratio < 1
    seconds = statistics.median(timing.before), statistics.median(timing.after)
    return Copied(tuple(name for name, _ in numpy_operands), size, *seconds, slower, timing.source)


def _runs_now(call: Call) -> bool:
    cached = call.jitted.traces.items()
    return any(traced is call.traced and signature.settings == settings_of_trace() for signature, traced in cached)


def runner(call: Call, executable: Executable) -> Callable[[], None]:
    """Return a function that makes the call once and waits for its results; the arguments are on the device already."""
    operands = call.placed(executable)
    is_donated = call.donated or (False,) * len(operands)

    def run_and_wait() -> None:
        run_operands = [copy(x) if reused else x for x, reused in zip(operands, is_donated, strict=True)]
        for result in tree.leaves(executable(run_operands, call.avals)):
            result.block_until_ready()

    return run_and_wait


def ceilings(call: Call, executed: records.Executed) -> records.Ceilings:
    """Return the peaks of the call's device, as measured while the machine was idle."""
    device = call.place.device or default_device()
    measured = measure_ceilings(device)
    return records.Ceilings(
        program=executed.program,
        function=executed.function,
        time=measured.time,
        device=device_name(device),
        flops=measured.flops,
        bytes_per_second=measured.bytes_per_second,
        source=measured.source,
    )
