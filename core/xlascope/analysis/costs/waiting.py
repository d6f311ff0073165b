"""Waiting time in collectives: how long a device waits until the last device of its group has begun.

It is derived, not measured: in the profiled step, the profiler reports when each device began a collective
and when it was done. XLA's CPU devices synchronize before they exchange anything, so until the last of a
group has begun the others wait; the remaining time is work. A group is skipped if the collective was not
recorded equally often on all of its devices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...records.events import Compiled, Executed, Span


class Waits(NamedTuple):
    """One collective in the profiled step: means over the devices of its seconds, and of those spent waiting.

    ``kernel`` is its name, ``last`` the device that the others waited for longest.
    """

    kernel: str
    seconds: float
    waiting: float
    last: str


def waiting_spans(compiled: Compiled, run: Executed) -> dict[str, list[Span]]:
    """Return by device the spans of the profiled step in which it waits for others, named by the collective."""
    waiting: dict[str, list[Span]] = defaultdict(list)
    for members in _iter_collective_runs(compiled, run):
        last_start = max(span.start for span in members.values())
        for device, span in members.items():
            waits = min(last_start - span.start, span.duration)
            if waits > 0:
                waiting[device].append(Span(span.kernel, span.start, waits))
    return dict(waiting)


def waits_of(compiled: Compiled, run: Executed) -> tuple[Waits, ...]:
    """Return the collectives of the profiled step by waiting time, largest first; none where it is unknown.

    >>> from xlascope.records import Collective, DeviceTime, Kernel
    >>> sums = Kernel("all-reduce", "all-reduce", "single", "f32[4]", (), 1, 0, 16, 16, 0,
    ...     collective=Collective("all-reduce", 2, 16, 16, ((0, 1),)))
    >>> program = Compiled(1, "f", 0.0, 1.0, "miss", "cpu", ("cpu:0", "cpu:1"), "m", (sums,), "")
    >>> early, late = Span("all-reduce", 1.0, 3.0), Span("all-reduce", 3.0, 1.0)
    >>> seen = DeviceTime("cpu:0", 3.0, (), (early,)), DeviceTime("cpu:1", 1.0, (), (late,))
    >>> waits_of(program, Executed(1, "f", 0.0, 1, 4.0, 4.0, 1, 4.0, seen))
    (Waits(kernel='all-reduce', seconds=2.0, waiting=1.0, last='cpu:1'),)
    """
    collective_runs = list(_iter_collective_runs(compiled, run))
    count = len(run.devices)
    total: dict[str, float] = defaultdict(float)
    waiting: dict[str, float] = defaultdict(float)
    longest: dict[str, tuple[float, str]] = {}
    for members in collective_runs:
        last = max(members, key=lambda device: members[device].start)
        for span in members.values():
            waits = max(0.0, min(members[last].start - span.start, span.duration))
            total[span.kernel] += span.duration / count
            waiting[span.kernel] += waits / count
            longest[span.kernel] = max(longest.get(span.kernel, (0.0, last)), (waits, last))
    rows = [Waits(kernel, total[kernel], waiting[kernel], longest[kernel][1]) for kernel in total]
    return tuple(sorted(rows, key=lambda row: -row.waiting))


def waits_json(compiled: Compiled, run: Executed) -> list[dict[str, Any]]:
    """Return the result of :func:`waits_of` as JSON-compatible dicts."""
    return [row._asdict() for row in waits_of(compiled, run)]


def _iter_collective_runs(compiled: Compiled, run: Executed) -> Iterator[Mapping[str, Span]]:
    """Yield the spans by device of each run of a collective by a group of devices; none where they are unknown."""
    if compiled.platform != "cpu" or not all(device.whole for device in run.devices):
        return
    names = compiled.devices
    for kernel in compiled.kernels:
        if kernel.collective is None:
            continue
        runs_by_device = {
            device_time.device: _spans_of_kernel(device_time.spans, kernel.name) for device_time in run.devices
        }
        for group in kernel.collective.groups:
            members = [names[i] for i in group if i < len(names)]
            counts = {len(runs_by_device.get(device, ())) for device in members}
            if len(members) < 2 or len(members) < len(group) or len(counts) != 1:
                continue
            for i in range(counts.pop()):
                yield {device: runs_by_device[device][i] for device in members}


def _spans_of_kernel(spans: tuple[Span, ...], kernel: str) -> list[Span]:
    return sorted((span for span in spans if span.kernel == kernel), key=lambda span: span.start)
