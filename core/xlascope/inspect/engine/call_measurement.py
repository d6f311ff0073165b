"""Measurements of calls of xlascope's engine."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from ... import records, tree
from ...analysis.doctor import Copied
from ...control.jit.arguments import merge_arguments
from ...control.programs.interning import settings_of_trace
from ...xla.devices.backend import default_device
from ...xla.execution.executables import Executable
from ...xla.profiling.measured_ceilings import measure_ceilings
from ...xla.system.device_names import device_name
from ..running.interleaved_timing import time_interleaved
from .traced_calls import InspectedCall

#: Minimum bytes in NumPy arrays for the cost of copying them to be measured.
MIN_COPIED_BYTES = 100_000


def make_user_call(call: InspectedCall) -> Callable[[], None]:
    """Return a function that makes the call as its user does, with arguments on the device, and waits for results.

    If the call donates arguments, which is possible once only, it runs on copies. If the function would now run
    another program (because it was changed, or traced under other settings), this program runs:
    :func:`make_runner`.
    """
    if any(call.donated_operands) or not _is_current_trace(call):
        return make_runner(call, call.executable())
    args, kwargs = merge_arguments(call.arguments, call.put_operands(call.executable()))
    function = call.function

    def call_and_wait() -> None:
        for result in tree.leaves(function(*args, **kwargs)):
            result.block_until_ready()

    return call_and_wait


def measure_argument_copies(call: InspectedCall, names: Sequence[str], user_call: Callable[[], Any]) -> Copied | None:
    """Measure the cost of the call's NumPy arrays, interleaved: with them, and with arrays on the device.

    ``names`` are the names of its operands, and ``user_call`` makes the call with the original arguments. Returns
    None without such arrays, if they are small, and if the two would not run the same program.
    """
    numpy_operands = [
        (name, x) for name, x in zip(names, call.arguments.operands, strict=True) if isinstance(x, np.ndarray)
    ]
    size = sum(x.nbytes for _, x in numpy_operands)
    if size < MIN_COPIED_BYTES or any(call.donated_operands) or not _is_current_trace(call):
        return None

    def call_as_given() -> None:
        for result in tree.leaves(user_call()):
            result.block_until_ready()

    timing = time_interleaved(call_as_given, make_user_call(call))
    slower = not timing.within_noise and timing.ratio < 1
    seconds = statistics.median(timing.before), statistics.median(timing.after)
    return Copied(tuple(name for name, _ in numpy_operands), size, *seconds, slower, timing.source)


def _is_current_trace(call: InspectedCall) -> bool:
    cached = call.jitted.traces.items()
    return any(traced is call.traced and signature.settings == settings_of_trace() for signature, traced in cached)


def make_runner(call: InspectedCall, executable: Executable) -> Callable[[], None]:
    """Return a function that makes the call once and waits for its results; the arguments are on the device already."""
    operands = call.put_operands(executable)
    is_donated = call.donated_operands or (False,) * len(operands)

    def run_and_wait() -> None:
        run_operands = [copy(x) if reused else x for x, reused in zip(operands, is_donated, strict=True)]
        for result in tree.leaves(executable(run_operands, call.avals)):
            result.block_until_ready()

    return run_and_wait


def measure_device_ceilings(call: InspectedCall, executed: records.Executed) -> records.Ceilings:
    """Return the peak rates of the call's device as a record, from its calibration.

    ``executed`` gives the record its program and function.
    """
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
