"""The events of a profiler window: the runs of every kernel, and the copies between host and devices.

This module alone of the readers loads a part of jaxlib (the parser of profiles, which boots nothing).
"""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from jaxlib import _profile_data

from .format_error import FormatError


class TooManyEventsError(FormatError):
    """A window was too long to be read: what of it would be left out could be any part of it."""


@dataclass(slots=True)
class Event:
    """One run of one kernel. Times in seconds from the start of the window.

    ``over`` says that its end was seen: the profiler tells of a loop on a CPU when it has handed on its first turn.
    """

    module: str
    program_id: int
    run: int
    device: str
    thread: int
    kernel: str
    start: float
    end: float
    children: float = 0.0
    over: bool = True

    @property
    def own(self) -> float:
        """The time of the kernel itself, without those that it ran."""
        return max(self.end - self.start - self.children, 0.0)


class Transfer(NamedTuple):
    """A copy from or to a device. Times in seconds from the start of the window."""

    device: str
    name: str
    start: float
    end: float


#: How devices' profilers name copies between host and device, and between devices (``MemcpyH2D``).
_COPY = "Memcpy"

#: XLA:CPU marks the end of a kernel, on the thread that finished it, by an event of this name.
_END = "end: "
_MARKED = "cpu:"


class Events(NamedTuple):
    """What a window saw: the kernels' runs in the order they began, the copies, and the seconds of functions' calls.

    A call is from when the host makes it until it returns, by the function's name: its program may run on after that.
    """

    kernels: list[Event]
    transfers: list[Transfer]
    calls: dict[str, list[float]]


#: How jaxlib names a call of a jitted function: ``PjitFunction(update)``.
_CALL = "PjitFunction("


def read_events(data: bytes, limit: int) -> Events:
    """The events of a serialized ``XSpace``; raises TooManyEventsError beyond the limit."""
    try:
        profile = _profile_data.ProfileData.from_serialized_xspace(data)
    except (RuntimeError, ValueError) as error:
        raise FormatError(
            "a profile", f"expected a serialized XSpace, these {len(data)} bytes are no profile: {error}"
        ) from error
    events: list[Event] = []
    transfers: list[Transfer] = []
    ends: dict[str, list[float]] = defaultdict(list)
    calls: dict[str, list[float]] = defaultdict(list)
    host: set[str] = set()  # names that are no kernels: reading an event's statistics is what costs
    for number, (device, thread, raw) in enumerate(_raw_events(profile)):
        if number >= limit:
            raise TooManyEventsError("a profile", f"expected at most {limit:,} events, there are more")
        name: str = raw.name
        if name.startswith(_END):
            ends[name[len(_END) :]].append(raw.end_ns * 1e-9)
        elif name.startswith(_CALL):
            calls[name[len(_CALL) : -1]].append((raw.end_ns - raw.start_ns) * 1e-9)
        elif name not in host:
            event = _event(device, thread, raw)
            if event:
                events.append(event)
            elif name.startswith(_COPY):
                transfers.append(Transfer(device, name, raw.start_ns * 1e-9, raw.end_ns * 1e-9))
            else:
                host.add(name)
    events.sort(key=lambda event: (event.start, -event.end))
    _subtract_children(events)
    _extend(events, ends)
    return Events(events, transfers, calls)


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


def _event(plane: str, thread: int, raw: Any) -> Event | None:
    facts: dict[str, Any] = dict(raw.stats)
    if "hlo_op" not in facts or "hlo_module" not in facts:
        return None
    platform, _, number = plane.partition(":")
    try:
        program_id, run = int(facts.get("program_id", -1)), int(facts.get("run_id", 0))
    except (TypeError, ValueError):
        raise FormatError("a profile", f"expected numbers as program_id and run_id, found {facts!r:.200}") from None
    return Event(
        module=str(facts["hlo_module"]),
        program_id=program_id,
        run=run,
        device=f"{platform}:{facts.get('device_ordinal', number)}",
        thread=thread,
        kernel=str(facts["hlo_op"]),
        start=raw.start_ns * 1e-9,
        end=raw.end_ns * 1e-9,
    )


def _subtract_children(events: Iterable[Event]) -> None:
    """On one thread a kernel that begins inside another was run by it (a while runs its body)."""
    open_events: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        stack = open_events[event.thread]
        while stack and stack[-1].end < event.end:
            stack.pop()
        if stack:
            stack[-1].children += event.end - event.start
        stack.append(event)


def _extend(events: Iterable[Event], ends: dict[str, list[float]]) -> None:
    """Let a kernel last until its end mark, at most until its run's next kernel: other threads share its work.

    The mark alone would be too late: the thread that finishes a kernel first runs those that waited for it.
    """
    marks = {kernel: deque(sorted(times)) for kernel, times in ends.items()}
    runs: dict[tuple[str, int, str], list[tuple[Event, float]]] = defaultdict(list)
    for event in events:
        mark = _first_after(marks.get(event.kernel), event)
        event.over = mark is not None or not event.device.startswith(_MARKED)
        runs[event.module, event.run, event.device].append((event, event.end if mark is None else mark))
    for run in runs.values():
        for (event, mark), (following, _) in itertools.pairwise(run):
            event.end = max(event.end, min(mark, following.start))


def _first_after(marks: deque[float] | None, event: Event) -> float | None:
    """The mark of the event, taken away: each belongs to one; those from before are of kernels not seen to begin."""
    while marks:
        mark = marks.popleft()
        if mark >= event.start:
            return mark
    return None
