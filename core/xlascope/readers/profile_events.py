"""Events of a profiler window: the runs of every kernel, and copies between host and devices.

Only this reader loads a part of jaxlib (the parser of profiles), which does not start a backend.
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
    ASYNC_OPS_LINE,
    OPS_LINE,
    ModuleRun,
    XlaFigures,
    copied_bytes,
    device_of,
    is_derived_line,
    module_runs,
    operation_name,
    peaks_of,
    read_xla_figures,
    stream_of,
)


class TooManyEventsError(FormatError):
    """Profile with more events than the limit; a partial result could lack any part of it."""


#: The run of an event that has none: GPUs report kernels in order, without the number of the call.
UNKNOWN_RUN = -1


@dataclass(slots=True)
class Event:
    """Run of one kernel; times are seconds from the start of the window.

    ``children`` are the seconds of kernels that it ran. ``ended`` says that the end was recorded: on a CPU the
    profiler reports a loop when it has dispatched its first iteration. On a GPU an instruction, or a CUDA graph of
    many (``in_graph``), can launch several kernels: these share one number, ``launch``, if the profiler reports it
    (otherwise 0). ``function`` is the name of the kernel's function, ``kernel`` that of the instruction, and ``run``
    the number of the call.
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
    ended: bool = True
    stream: str = ""
    bytes: int | None = None
    figures: XlaFigures | None = None
    launch: int = 0
    in_graph: bool = False
    function: str = ""

    @property
    def self_seconds(self) -> float:
        """Return the time of the kernel itself, without the kernels that it ran."""
        return max(self.end - self.start - self.children, 0.0)


class Transfer(NamedTuple):
    """Copy from or to a device. Times in seconds from the start of the window."""

    device: str
    name: str
    start: float
    end: float
    stream: str = ""
    bytes: int | None = None


#: How devices' profilers name copies between host and device, and between devices (``MemcpyH2D``).
_COPY_PREFIX = "Memcpy"

#: XLA:CPU marks the end of a kernel, on the thread that finished it, by an event of this name.
_END_PREFIX = "end: "
_MARKED_PLATFORM = "cpu:"


class Events(NamedTuple):
    """Content of a window: kernel runs in the order they began, copies, durations of calls, and peaks of devices.

    A call lasts from when the host makes it until it returns; its program may still run after that. Calls are listed
    by function name. Durations are in seconds.
    """

    kernels: list[Event]
    transfers: list[Transfer]
    calls: dict[str, list[float]]
    peaks: dict[str, Peaks]


#: How jaxlib names a call of a jitted function: ``PjitFunction(update)``.
_CALL_PREFIX = "PjitFunction("


class _Line(NamedTuple):
    """Thread of a host or stream of a device in a profile, with the data needed to interpret its events."""

    device: str
    name: str
    thread: int
    module_runs: Sequence[ModuleRun] = ()
    figures: Mapping[str, XlaFigures] = MappingProxyType({})

    @property
    def stream(self) -> str:
        return stream_of(self.device, self.name)


#: Module and instruction of each kernel whose events have only a name.
KernelNames = Mapping[str, tuple[str, str]]


def read_events(data: bytes, limit: int, kernel_names: KernelNames = MappingProxyType({})) -> Events:
    """Return the events of a serialized ``XSpace``; raise TooManyEventsError if there are more than ``limit``.

    ``kernel_names`` gives the module and instruction of GPU kernels that ran in a CUDA graph, where XLA's annotations
    are missing.
    """
    try:
        profile = _profile_data.ProfileData.from_serialized_xspace(data)
    except (RuntimeError, ValueError) as error:
        raise FormatError(
            "a profile", f"expected a serialized XSpace, these {len(data)} bytes are no profile: {error}"
        ) from error
    events = Events([], [], defaultdict(list), {})
    ends: dict[str, list[float]] = defaultdict(list)
    host: set[str] = set()  # names of events that are not kernels: reading an event's statistics is expensive
    for number, (line, raw) in enumerate(_iter_raw_events(profile, data, events.peaks)):
        if number >= limit:
            raise TooManyEventsError("a profile", f"expected at most {limit:,} events, there are more")
        name: str = raw.name
        if name.startswith(_END_PREFIX):
            ends[name[len(_END_PREFIX) :]].append(raw.end_ns * 1e-9)
        elif name.startswith(_CALL_PREFIX):
            events.calls[name[len(_CALL_PREFIX) : -1]].append((raw.end_ns - raw.start_ns) * 1e-9)
        elif name not in host:
            _classify_event(line, raw, name, kernel_names, events, host)
    events.kernels.sort(key=lambda event: (event.start, -event.end))
    _fill_program_ids(events.kernels)
    _subtract_children(events.kernels)
    _extend_to_end_marks(events.kernels, ends)
    return events


