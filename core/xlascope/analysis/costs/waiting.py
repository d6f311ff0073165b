"""Waiting told apart from working: how much of a collective's time a device spends until the last one has come.

Derived, not measured: in the step shown the profiler says when each device began a collective and when it was done.
XLA's CPU devices meet before they exchange anything, so until the last of a group has begun the others wait; what comes
after is called work. A device of which the collective was not seen, or not as often, tells nothing: nor does its group.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...records.events import Compiled, Executed, Span


class Waits(NamedTuple):
    """A collective in the step shown, the mean over the devices: seconds from begin to end, and those of waiting.

    ``last`` is the device that the others waited for longest.
    """

    kernel: str
    seconds: float
    waiting: float
    last: str


def waiting_spans(compiled: Compiled, run: Executed) -> dict[str, list[Span]]:
    """For each device the stretches of the step shown in which it waits for another, named by the collective."""
    found: dict[str, list[Span]] = defaultdict(list)
    for members in _meetings(compiled, run):
        everybody = max(span.start for span in members.values())
        for device, span in members.items():
            waits = min(everybody - span.start, span.duration)
            if waits > 0:
                found[device].append(Span(span.kernel, span.start, waits))
    return dict(found)


def waits_of(compiled: Compiled, run: Executed) -> tuple[Waits, ...]:
    """The collectives of the step shown, those with most waiting first; none where nobody can tell.

    >>> from xlascope.records import Collective, DeviceTime, Kernel
    >>> sums = Kernel("all-reduce", "all-reduce", "single", "f32[4]", (), 1, 0, 16, 16, 0,
    ...     collective=Collective("all-reduce", 2, 16, 16, ((0, 1),)))
    >>> program = Compiled(1, "f", 0.0, 1.0, "miss", "cpu", ("cpu:0", "cpu:1"), "m", (sums,), "")
    >>> early, late = Span("all-reduce", 1.0, 3.0), Span("all-reduce", 3.0, 1.0)
    >>> seen = DeviceTime("cpu:0", 3.0, (), (early,)), DeviceTime("cpu:1", 1.0, (), (late,))
    >>> waits_of(program, Executed(1, "f", 0.0, 1, 4.0, 4.0, 1, 4.0, seen))
    (Waits(kernel='all-reduce', seconds=2.0, waiting=1.0, last='cpu:1'),)
    """
    meetings = list(_meetings(compiled, run))
    count = len(run.devices)
    total: dict[str, float] = defaultdict(float)
    waiting: dict[str, float] = defaultdict(float)
    longest: dict[str, tuple[float, str]] = {}
    for members in meetings:
        last = max(members, key=lambda device: members[device].start)
        for span in members.values():
            waits = max(0.0, min(members[last].start - span.start, span.duration))
            total[span.kernel] += span.duration / count
            waiting[span.kernel] += waits / count
            longest[span.kernel] = max(longest.get(span.kernel, (0.0, last)), (waits, last))
    rows = [Waits(kernel, total[kernel], waiting[kernel], longest[kernel][1]) for kernel in total]
    return tuple(sorted(rows, key=lambda each: -each.waiting))


def waits_json(compiled: Compiled, run: Executed) -> list[dict[str, Any]]:
    """The same as JSON can hold it."""
    return [each._asdict() for each in waits_of(compiled, run)]


def _meetings(compiled: Compiled, run: Executed) -> Iterator[Mapping[str, Span]]:
    """Each run of a collective by each group of devices: what each of them was seen to do."""
    if compiled.platform != "cpu" or not all(device.whole for device in run.devices):
        return
    names = compiled.devices
    for kernel in compiled.kernels:
        if kernel.collective is None:
            continue
        seen = {each.device: _runs(each.spans, kernel.name) for each in run.devices}
        for group in kernel.collective.groups:
            members = [names[i] for i in group if i < len(names)]
            counts = {len(seen.get(device, ())) for device in members}
            if len(members) < 2 or len(members) < len(group) or len(counts) != 1:
                continue
            for i in range(counts.pop()):
                yield {device: seen[device][i] for device in members}


def _runs(spans: tuple[Span, ...], kernel: str) -> list[Span]:
    return sorted((span for span in spans if span.kernel == kernel), key=lambda span: span.start)
