"""The events of a profiler window: the runs of every kernel, and the copies between host and devices.

This module alone of the readers loads a part of jaxlib (the parser of profiles, which boots nothing).
"""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from jaxlib import _profile_data

from ..records.events import Peaks
from .format_error import FormatError
from .planes import (
    ASYNCHRONOUS,
    OPERATIONS,
    ModuleRun,
    OwnFigures,
    copied_bytes,
    device_of,
    is_told_elsewhere,
    module_runs,
    operation_name,
    own_figures,
    peaks_of,
    stream_of,
)


class TooManyEventsError(FormatError):
    """A window was too long to be read: what of it would be left out could be any part of it."""


#: The run of an event that does not say its own: GPUs tell kernels in order, without the number of the call.
NO_RUN = -1


@dataclass(slots=True)
class Event:
    """One run of one kernel. Times in seconds from the start of the window.

    ``over`` says that its end was seen: the profiler tells of a loop on a CPU when it has handed on its first turn.
    On a GPU an instruction, or a CUDA graph of many (``in_graph``), can launch several kernels: these have one number,
    ``launch``, where the profiler tells it (0: it does not). ``function`` is what the kernel is called there.
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
    stream: str = ""
    bytes: int | None = None
    figures: OwnFigures | None = None
    launch: int = 0
    in_graph: bool = False
    function: str = ""

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
    stream: str = ""
    bytes: int | None = None


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
    peaks: dict[str, Peaks]


#: How jaxlib names a call of a jitted function: ``PjitFunction(update)``.
_CALL = "PjitFunction("


class _Line(NamedTuple):
    """A thread of a host, or a queue of a device: its number, and what the events on it are known by."""

    device: str
    name: str
    thread: int
    module_runs: Sequence[ModuleRun] = ()
    figures: Mapping[str, OwnFigures] = MappingProxyType({})

    @property
    def stream(self) -> str:
        return stream_of(self.device, self.name)


#: Where a kernel belongs whose event says its own name alone: to which module, and to which instruction.
Named = Mapping[str, tuple[str, str]]


def read_events(data: bytes, limit: int, named: Named = MappingProxyType({})) -> Events:
    """The events of a serialized ``XSpace``; raises TooManyEventsError beyond the limit.

    ``named`` tells where kernels of a GPU belong that ran in a CUDA graph: XLA's annotations are not on those.
    """
    try:
        profile = _profile_data.ProfileData.from_serialized_xspace(data)
    except (RuntimeError, ValueError) as error:
        raise FormatError(
            "a profile", f"expected a serialized XSpace, these {len(data)} bytes are no profile: {error}"
        ) from error
    found = Events([], [], defaultdict(list), {})
    ends: dict[str, list[float]] = defaultdict(list)
    host: set[str] = set()  # names that are no kernels: reading an event's statistics is what costs
    for number, (line, raw) in enumerate(_raw_events(profile, data, found.peaks)):
        if number >= limit:
            raise TooManyEventsError("a profile", f"expected at most {limit:,} events, there are more")
        name: str = raw.name
        if name.startswith(_END):
            ends[name[len(_END) :]].append(raw.end_ns * 1e-9)
        elif name.startswith(_CALL):
            found.calls[name[len(_CALL) : -1]].append((raw.end_ns - raw.start_ns) * 1e-9)
        elif name not in host:
            _sort(line, raw, name, named, found, host)
    found.kernels.sort(key=lambda event: (event.start, -event.end))
    _one_program(found.kernels)
    _subtract_children(found.kernels)
    _extend(found.kernels, ends)
    return found


def _sort(line: _Line, raw: Any, name: str, named: Named, found: Events, host: set[str]) -> None:
    """Put one event where it belongs: it is a kernel's, a copy, or of no interest."""
    facts: dict[str, Any] = dict(raw.stats)
    event = _event(line, raw, name, facts, named)
    if event:
        found.kernels.append(event)
    elif line.stream and (name.startswith(_COPY) or line.name == ASYNCHRONOUS):  # a host's are only asked for there
        figures = line.figures.get(name)
        size = copied_bytes(facts)
        if size is None and figures is not None and figures.bytes_accessed is not None:
            size = int(figures.bytes_accessed)
        found.transfers.append(
            Transfer(line.device, operation_name(name), raw.start_ns * 1e-9, raw.end_ns * 1e-9, line.stream, size)
        )
    elif not line.stream:
        host.add(name)


