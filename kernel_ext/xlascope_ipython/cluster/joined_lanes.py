"""One program as all of its processes ran it: its lanes are the devices of all, on one clock."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from xlascope.records import Compiled, DeviceTime, Executed, JobLane, KernelTime, SharedProgram, Span


def name_devices(record: Compiled) -> Compiled:
    """Return a compilation whose devices are named by their processes, unless all belong to one.

    The name is ``process 1``, or ``process 1:0``, with the number of the device there, where it has several.
    """
    if len(set(record.processes)) < 2:
        return record
    return dataclasses.replace(record, devices=tuple(lane_names(record).values()))


def lane_names(record: Compiled) -> dict[str, str]:
    """Return the names by processes of a compilation's devices."""
    counts, numbers = Counter(record.processes), Counter[int]()
    names = {}
    for device, process in zip(record.devices, record.processes, strict=True):
        names[device] = f"process {process}" if counts[process] == 1 else f"process {process}:{numbers[process]}"
        numbers[process] += 1
    return names


def name_own_devices(run: Executed, compiled: Compiled) -> Executed:
    """Return a run of one process whose devices are named as :func:`name_devices` does."""
    if len(set(compiled.processes)) < 2:
        return run
    names = lane_names(compiled)
    devices = (dataclasses.replace(item, device=names.get(item.device, item.device)) for item in run.devices)
    return dataclasses.replace(run, devices=tuple(devices))


def join_runs(
    runs: Mapping[int, Executed], compiled: Compiled, program: SharedProgram | None, first: int
) -> Executed | None:
    """Return the run of a program in the process ``first`` with the devices of all; None where one has no profile.

    ``runs`` are those of the processes, ``compiled`` is the program's compilation there, ``program`` what the report
    says of it: its lanes are aligned.
    """
    lanes = () if program is None else program.lanes
    names = lane_names(compiled)
    devices = []
    origin = min((span.start for lane in lanes for span in lane.spans), default=0.0)
    for process in sorted(runs):
        for device in runs[process].devices:
            lane = next((item for item in lanes if (item.process, item.device) == (process, device.device)), None)
            if lane is None or not device.whole or device.device not in names:
                return None
            scale = runs[first].observed_calls / max(1, runs[process].observed_calls)
            devices.append(_align(device, names[device.device], lane, origin, scale))
    return dataclasses.replace(runs[first], devices=tuple(devices)) if devices else None


def _align(device: DeviceTime, name: str, lane: JobLane, origin: float, scale: float) -> DeviceTime:
    """Return a device's activity with the spans of its lane, from ``origin`` on, and sums for other calls.

    ``scale`` is the number of calls that the sums are for, relative to those observed in its process.
    """
    kernels = tuple(
        KernelTime(kernel.kernel, max(1, round(kernel.calls * scale)), kernel.seconds * scale)
        for kernel in device.kernels
    )
    return DeviceTime(name, device.busy * scale, kernels, _shift(lane.spans, origin), peaks=device.peaks)


def _shift(spans: Sequence[Span], origin: float) -> tuple[Span, ...]:
    return tuple(dataclasses.replace(span, start=span.start - origin) for span in spans)
