"""Assignment of a GPU's kernels to calls: its profile lists them in order, without the start of a call."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from .hlo.schedules import Schedules
from .profile_events import Event


def number_calls(events: Sequence[Event], schedules: Schedules) -> None:
    """Set the call number ``run`` of each kernel run; ``events`` are those of one module, in the order they began.

    A call begins with the run of one kernel that every call runs once (the anchor): a kernel of the entry
    computation, or a graph of a program without loops; where the schedule is unknown, one of those that ran least
    often. If all such kernels ran equally often in the window, the anchor is the first one, otherwise the one before
    which the device waits longest. Kernels before the anchor's first run belong to a call that began before the
    window: number 0, as do all kernels if no such kernel ran. Each device is numbered by itself, and then shifted so
    that its calls coincide in time with those of the first device.
    """
    by_device: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_device[event.device].append(event)
    first, *other_devices = by_device.values()
    anchor = _find_anchor_kernel(first, schedules)
    reference = _number_device_calls(first, anchor)
    for device_events in other_devices:
        starts = _number_device_calls(device_events, anchor)
        shift = _find_best_shift(reference, starts)
        for event in device_events:
            event.run += shift


def _find_anchor_kernel(events: Sequence[Event], schedules: Schedules) -> str | None:
    """Return the kernel whose run begins each call, chosen as in :func:`number_calls`; None if no kernel qualifies.

    ``events`` are the kernel runs of one device, in the order they began. ``schedules`` has the kernels of each
    computation in the order they run, the entry computation first; it is empty if they are unknown.
    """
    launches = [event for event, begins in zip(events, _iter_launch_starts(events), strict=True) if begins]
    counted = Counter(event.kernel for event in launches)
    candidates = _find_once_per_call(events, counted, schedules)
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


def _find_once_per_call(events: Iterable[Event], counted: Counter[str], schedules: Schedules) -> set[str]:
    """Return the kernels that may run exactly once in every call.

    ``counted`` has the launches of each kernel in the window.
    """
    if not any(schedules):
        least = min(counted.values())
        return {kernel for kernel, runs in counted.items() if runs == least}
    entry, *bodies = schedules
    graphs = {event.kernel for event in events if event.in_graph} - {name for body in bodies for name in body}
    return set(counted) & (set(entry) | (graphs if not bodies else set()))


def _iter_launch_starts(events: Iterable[Event]) -> Iterator[bool]:
    """Yield for each event whether it is the first of its kernel's launch: a launch can run several kernels."""
    last_launch: dict[str, int] = {}
    for event in events:
        yield not event.launch or last_launch.get(event.kernel) != event.launch
        last_launch[event.kernel] = event.launch


def _number_device_calls(events: Sequence[Event], anchor: str | None) -> list[float]:
    """Set the call numbers of the events of one device and return the start times of its calls.

    ``anchor`` is the kernel whose run begins a call; events before its first run get number 0.
    """
    starts: list[float] = []
    for event, begins in zip(events, _iter_launch_starts(events), strict=True):
        if begins and event.kernel == anchor:
            starts.append(event.start)
        event.run = len(starts)
    return starts


def _find_best_shift(reference: Sequence[float], starts: Sequence[float]) -> int:
    """Return by how many calls (-1, 0 or 1) to shift a device's call numbers so that its calls match the reference's.

    Both arguments are start times of calls; the shift with the smallest median distance is chosen.
    """

    def median_distance(shift: int) -> float:
        pairs = [(reference[i + shift], start) for i, start in enumerate(starts) if 0 <= i + shift < len(reference)]
        return statistics.median(abs(expected - observed) for expected, observed in pairs) if pairs else float("inf")

    return min((0, 1, -1), key=median_distance)
