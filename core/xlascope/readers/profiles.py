"""What a profiler window saw: the runs of every kernel, put together into calls, per program and per device.

This module alone of the readers loads a part of jaxlib (the parser of profiles, which boots nothing): import it by
name.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, NamedTuple

from jaxlib import _profile_data

from ..records.events import DeviceTime, KernelTime, Span
from .format_error import KNOWN, FormatError

#: What is to be said of a window in which something ran, when no event in it is a kernel's.
UNTOLD = (
    f"expected events of the profiler with hlo_module and hlo_op, found none (this reader knows the form of {KNOWN})"
)


@dataclass(frozen=True, slots=True)
class ModuleProfile:
    """One HLO module in one profiler window.

    ``program_id`` is XLA's number of the module, unique within a process; ``observed_calls`` counts the calls seen
    from start to end, ``step`` is the median of their durations in seconds. ``devices`` are named ``cpu:0``, ``cpu:1``
    and so on, by platform and local ordinal.
    """

    module: str
    program_id: int
    observed_calls: int
    step: float
    devices: tuple[DeviceTime, ...]


def read_profile(data: bytes, limit: int = 200_000) -> tuple[ModuleProfile, ...]:
    """Read the bytes of a profiler window (a serialized ``XSpace``); at most ``limit`` events are looked at.

    A kernel that runs on several threads is shown from its launch until its threads are done. Calls that the window cut
    off at its start or end count in the kernels' sums and in ``busy``, but not as observed calls.
    Raises FormatError for bytes that are no profile.

    >>> read_profile(b"")
    ()
    """
    modules: dict[tuple[str, int], list[_Event]] = defaultdict(list)
    events, transfers = _read_events(data, limit)
    for event in events:
        modules[event.module, event.program_id].append(event)
    return tuple(_module_profile(name, number, events, transfers) for (name, number), events in modules.items())


@dataclass(slots=True)
class _Event:
    """One run of one kernel. Times in seconds from the start of the window."""

    module: str
    program_id: int
    run: int
    device: str
    thread: int
    kernel: str
    start: float
    end: float
    children: float = 0.0

    @property
    def own(self) -> float:
        """The time of the kernel itself, without those that it ran."""
        return max(self.end - self.start - self.children, 0.0)


class _Transfer(NamedTuple):
    """A copy from or to a device. Times in seconds from the start of the window."""

    device: str
    name: str
    start: float
    end: float


#: How devices' profilers name copies between host and device, and between devices (``MemcpyH2D``).
_COPY = "Memcpy"

#: XLA marks the end of a kernel, on the thread that finished it, by an event of this name.
_END = "end: "


def _read_events(data: bytes, limit: int) -> tuple[list[_Event], list[_Transfer]]:
    try:
        profile = _profile_data.ProfileData.from_serialized_xspace(data)
    except (RuntimeError, ValueError) as error:
        raise FormatError(
            "a profile", f"expected a serialized XSpace, these {len(data)} bytes are no profile: {error}"
        ) from error
    events: list[_Event] = []
    transfers: list[_Transfer] = []
    ends: dict[str, list[float]] = defaultdict(list)
    host: set[str] = set()  # names that are no kernels: reading an event's statistics is what costs
    for device, thread, raw in islice(_raw_events(profile), limit):
        name: str = raw.name
        if name.startswith(_END):
            ends[name[len(_END) :]].append(raw.end_ns * 1e-9)
        elif name not in host:
            event = _event(device, thread, raw)
            if event:
                events.append(event)
            elif name.startswith(_COPY):
                transfers.append(_Transfer(device, name, raw.start_ns * 1e-9, raw.end_ns * 1e-9))
            else:
                host.add(name)
    events.sort(key=lambda event: (event.start, -event.end))
    _subtract_children(events)
    _extend(events, ends)
    return events, transfers


def _raw_events(profile: Any) -> Iterator[tuple[str, int, Any]]:
    """Every event with the device of its plane and a number for its thread (or stream)."""
    thread = 0
    for plane in profile.planes:
        device = _device(plane.name)
        for line in plane.lines:
            thread += 1
            for event in line.events:
                yield device, thread, event


def _device(plane: str) -> str:
    """``/host:CPU`` is cpu:0 (its events say which device they are of), ``/device:GPU:1`` is gpu:1."""
    parts = plane.split(":")
    platform = parts[1].split(" ")[0].lower() if len(parts) > 1 else "unknown"
    number = parts[2].split(" ")[0] if len(parts) > 2 else "0"
    return f"{platform}:{number}"


def _event(plane: str, thread: int, raw: Any) -> _Event | None:
    facts: dict[str, Any] = dict(raw.stats)
    if "hlo_op" not in facts or "hlo_module" not in facts:
        return None
    platform, _, number = plane.partition(":")
    try:
        program_id, run = int(facts.get("program_id", -1)), int(facts.get("run_id", 0))
    except (TypeError, ValueError):
        raise FormatError("a profile", f"expected numbers as program_id and run_id, found {facts!r:.200}") from None
    return _Event(
        module=str(facts["hlo_module"]),
        program_id=program_id,
        run=run,
        device=f"{platform}:{facts.get('device_ordinal', number)}",
        thread=thread,
        kernel=str(facts["hlo_op"]),
        start=raw.start_ns * 1e-9,
        end=raw.end_ns * 1e-9,
    )


def _subtract_children(events: Iterable[_Event]) -> None:
    """On one thread a kernel that begins inside another was run by it (a while runs its body)."""
    open_events: dict[int, list[_Event]] = defaultdict(list)
    for event in events:
        stack = open_events[event.thread]
        while stack and stack[-1].end < event.end:
            stack.pop()
        if stack:
            stack[-1].children += event.end - event.start
        stack.append(event)


def _extend(events: Iterable[_Event], ends: dict[str, list[float]]) -> None:
    """Let a kernel last until its end mark, at most until its run's next kernel: other threads share its work.

    The mark alone would be too late: the thread that finishes a kernel first runs those that waited for it.
    """
    for marks in ends.values():
        marks.sort()
    runs: dict[tuple[str, int, str], list[_Event]] = defaultdict(list)
    for event in events:
        runs[event.module, event.run, event.device].append(event)
    for run in runs.values():
        for event, following in pairwise(run):
            event.end = max(event.end, min(_first_after(ends.get(event.kernel, ()), event), following.start))


def _first_after(marks: list[float] | tuple[()], event: _Event) -> float:
    position = bisect_left(marks, event.start)
    return marks[position] if position < len(marks) else event.end


def _module_profile(module: str, program_id: int, events: list[_Event], transfers: list[_Transfer]) -> ModuleProfile:
    runs = _whole_runs(events)
    durations = sorted((_duration(run), number) for number, run in enumerate(runs))
    shown = runs[durations[(len(runs) - 1) // 2][1]]
    return ModuleProfile(
        module=module,
        program_id=program_id,
        observed_calls=len(runs),
        step=statistics.median(duration for duration, _ in durations),
        devices=tuple(
            _device_time(device, events, shown, transfers) for device in sorted({each.device for each in events})
        ),
    )


def _whole_runs(events: Iterable[_Event]) -> list[list[_Event]]:
    """The calls, in order, without those at the window's edges that have fewer events than is usual."""
    by_run: dict[int, list[_Event]] = defaultdict(list)
    for event in events:
        by_run[event.run].append(event)
    runs = list(by_run.values())
    usual = statistics.median(map(len, runs))
    edges = {0, len(runs) - 1}
    return [run for number, run in enumerate(runs) if number not in edges or len(run) >= usual]


