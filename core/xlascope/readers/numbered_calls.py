"""Which kernels of a GPU ran in one call: its profile tells them in order, and not where a call begins."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from .profile_events import Event


def number_calls(events: Sequence[Event], entries: frozenset[str]) -> None:
    """Give each run of a kernel, in the order they began, the number of its call.

    A call begins with the run of one kernel that every call runs once (one of ``entries``; where those are not known,
    one of those that ran least often). In a window that holds every kernel equally often that is the first one,
    otherwise the one before which the device waits longest. What ran before its first run is of a call that began
    before the window: number 0. Of several devices each is counted by itself, and shifted so that calls meet in time.
    """
    by_device: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_device[event.device].append(event)
    first, *others = by_device.values()
    anchor = _first_kernel(first, entries)
    reference = _number(first, anchor)
    for mine in others:
        starts = _number(mine, anchor)
        shift = _shift(reference, starts)
        for event in mine:
            event.run += shift


def _first_kernel(events: Sequence[Event], entries: frozenset[str]) -> str:
    counted = Counter(event.kernel for event in events)
    least = min(counted.values())
    once = {kernel for kernel, runs in counted.items() if (kernel in entries if entries else runs == least)}
    candidates = once or set(counted)
    if len({counted[kernel] for kernel in candidates}) == 1:
        return next(event.kernel for event in events if event.kernel in candidates)
    waits: dict[str, list[float]] = defaultdict(list)
    until = events[0].start
    for event in events:
        waits[event.kernel].append(event.start - until)
        until = max(until, event.end)
    return max(
        (event.kernel for event in events if event.kernel in candidates),
        key=lambda name: statistics.median(waits[name]),
    )


def _number(events: Iterable[Event], anchor: str) -> list[float]:
    """Number the calls of a device; returns when they began."""
    starts: list[float] = []
    for event in events:
        if event.kernel == anchor:
            starts.append(event.start)
        event.run = len(starts)
    return starts


def _shift(reference: Sequence[float], starts: Sequence[float]) -> int:
    """By how many calls another device is ahead of the reference, so that their begins are nearest to each other."""

    def apart(shift: int) -> float:
        pairs = [(reference[i + shift], at) for i, at in enumerate(starts) if 0 <= i + shift < len(reference)]
        return statistics.median(abs(one - other) for one, other in pairs) if pairs else float("inf")

    return min((0, 1, -1), key=apart)
