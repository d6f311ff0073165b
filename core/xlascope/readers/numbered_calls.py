"""Which kernels of a GPU ran in one call: its profile tells them in order, and not where a call begins."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from .hlo.entry import Schedules
from .profile_events import Event


def number_calls(events: Sequence[Event], schedules: Schedules) -> None:
    """Give each run of a kernel, in the order they began, the number of its call.

    A call begins with the run of one kernel that every call runs once: one of the entry computation, or a graph of a
    program without loops; where the schedule is not known, one of those that ran least often. In a window that holds
    every such kernel equally often that is the first one, otherwise the one before which the device waits longest. What
    ran before its first run is of a call that began before the window: number 0, and so is everything where no such
    kernel ran. Of several devices each is counted by itself, and shifted so that calls meet in time.
    """
    by_device: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_device[event.device].append(event)
    first, *others = by_device.values()
    anchor = _first_kernel(first, schedules)
    reference = _number(first, anchor)
    for mine in others:
        starts = _number(mine, anchor)
        shift = _shift(reference, starts)
        for event in mine:
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
    """Return the kernels that can be taken for those that every call runs once."""
    if not any(schedules):
        least = min(counted.values())
        return {kernel for kernel, runs in counted.items() if runs == least}
    entry, *bodies = schedules
    graphs = {event.kernel for event in events if event.in_graph} - {name for body in bodies for name in body}
    return set(counted) & (set(entry) | (graphs if not bodies else set()))


def _begin_launches(events: Iterable[Event]) -> Iterator[bool]:
    """Generate for each event whether it is the first of its kernel's launch."""
    seen: dict[str, int] = {}
    for event in events:
        yield not event.launch or seen.get(event.kernel) != event.launch
        seen[event.kernel] = event.launch


def _number(events: Sequence[Event], anchor: str | None) -> list[float]:
    """Number the calls of a device; returns when they began."""
    starts: list[float] = []
    for event, begins in zip(events, _begin_launches(events), strict=True):
        if begins and event.kernel == anchor:
            starts.append(event.start)
        event.run = len(starts)
    return starts


def _shift(reference: Sequence[float], starts: Sequence[float]) -> int:
    """By how many calls another device is ahead of the reference, so that their begins are nearest to each other."""

    def apart(shift: int) -> float:
        pairs = [(reference[i + shift], at) for i, at in enumerate(starts) if 0 <= i + shift < len(reference)]
        return statistics.median(abs(one - other) for one, other in pairs) if pairs else float("inf")

    return min((0, 1, -1), key=apart)