def _duration(run: Iterable[_Event]) -> float:
    return max(event.end for event in run) - min(event.start for event in run)


def _device_time(device: str, events: list[_Event], shown: list[_Event], transfers: list[_Transfer]) -> DeviceTime:
    """``shown`` is one call on all devices; its spans count from its start on whichever device began."""
    began, ended = min(event.start for event in shown), max(event.end for event in shown)
    mine = [event for event in events if event.device == device]
    return DeviceTime(
        device=device,
        busy=_union(mine),
        kernels=_kernel_times(mine),
        spans=tuple(
            Span(event.kernel, event.start - began, event.end - event.start)
            for event in shown
            if event.device == device
        ),
        transfers=tuple(
            Span(copy.name, max(copy.start, began) - began, copy.end - max(copy.start, began))
            for copy in transfers
            if copy.device == device and copy.start < ended and copy.end > began
        ),
    )


def _kernel_times(events: Iterable[_Event]) -> tuple[KernelTime, ...]:
    own: dict[str, list[float]] = defaultdict(list)
    for event in events:
        own[event.kernel].append(event.own)
    return tuple(KernelTime(kernel, len(times), sum(times)) for kernel, times in own.items())


def _union(events: Iterable[_Event]) -> float:
    """The time covered by at least one of the events, which come in order of their starts."""
    total, until = 0.0, 0.0
    for event in events:
        total += max(event.end - max(event.start, until), 0.0)
        until = max(until, event.end)
    return total
