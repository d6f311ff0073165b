"""Profiles of a profiler window: kernel runs grouped into calls, per program and per device.

Import this module by name: its parser of profiles is a part of jaxlib, which does not start a backend.
"""

from __future__ import annotations

import itertools
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..records.events import DeviceTime, KernelTime, Span
from .call_numbering import number_calls
from .cuda_graphs import attribute_launches
from .format_error import KNOWN
from .hlo.schedules import Schedules
from .planes import XlaFigures
from .profile_events import UNKNOWN_RUN, Event, Events, Transfer, read_events

#: Message for a window in which something ran, but no event is a kernel's.
NO_KERNEL_EVENTS = (
    f"expected events of the profiler with hlo_module and hlo_op, found none (this reader knows the form of {KNOWN})"
)

_NON_WORD = re.compile(r"\W")
NO_SCHEDULES: Mapping[str, Schedules] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ModuleProfile:
    """Profile of one HLO module in one profiler window.

    ``program_id`` is XLA's number of the module, unique within a process. ``observed_calls`` counts the calls
    recorded from begin to end, ``step`` is the median of their durations in seconds and ``seconds`` their sum.
    ``devices`` are named ``cpu:0``, ``cpu:1`` and so on, by platform and local ordinal; they hold exactly those
    calls or, if there are none, the recorded part of one (``whole=False``). ``runs`` counts every run of a
    kernel. ``call_seconds`` is the median time in which a call of a function of the module's name returned to its
    caller, 0.0 without such calls: a small program runs within that time, a large one continues after it.
    ``durations`` are the seconds of the complete calls, in order, and ``intervals`` those from the begin of one to the
    begin of the next.
    """

    module: str
    program_id: int
    observed_calls: int
    step: float
    devices: tuple[DeviceTime, ...]
    seconds: float = 0.0
    runs: int = 0
    call_seconds: float = 0.0
    durations: tuple[float, ...] = ()
    intervals: tuple[float, ...] = ()


#: Unique labels of modules that share a name, by name and program id.
Labels = Mapping[tuple[str, int], str]
NO_LABELS: Labels = MappingProxyType({})


def read_profile(
    data: bytes,
    limit: int = 200_000,
    *,
    schedules: Mapping[str, Schedules] = NO_SCHEDULES,
    labels: Labels = NO_LABELS,
) -> tuple[ModuleProfile, ...]:
    """Return the profiles of the modules in a profiler window (a serialized ``XSpace``).

    At most ``limit`` events are read. A kernel that runs on several threads lasts from its launch until its
    threads are done. ``schedules`` are the kernels of modules
    (:func:`~xlascope.readers.hlo.schedules.read_schedules`). A call is complete when the begin and the end of all
    kernels of its module's entry were recorded. Without a schedule, the calls between the first and the last one
    are complete. ``labels`` distinguish modules of one name by XLA's program ids. Raises FormatError for bytes
    that are no profile and its subclass TooManyEventsError beyond the limit.

    >>> read_profile(b"")
    ()
    """
    modules: dict[tuple[str, int], list[Event]] = defaultdict(list)
    window = read_events(data, limit, _map_kernel_names(schedules))
    for event in window.kernels:
        name = labels.get((event.module, event.program_id), event.module)
        modules[name, event.program_id].append(event)
    return tuple(
        _build_module_profile(name, number, events, window, schedules.get(name, ()))
        for (name, number), events in modules.items()
    )


def _map_kernel_names(schedules: Mapping[str, Schedules]) -> dict[str, tuple[str, str]]:
    """Return (module, instruction) by GPU kernel name: ``loop_add_fusion_2`` is ``loop_add_fusion.2``.

    Names that several modules have are left out.
    """
    by_kernel: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for module, (entry, *_) in ((module, schedule) for module, schedule in schedules.items() if schedule):
        for name in entry:
            by_kernel[_NON_WORD.sub("_", name)].append((module, name))
    return {kernel: instructions[0] for kernel, instructions in by_kernel.items() if len(instructions) == 1}


