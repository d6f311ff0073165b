"""Our engine's calls, made again and again: what is measured of them."""

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

#: Bytes in NumPy arrays from which on it is worth to measure what copying them costs.
WORTH_COPYING = 100_000


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
