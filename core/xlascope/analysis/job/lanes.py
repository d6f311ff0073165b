"""Lanes of all processes' devices in one step of a shared program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...records.events import Compiled, DeviceTime
from ...records.job import JobLane
from ...records.spans import Span
from .collectives import Programs, find_compiled, profiled_run
from .process_records import ProcessRecords

#: Kernels in one lane, and lanes of one program.
MAX_SPANS, MAX_LANES = 160, 64


def build_lanes(processes: Mapping[int, ProcessRecords], programs: Programs) -> tuple[JobLane, ...]:
    """Return the lanes of a program's devices, aligned at the end of their first collective; none without a profile.

    In each collective the device that spends least time came last; what another one spends longer is waiting.
    """
    compiled = find_compiled(processes, programs)
    if compiled is None:
        return ()
    devices: list[tuple[int, DeviceTime]] = []
    for number, program in programs.items():
        executed = profiled_run(processes[number], program)
        if executed is None:
            return ()
        devices += [(number, device) for device in executed.devices if device.spans]
    names = [kernel.name for kernel in compiled.kernels if kernel.collective is not None]
    least = _find_shortest_runs([device for _, device in devices], names)
    return tuple(_make_lane(number, device, names, least, compiled) for number, device in devices[:MAX_LANES])


def _spans_of(device: DeviceTime, kernel: str) -> list[Span]:
    return sorted((span for span in device.spans if span.kernel == kernel), key=lambda span: span.start)


def _find_shortest_runs(devices: Sequence[DeviceTime], names: Sequence[str]) -> dict[tuple[str, int], float]:
    """Return the shortest duration of each run of each collective; none where devices ran it unequally often."""
    shortest = {}
    for name in names:
        runs = [_spans_of(device, name) for device in devices]
        if len({len(spans) for spans in runs}) == 1:
            for i, spans in enumerate(zip(*runs, strict=True)):
                shortest[name, i] = min(span.duration for span in spans)
    return shortest


def _make_lane(
    process: int,
    device: DeviceTime,
    names: Sequence[str],
    shortest: Mapping[tuple[str, int], float],
    compiled: Compiled,
) -> JobLane:
    ends = [span.start + span.duration for span in device.spans if span.kernel in names]
    origin = min(ends, default=0.0)
    largest = sorted(device.spans, key=lambda span: -span.duration)[:MAX_SPANS]
    spans = sorted(largest, key=lambda span: span.start)
    waits = [
        Span(name, span.start - origin, span.duration - shortest[name, i])
        for name in names
        for i, span in enumerate(_spans_of(device, name))
        if span.duration > shortest.get((name, i), span.duration)
    ]
    return JobLane(
        process,
        device.device,
        tuple(Span(span.kernel, span.start - origin, span.duration, span.stream, span.bytes) for span in spans),
        tuple(waits),
        len(device.spans) - len(spans),
    )
