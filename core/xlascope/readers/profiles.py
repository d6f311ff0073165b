"""What a profiler window saw: the runs of every kernel, put together into calls, per program and per device.

Import it by name: its parser of profiles is a part of jaxlib (which boots nothing).
"""

from __future__ import annotations

import itertools
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..records.events import DeviceTime, KernelTime, Span
from .format_error import KNOWN
from .graph_launches import attribute_launches
from .hlo.entry import Schedules
from .numbered_calls import number_calls
from .planes import OwnFigures
from .profile_events import NO_RUN, Event, Events, Transfer, read_events

#: What is to be said of a window in which something ran, when no event in it is a kernel's.
UNTOLD = (
    f"expected events of the profiler with hlo_module and hlo_op, found none (this reader knows the form of {KNOWN})"
)

_NO_WORD = re.compile(r"\W")
NO_SCHEDULES: Mapping[str, Schedules] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ModuleProfile:
    """One HLO module in one profiler window.

    ``program_id`` is XLA's number of the module, unique within a process; ``observed_calls`` counts the calls seen
    from begin to end, ``step`` is the median of their durations in seconds and ``seconds`` their sum. ``devices`` are
    named ``cpu:0``, ``cpu:1`` and so on, by platform and local ordinal; they hold exactly those calls, or, where there
    are none, what was seen of one (``whole=False``). ``runs`` counts every run of a kernel.
    ``calling`` is the median time in which a call of a function of the module's name came back to its caller, 0.0 when
    none was seen: a small program runs meanwhile, a large one goes on after it.
    """

    module: str
    program_id: int
    observed_calls: int
    step: float
    devices: tuple[DeviceTime, ...]
    seconds: float = 0.0
    runs: int = 0
    calling: float = 0.0


#: What modules are called here of which several have one name: by name and program id.
Labels = Mapping[tuple[str, int], str]
NO_LABELS: Labels = MappingProxyType({})


def read_profile(
    data: bytes,
    limit: int = 200_000,
    *,
    schedules: Mapping[str, Schedules] = NO_SCHEDULES,
    labels: Labels = NO_LABELS,
) -> tuple[ModuleProfile, ...]:
    """Read the bytes of a profiler window (a serialized ``XSpace``); at most ``limit`` events are looked at.

    A kernel that runs on several threads is shown from its launch until its threads are done. ``schedules`` are the
    kernels of modules (:func:`~xlascope.readers.hlo.entry.read_schedules`). A call is whole when all kernels of its
    module's entry were seen to begin and to end. Of a module without a schedule those calls are whole that stand
    between two others. ``labels`` tell modules of one name apart, by XLA's numbers of them.
    Raises FormatError for bytes that are no profile, TooManyEventsError, one of its kind, beyond the limit.

    >>> read_profile(b"")
    ()
    """
    modules: dict[tuple[str, int], list[Event]] = defaultdict(list)
    window = read_events(data, limit, _by_kernel_names(schedules))
    for event in window.kernels:
        name = labels.get((event.module, event.program_id), event.module)
        modules[name, event.program_id].append(event)
    return tuple(
        _module_profile(name, number, events, window, schedules.get(name, ()))
        for (name, number), events in modules.items()
    )