def _classify_event(
    line: _Line, raw: Any, name: str, kernel_names: KernelNames, events: Events, host: set[str]
) -> None:
    """Add one event to the kernels or the copies in ``events``, or ignore it.

    ``raw`` is jaxlib's event. The name of an event of the host that is neither is added to ``host``, whose names the
    caller skips.
    """
    facts: dict[str, Any] = dict(raw.stats)
    event = _parse_event(line, raw, name, facts, kernel_names)
    if event:
        events.kernels.append(event)
    elif line.stream and (name.startswith(_COPY_PREFIX) or line.name == ASYNC_OPS_LINE):  # host events are skipped
        figures = line.figures.get(name)
        size = copied_bytes(facts)
        if size is None and figures is not None and figures.bytes_accessed is not None:
            size = int(figures.bytes_accessed)
        events.transfers.append(
            Transfer(line.device, operation_name(name), raw.start_ns * 1e-9, raw.end_ns * 1e-9, line.stream, size)
        )
    elif not line.stream:
        host.add(name)


def _iter_raw_events(profile: Any, data: bytes, peaks: dict[str, Peaks]) -> Iterator[tuple[_Line, Any]]:
    """Yield every event of jaxlib's parsed profile with its line; store the peaks of each device in ``peaks``.

    ``data`` is the serialized profile, which holds figures that jaxlib's parser leaves out.
    """
    thread = 0
    figures: dict[str, dict[str, XlaFigures]] | None = None
    for plane in profile.planes:
        device = device_of(plane.name)
        lines = list(plane.lines)
        device_peaks = peaks_of(plane)
        if device_peaks is not None:
            peaks[device] = device_peaks
        runs: list[ModuleRun] = []
        if device.startswith("tpu:"):
            runs = module_runs(lines)
            figures = read_xla_figures(data) if figures is None else figures
        for line in lines:
            if is_derived_line(device, line.name):
                continue
            thread += 1
            profile_line = _Line(device, line.name, thread, runs, (figures or {}).get(device, {}))
            for event in line.events:
                yield profile_line, event


def _parse_event(line: _Line, raw: Any, name: str, facts: dict[str, Any], kernel_names: KernelNames) -> Event | None:
    """Return the run of a kernel, identified by XLA's annotations, by its name or by when it ran; None if it is none.

    ``facts`` are the statistics of jaxlib's event ``raw``.
    """
    if "hlo_op" not in facts or "hlo_module" not in facts:
        if "kernel_details" in facts and name in kernel_names:
            module, kernel = kernel_names[name]
            facts = {**facts, "hlo_module": module, "hlo_op": kernel}
        elif line.name == OPS_LINE:
            run = _find_run(line.module_runs, raw.start_ns * 1e-9)
            if run is None:
                return None
            annotations = {"hlo_module": run.module, "program_id": run.program_id, "run_id": run.run}
            facts = {**facts, **annotations, "hlo_op": operation_name(name)}
        else:
            return None
    platform, _, number = line.device.partition(":")
    try:
        program_id, run_id = int(facts.get("program_id", -1)), int(facts.get("run_id", _default_run(line)))
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


def _default_run(line: _Line) -> int:
    return UNKNOWN_RUN if line.stream else 0


def _find_run(runs: Sequence[ModuleRun], time: float) -> ModuleRun | None:
    """Return the call of a program that was running at a time, or None; ``runs`` are sorted by start."""
    index = bisect.bisect_right(runs, time, key=lambda run: run.start) - 1
    return runs[index] if index >= 0 and time < runs[index].end else None


def _fill_program_ids(events: Iterable[Event]) -> None:
    """Assign events without a program id to the only program of their module in the window."""
    program_ids: dict[str, set[int]] = defaultdict(set)
    for event in events:
        program_ids[event.module].add(event.program_id)
    for event in events:
        candidates = program_ids[event.module] - {-1}
        if event.program_id == -1 and len(candidates) == 1:
            (event.program_id,) = candidates


def _subtract_children(events: Iterable[Event]) -> None:
    """Store in ``children`` of each event the seconds of kernels nested in it on its thread (a while runs its body).

    ``events`` are sorted by start.
    """
    open_events: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        stack = open_events[event.thread]
        while stack and stack[-1].end < event.end:
            stack.pop()
        if stack:
            stack[-1].children += event.end - event.start
        stack.append(event)


def _extend_to_end_marks(events: Iterable[Event], ends: dict[str, list[float]]) -> None:
    """Extend each kernel to its end mark, at most to the next kernel of its run, since other threads share its work.

    The mark alone would be too late: the thread that finishes a kernel first runs those that waited for it. ``ends``
    are the times of the end marks by kernel.
    """
    marks = {kernel: deque(sorted(times)) for kernel, times in ends.items()}
    runs: dict[tuple[str, int, str], list[tuple[Event, float]]] = defaultdict(list)
    for event in events:
        mark = _pop_mark(marks.get(event.kernel), event)
        event.ended = mark is not None or not event.device.startswith(_MARKED_PLATFORM)
        runs[event.module, event.run, event.device].append((event, event.end if mark is None else mark))
    for run in runs.values():
        for (event, mark), (following, _) in itertools.pairwise(run):
            event.end = max(event.end, min(mark, following.start))


def _pop_mark(marks: deque[float] | None, event: Event) -> float | None:
    """Remove and return the end mark of an event; earlier marks belong to kernels whose start was not recorded."""
    while marks:
        mark = marks.popleft()
        if mark >= event.start:
            return mark
    return None
