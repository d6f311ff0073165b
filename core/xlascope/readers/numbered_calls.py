"""Assignment of a GPU's kernels to calls: its profile lists them in order, without the start of a call."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from .hlo.entry import Schedules
from .profile_events import Event


def number_calls(events: Sequence[Event], schedules: Schedules) -> None:
    """Set the call number of each kernel run, in the order the runs began.

    A call begins with the run of one kernel that every call runs once (the anchor): a kernel of the entry
    computation, or a graph of a program without loops; where the schedule is unknown, one of those that ran least
    often. If all such kernels ran equally often in the window, the anchor is the first one, otherwise the one
    before which the device waits longest. Kernels before the anchor's first run belong to a call that began
    before the window: number 0, as do all kernels if no such kernel ran. Each device is numbered by itself, and
    then shifted so that its calls coincide in time with those of the first device.
    """
    by_device: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_device[event.device].append(event)
    first, *other_devices = by_device.values()
    anchor = _first_kernel(first, schedules)
    reference = _number(first, anchor)
    for device_events in other_devices:
        starts = _number(device_events, anchor)
        shift = _shift(reference, starts)
        for event in device_events:
            event.run += shift


def _first_kernel(events: Sequence[Event], schedules: Schedules) -> str | None:
    launches = [event for event, begins in zip(events, _begin_launches(events), strict=True) if begins]
    counted = Counter(event.kernel for event in launches)
    candidates = _once_in_a_call(events, counted, schedules)
    if len({counted[kernel] for kernel in candidates}) <= 1:
        return next((event.kernel for event in launches if event.kernel in candidates), None)
    waits: dict[str, list[float]] = defaultdict(list)
    until = events[0].start
    for event in events:
        waits[event.kernel].append(event.start - until)
        until = max(until, event.end)
    return max(
        (event.kernel for event in events if event.kernel in candidates),
        key=lambda name: statistics.median(waits[name]),
    )


def _once_in_a_call(events: Iterable[Event], counted: Counter[str], schedules: Schedules) -> set[str]:
    """Return the kernels that may run exactly once in every call."""
    if not any(schedules):
        least = min(counted.values())
        return {kernel for kernel, runs in counted.items() if runs == least}
    entry, *bodies = schedules
    graphs = {event.kernel for event in events if event.in_graph} - {name for body in bodies for name in body}
    return set(counted) & (set(entry) | (graphs if not bodies else set()))


def _begin_launches(events: Iterable[Event]) -> Iterator[bool]:
    """Yield for each event whether it is the first of its kernel's launch."""
    last_launch: dict[str, int] = {}
    for event in events:
        yield not event.launch or last_launch.get(event.kernel) != event.launch
        last_launch[event.kernel] = event.launch


def _number(events: Sequence[Event], anchor: str | None) -> list[float]:
    """Assign call numbers to the events of a device and return the start times of its calls."""
    starts: list[float] = []
    for event, begins in zip(events, _begin_launches(events), strict=True):
        if begins and event.kernel == anchor:
            starts.append(event.start)
        event.run = len(starts)
    return starts


def _shift(reference: Sequence[float], starts: Sequence[float]) -> int:
    """Return by how many calls a device is ahead of the reference, so that their starts are nearest."""

    def median_distance(shift: int) -> float:
        pairs = [(reference[i + shift], start) for i, start in enumerate(starts) if 0 <= i + shift < len(reference)]
        return statistics.median(abs(expected - observed) for expected, observed in pairs) if pairs else float("inf")

    return min((0, 1, -1), key=median_distance)