def _by_kernel_names(schedules: Mapping[str, Schedules]) -> dict[str, tuple[str, str]]:
    """What kernels of a GPU are called after their instructions: ``loop_add_fusion_2`` is ``loop_add_fusion.2``."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for module, (entry, *_) in ((module, schedule) for module, schedule in schedules.items() if schedule):
        for name in entry:
            found[_NO_WORD.sub("_", name)].append((module, name))
    return {kernel: places[0] for kernel, places in found.items() if len(places) == 1}


def _module_profile(
    module: str,
    program_id: int,
    events: list[Event],
    window: Events,
    schedules: Schedules,
) -> ModuleProfile:
    attribute_launches(events, schedules)
    entries = _expected(events, schedules)
    if any(event.run == NO_RUN for event in events):
        number_calls(events, schedules)
    runs = _runs(events)
    whole = _whole_runs(runs, entries)
    shown = sorted(whole, key=_duration)[(len(whole) - 1) // 2] if whole else max(runs, key=_duration)
    durations = [_duration(run) for run in whole]
    devices = sorted({each.device for each in (itertools.chain(*whole) if whole else shown)})
    return ModuleProfile(
        module=module,
        program_id=program_id,
        observed_calls=len(whole),
        step=statistics.median(durations) if durations else 0.0,
        devices=tuple(_device_time(device, whole, shown, window) for device in devices),
        seconds=sum(durations),
        runs=len(events),
        calling=statistics.median(_calling(module, window.calls) or [0.0]),
    )


def _expected(events: Iterable[Event], schedules: Schedules) -> frozenset[str]:
    """Return the kernels that every call shows: all of the entry, or those seen where a graph hides the others."""
    entries = frozenset(schedules[0] if schedules else ())
    known = {name for schedule in schedules for name in schedule}
    if any(event.in_graph and event.kernel not in known for event in events):
        entries &= {event.kernel for event in events}
    return entries


def _calling(module: str, calls: Mapping[str, list[float]]) -> list[float]:
    """``jit_my_step.3`` is a module of a function ``my_step``, ``jit__lambda_`` one of a ``<lambda>``."""
    name = module.partition(".")[0].removeprefix("jit_")
    return [seconds for function, found in calls.items() if _NO_WORD.sub("_", function) == name for seconds in found]


def _runs(events: Iterable[Event]) -> list[list[Event]]:
    """The calls, in the order of their first events."""
    by_run: dict[int, list[Event]] = defaultdict(list)
    for event in events:
        by_run[event.run].append(event)
    return list(by_run.values())


def _whole_runs(runs: list[list[Event]], entries: frozenset[str]) -> list[list[Event]]:
    """The calls that were seen from begin to end, on every device that they use.

    An entry that no call between two others has shown is one that the profiler tells nothing of.
    """
    between = runs[1:-1]
    if not entries:
        return between
    if between:
        entries &= {event.kernel for run in between for event in run}
    most = max(len(_by_device(run)) for run in runs)
    return [
        run
        for run in runs
        if len(by_device := _by_device(run)) == most
        and all(entries <= {event.kernel for event in mine if event.over} for mine in by_device.values())
    ]


def _by_device(run: Iterable[Event]) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = defaultdict(list)
    for event in run:
        found[event.device].append(event)
    return found


def _duration(run: Iterable[Event]) -> float:
    return max(event.end for event in run) - min(event.start for event in run)


def _device_time(device: str, whole: list[list[Event]], shown: list[Event], window: Events) -> DeviceTime:
    """``shown`` is one call on all devices; its spans count from its start on whichever device began."""
    began, ended = min(event.start for event in shown), max(event.end for event in shown)
    mine = sorted((event for run in whole for event in run if event.device == device), key=lambda event: event.start)
    return DeviceTime(
        device=device,
        busy=_union(mine),
        kernels=_kernel_times(mine),
        spans=tuple(
            Span(event.kernel, event.start - began, event.end - event.start, event.stream, event.bytes)
            for event in shown
            if event.device == device
        ),
        transfers=tuple(
            _copy(copy, began)
            for copy in window.transfers
            if copy.device == device and copy.start < ended and copy.end > began
        ),
        whole=bool(whole),
        peaks=window.peaks.get(device),
    )


def _copy(copy: Transfer, began: float) -> Span:
    """A copy as the step shows it. Of one that was under way before nobody knows how many bytes came later."""
    start = max(copy.start, began)
    return Span(copy.name, start - began, copy.end - start, copy.stream, copy.bytes if copy.start >= began else None)


def _kernel_times(events: Iterable[Event]) -> tuple[KernelTime, ...]:
    own: dict[str, list[float]] = defaultdict(list)
    figures: dict[str, OwnFigures] = {}
    for event in events:
        own[event.kernel].append(event.own)
        if event.figures is not None:
            figures[event.kernel] = event.figures
    return tuple(
        KernelTime(kernel, len(times), sum(times), *figures.get(kernel, (None, None))) for kernel, times in own.items()
    )


def _union(events: Iterable[Event]) -> float:
    """The time covered by at least one of the events, which come in order of their starts."""
    total, until = 0.0, 0.0
    for event in events:
        total += max(event.end - max(event.start, until), 0.0)
        until = max(until, event.end)
    return total