def _build_module_profile(
    module: str,
    program_id: int,
    events: list[Event],
    window: Events,
    schedules: Schedules,
) -> ModuleProfile:
    """Return the profile of one module from its events; ``window`` has the copies and calls of all modules."""
    attribute_launches(events, schedules)
    entries = _expected_kernels(events, schedules)
    if any(event.run == UNKNOWN_RUN for event in events):
        number_calls(events, schedules)
    runs = _group_by_run(events)
    complete_runs = _find_complete_runs(runs, entries)
    example = (
        sorted(complete_runs, key=_duration)[(len(complete_runs) - 1) // 2]
        if complete_runs
        else max(runs, key=_duration)
    )
    durations = [_duration(run) for run in complete_runs]
    devices = sorted(
        {kernel_event.device for kernel_event in (itertools.chain(*complete_runs) if complete_runs else example)}
    )
    return ModuleProfile(
        module=module,
        program_id=program_id,
        observed_calls=len(complete_runs),
        step=statistics.median(durations) if durations else 0.0,
        devices=tuple(_build_device_time(device, complete_runs, example, window) for device in devices),
        seconds=sum(durations),
        runs=len(events),
        call_seconds=statistics.median(_call_durations(module, window.calls) or [0.0]),
        durations=tuple(durations),
        intervals=_intervals(runs, complete_runs),
    )


def _intervals(runs: Sequence[list[Event]], complete_runs: Sequence[list[Event]]) -> tuple[float, ...]:
    """Return the seconds from begin to begin of successive runs, where both are complete."""
    complete = {id(run) for run in complete_runs}
    return tuple(
        min(event.start for event in later) - min(event.start for event in run)
        for run, later in itertools.pairwise(runs)
        if id(run) in complete and id(later) in complete
    )


def _expected_kernels(events: Iterable[Event], schedules: Schedules) -> frozenset[str]:
    """Return the kernels that every complete call must show: those of the entry computation.

    If a CUDA graph hides some of them, only those that the window shows count.
    """
    entries = frozenset(schedules[0] if schedules else ())
    scheduled = {name for schedule in schedules for name in schedule}
    if any(event.in_graph and event.kernel not in scheduled for event in events):
        entries &= {event.kernel for event in events}
    return entries


def _call_durations(module: str, calls: Mapping[str, list[float]]) -> list[float]:
    """Return the seconds of the calls of a module's function; ``calls`` are those of all functions by name.

    ``jit_my_step.3`` is a module of a function ``my_step``, ``jit__lambda_`` one of a ``<lambda>``.
    """
    name = module.partition(".")[0].removeprefix("jit_")
    return [
        seconds
        for function, durations in calls.items()
        if _NON_WORD.sub("_", function) == name
        for seconds in durations
    ]


def _group_by_run(events: Iterable[Event]) -> list[list[Event]]:
    """Return the events of each call, in the order of the first events."""
    by_run: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        by_run[event.run].append(event)
    return list(by_run.values())


def _find_complete_runs(runs: list[list[Event]], entries: frozenset[str]) -> list[list[Event]]:
    """Return those calls that were recorded from begin to end, on every device that they use.

    ``runs`` are the events of each call, ``entries`` the kernels that every call must show. An entry kernel that no
    call between two others shows is one that the profiler does not report.
    """
    between = runs[1:-1]
    if not entries:
        return between
    if between:
        entries &= {event.kernel for run in between for event in run}
    most = max(len(_group_by_device(run)) for run in runs)
    return [
        run
        for run in runs
        if len(by_device := _group_by_device(run)) == most
        and all(
            entries <= {event.kernel for event in device_events if event.ended} for device_events in by_device.values()
        )
    ]


def _group_by_device(run: Iterable[Event]) -> dict[str, list[Event]]:
    groups: dict[str, list[Event]] = defaultdict(list)
    for event in run:
        groups[event.device].append(event)
    return groups


def _duration(run: Iterable[Event]) -> float:
    return max(event.end for event in run) - min(event.start for event in run)


def _build_device_time(
    device: str, complete_runs: list[list[Event]], example: list[Event], window: Events
) -> DeviceTime:
    """Return the times of a device over the complete calls.

    ``example`` is one call on all devices; its spans count from its start on whichever device began first.
    """
    start, end = min(event.start for event in example), max(event.end for event in example)
    device_events = sorted(
        (event for run in complete_runs for event in run if event.device == device), key=lambda event: event.start
    )
    return DeviceTime(
        device=device,
        busy=_covered_time(device_events),
        kernels=_kernel_times(device_events),
        spans=tuple(
            Span(event.kernel, event.start - start, event.end - event.start, event.stream, event.bytes)
            for event in example
            if event.device == device
        ),
        transfers=tuple(
            _to_span(copy, start)
            for copy in window.transfers
            if copy.device == device and copy.start < end and copy.end > start
        ),
        whole=bool(complete_runs),
        peaks=window.peaks.get(device),
    )


def _to_span(copy: Transfer, began: float) -> Span:
    """Return a copy as a span of the step; the bytes are unknown if the copy began before the step."""
    start = max(copy.start, began)
    return Span(copy.name, start - began, copy.end - start, copy.stream, copy.bytes if copy.start >= began else None)


def _kernel_times(events: Iterable[Event]) -> tuple[KernelTime, ...]:
    self_times: dict[str, list[float]] = defaultdict(list)
    figures: dict[str, XlaFigures] = {}
    for event in events:
        self_times[event.kernel].append(event.self_seconds)
        if event.figures is not None:
            figures[event.kernel] = event.figures
    return tuple(
        KernelTime(kernel, len(times), sum(times), *figures.get(kernel, (None, None)))
        for kernel, times in self_times.items()
    )


def _covered_time(events: Iterable[Event]) -> float:
    """Return the time covered by at least one of the events, which are sorted by start."""
    total, until = 0.0, 0.0
    for event in events:
        total += max(event.end - max(event.start, until), 0.0)
        until = max(until, event.end)
    return total