def _raw_events(profile: Any, data: bytes, peaks: dict[str, Peaks]) -> Iterator[tuple[_Line, Any]]:
    """Every event with its line; what a plane says of its device goes into ``peaks``."""
    thread = 0
    figures: dict[str, dict[str, OwnFigures]] | None = None
    for plane in profile.planes:
        device = device_of(plane.name)
        lines = list(plane.lines)
        about = peaks_of(plane)
        if about is not None:
            peaks[device] = about
        runs: list[ModuleRun] = []
        if device.startswith("tpu:"):
            runs = module_runs(lines)
            figures = own_figures(data) if figures is None else figures
        for line in lines:
            if is_told_elsewhere(device, line.name):
                continue
            thread += 1
            told = _Line(device, line.name, thread, runs, (figures or {}).get(device, {}))
            for event in line.events:
                yield told, event


def _event(line: _Line, raw: Any, name: str, facts: dict[str, Any], named: Named) -> Event | None:
    """The run of a kernel, by XLA's annotations on it; or, where it has none, by its name or by when it ran."""
    if "hlo_op" not in facts or "hlo_module" not in facts:
        if "kernel_details" in facts and name in named:
            module, kernel = named[name]
            facts = {**facts, "hlo_module": module, "hlo_op": kernel}
        elif line.name == OPERATIONS:
            run = _run_at(line.module_runs, raw.start_ns * 1e-9)
            if run is None:
                return None
            told = {"hlo_module": run.module, "program_id": run.program_id, "run_id": run.run}
            facts = {**facts, **told, "hlo_op": operation_name(name)}
        else:
            return None
    platform, _, number = line.device.partition(":")
    try:
        program_id, run_id = int(facts.get("program_id", -1)), int(facts.get("run_id", _run_unsaid(line)))
    except (TypeError, ValueError):
        raise FormatError("a profile", f"expected numbers as program_id and run_id, found {facts!r:.200}") from None
    return Event(
        module=str(facts["hlo_module"]),
        program_id=program_id,
        run=run_id,
        device=f"{platform}:{facts.get('device_ordinal', number)}",
        thread=line.thread,
        kernel=str(facts["hlo_op"]),
        start=raw.start_ns * 1e-9,
        end=raw.end_ns * 1e-9,
        stream=line.stream,
        bytes=copied_bytes(facts),
        figures=line.figures.get(name),
        launch=_launch_of(facts),
        in_graph="cuda_graph_id" in facts,
        function=name,
    )


def _launch_of(facts: Mapping[str, Any]) -> int:
    number = facts.get("scope_range_id", facts.get("correlation_id") if "cuda_graph_id" in facts else None)
    return number if isinstance(number, int) else 0


def _run_unsaid(line: _Line) -> int:
    return NO_RUN if line.stream else 0


def _run_at(runs: Sequence[ModuleRun], time: float) -> ModuleRun | None:
    """The call of a program that was under way at a time."""
    place = bisect.bisect_right(runs, time, key=lambda run: run.start) - 1
    return runs[place] if place >= 0 and time < runs[place].end else None


def _one_program(events: Iterable[Event]) -> None:
    """Let those that do not say their program's number be of the one program of their module that is seen."""
    seen: dict[str, set[int]] = defaultdict(set)
    for event in events:
        seen[event.module].add(event.program_id)
    for event in events:
        others = seen[event.module] - {-1}
        if event.program_id == -1 and len(others) == 1:
            (event.program_id,) = others


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
