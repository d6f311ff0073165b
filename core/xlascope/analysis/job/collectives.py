"""Collectives of shared programs in all processes: their lines, their times, and who is waited for.

A device leaves a collective when all have come, so the device that spends least time in it came last, and what the
others spend longer is waiting.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...records.compiled import Kernel
from ...records.events import Compiled, DeviceTime, Executed, Traced
from ...records.job import JobCollective
from ...records.programs import Equation
from .process_records import ProcessRecords

#: Collectives that a device can only end when all devices of its group have begun them.
SYNCHRONIZING_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-broadcast")
MAX_COLLECTIVES = 60

Programs = Mapping[int, int | None]


def synchronizes_all(compiled: Compiled) -> bool:
    """Return whether no device of a compiled program can end a run before all devices have begun it.

    >>> from xlascope.records import Collective
    >>> sums = Kernel("all-reduce", "all-reduce", "single", "f32[4]", (), 1, 0, 16, 16, 0,
    ...     collective=Collective("all-reduce", 2, 16, 16, ((0, 1),)))
    >>> synchronizes_all(Compiled(1, "f", 0.0, 1.0, "miss", "cpu", ("cpu:0", "cpu:2048"), "m", (sums,), ""))
    True
    """
    return any(
        kernel.collective is not None
        and kernel.collective.kind in SYNCHRONIZING_KINDS
        and kernel.collective.devices == len(compiled.devices)
        for kernel in compiled.kernels
    )


def find_collectives(processes: Mapping[int, ProcessRecords], programs: Programs) -> tuple[JobCollective, ...]:
    """Return the collectives of a program, those with most time first; ``programs`` are its numbers by process."""
    compiled = find_compiled(processes, programs)
    if compiled is None:
        return ()
    equations = _read_equations(processes, programs)
    runs = {number: profiled_run(processes[number], program) for number, program in programs.items()}
    rows = [_make_collective(kernel, equations, runs) for kernel in compiled.kernels if kernel.collective is not None]
    rows.sort(key=lambda row: -max(row.seconds, default=0.0))
    return tuple(rows[:MAX_COLLECTIVES])


def collective_seconds(processes: Mapping[int, ProcessRecords], programs: Programs) -> dict[int, tuple[float, float]]:
    """Return by process the seconds of a call in collectives, and those that it waits there; empty where unknown.

    Seconds are means over the devices of a process and the calls that its profiler saw.
    """
    compiled = find_compiled(processes, programs)
    kernels = frozenset(kernel.name for kernel in compiled.kernels if kernel.collective) if compiled else frozenset()
    by_device: dict[int, list[float]] = {}
    for number, program in programs.items():
        executed = profiled_run(processes[number], program)
        if executed is None or not kernels:
            return {}
        by_device[number] = [
            sum(time.seconds for time in device.kernels if time.kernel in kernels) / executed.observed_calls
            for device in executed.devices
        ]
    least = min(min(seconds) for seconds in by_device.values())
    means = {number: sum(seconds) / len(seconds) for number, seconds in by_device.items()}
    return {number: (mean, mean - least) for number, mean in means.items()}


def find_compiled(processes: Mapping[int, ProcessRecords], programs: Programs) -> Compiled | None:
    """Return the compilation of a program, of the first process whose records have its kernels."""
    candidates = (
        processes[number].compiled.get(program) for number, program in programs.items() if program is not None
    )
    return next((compiled for compiled in candidates if compiled is not None and compiled.kernels), None)


def profiled_run(process: ProcessRecords, program: int | None) -> Executed | None:
    """Return the measurement of a program in a process if the profiler saw whole calls on all devices."""
    executed = None if program is None else process.executed.get(program)
    is_profiled = (
        executed is not None
        and executed.observed_calls > 0
        and executed.devices
        and all(device.whole for device in executed.devices)
    )
    return executed if is_profiled else None


def _read_equations(processes: Mapping[int, ProcessRecords], programs: Programs) -> dict[str, Equation]:
    for number, program in programs.items():
        traced: Traced | None = None if program is None else processes[number].traced.get(program)
        if traced is not None and traced.jaxpr.equations:
            return {str(equation.path): equation for equation in traced.jaxpr.walk()}
    return {}


def _make_collective(
    kernel: Kernel, equations: Mapping[str, Equation], runs: Mapping[int, Executed | None]
) -> JobCollective:
    """Return a collective with its line and the times of its runs by process."""
    assert kernel.collective is not None
    computed = [equations[str(path)] for path in (*kernel.equations, *kernel.moves) if str(path) in equations]
    equation = next((item for item in computed if item.source is not None), computed[0] if computed else None)
    timed = {number: _mean_seconds(kernel.name, run) for number, run in runs.items()}
    if any(seconds is None for seconds in timed.values()):
        times: dict[int, tuple[float, float, int]] = {}
    else:
        times = {number: seconds for number, seconds in timed.items() if seconds is not None}
    least = min((shortest for _, shortest, _ in times.values()), default=0.0)
    return JobCollective(
        kernel.name,
        kernel.collective.kind,
        "" if equation is None else equation.name,
        kernel.collective.bytes,
        None if equation is None else equation.source,
        tuple(mean for mean, _, _ in times.values()),
        tuple(mean - least for mean, _, _ in times.values()),
        min(times, key=lambda number: times[number][1]) if len(times) > 1 else None,
        min((count for _, _, count in times.values()), default=0),
    )


def _mean_seconds(kernel: str, run: Executed | None) -> tuple[float, float, int] | None:
    """Return the seconds of one run of a kernel: mean and minimum over a process's devices, and the runs observed."""
    if run is None:
        return None
    rows = [row for device in run.devices if (row := _kernel_seconds(kernel, device)) is not None]
    if len(rows) != len(run.devices):
        return None
    seconds = [time for time, _ in rows]
    return sum(seconds) / len(seconds), min(seconds), min(count for _, count in rows)


def _kernel_seconds(kernel: str, device: DeviceTime) -> tuple[float, int] | None:
    return next((
        (time.seconds / time.calls, time.calls) for time in device.kernels if time.kernel == kernel and time.calls
    ), None)  # fmt: skip
