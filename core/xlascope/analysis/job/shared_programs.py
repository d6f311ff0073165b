"""Shared programs of a job: who came late to each call, who waited, by the clocks of the processes."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence

from ...records.job import JobClock, JobPace, JobStep, SharedCalls, SharedProgram
from .clocks import AlignedClocks
from .collectives import collective_seconds, find_collectives
from .lanes import build_lanes
from .percentiles import median
from .process_records import ProcessRecords

#: Calls of a program that a report lists, the last ones, and programs in a report.
MAX_STEPS, MAX_PROGRAMS = 120, 40
#: A process stands out if it is last in more calls than this fraction, or if others wait for it inside of programs for
#: more than this fraction of a call.
LAST_FRACTION, INSIDE_FRACTION = 0.5, 0.05
#: Fewer profiled calls say nothing of who is waited for: the first ones compile.
MIN_PROFILED_CALLS = 3

#: When a call was ready to begin (no earlier one was running) and ended, by number, on the reference clock.
Calls = Mapping[int, tuple[float, float]]


def join_programs(processes: Sequence[ProcessRecords], aligned: AlignedClocks) -> tuple[SharedProgram, ...]:
    """Return the programs that several processes ran together, those that took most time first."""
    calls_by_process = {process.number: _begin_times(process, aligned.clocks[process.number]) for process in processes}
    groups: dict[str, dict[int, SharedCalls]] = defaultdict(dict)
    for process in processes:
        for calls in process.shared:
            if calls.event == "program":
                groups[calls.digest][process.number] = calls
    by_number = {process.number: process for process in processes}
    joined = [
        (
            _total_seconds(calls_by_process, digest),
            _join_program(
                digest,
                group,
                {number: by_number[number] for number in group},
                {number: calls_by_process[number].get(digest, {}) for number in group},
                aligned,
            ),
        )
        for digest, group in groups.items()
        if len(group) > 1
    ]
    joined.sort(key=lambda pair: -pair[0])
    return tuple(program for _, program in joined[:MAX_PROGRAMS])


def _begin_times(process: ProcessRecords, clock: JobClock) -> dict[str, dict[int, tuple[float, float]]]:
    """Return when each timed call was ready to begin and when it ended, by digest and number.

    A device runs one call after the other, so a call that was made while an earlier one ran begins when that has ended.
    """
    rows = sorted(
        (began, ended, calls.digest, number)
        for calls in process.shared
        if calls.event == "program"
        for number, began, ended in zip(calls.numbers, calls.began, calls.ended, strict=True)
    )
    times: dict[str, dict[int, tuple[float, float]]] = defaultdict(dict)
    last_end = 0.0
    for began, ended, digest, number in rows:
        ready = max(began, last_end) if last_end <= ended else began
        times[digest][number] = clock.to_reference(ready), clock.to_reference(ended)
        last_end = max(last_end, ended)
    return times


def _total_seconds(calls_by_process: Mapping[int, Mapping[str, Calls]], digest: str) -> float:
    return sum(ended - began for calls in calls_by_process.values() for began, ended in calls.get(digest, {}).values())


def _join_program(
    digest: str,
    group: Mapping[int, SharedCalls],
    processes: Mapping[int, ProcessRecords],
    calls: Mapping[int, Calls],
    aligned: AlignedClocks,
) -> SharedProgram:
    """Return one program of the processes in ``group``, by their records and the times of their calls."""
    numbers = sorted(group)
    compared = sorted(set.intersection(*(set(calls[number]) for number in numbers)))
    steps = [_make_step(number, numbers, calls) for number in compared]
    tolerance = 2 * max(aligned.clocks[number].uncertainty or 0.0 for number in numbers)
    last = [_find_last(step, numbers, tolerance) for step in steps]
    programs = {number: group[number].program for number in numbers}
    inside = collective_seconds(processes, programs)
    collectives = find_collectives(processes, programs)
    profiled = min((collective.runs for collective in collectives), default=0)
    counts = {number: _count_calls(processes[number], group[number]) for number in numbers}
    paces = tuple(
        _make_pace(i, number, counts[number], steps, last.count(number), inside.get(number))
        for i, number in enumerate(numbers)
    )
    first = group[numbers[0]]
    return SharedProgram(
        first.function,
        digest,
        tuple(numbers),
        tuple(programs.values()),
        max(counts.values()),
        len(compared),
        paces,
        tuple(steps[-MAX_STEPS:]),
        collectives,
        build_lanes(processes, programs),
        _find_slowest(paces, len(steps), profiled >= MIN_PROFILED_CALLS),
    )


def _count_calls(process: ProcessRecords, calls: SharedCalls) -> int:
    """Return the number of calls of a program, those that jaxlib repeats in C++ included, which are not timed."""
    executed = None if calls.program is None else process.executed.get(calls.program)
    return calls.calls if executed is None else max(calls.calls, executed.calls)


def _make_step(number: int, processes: Sequence[int], calls: Mapping[int, Calls]) -> JobStep:
    began = tuple(calls[process][number][0] for process in processes)
    ended = tuple(calls[process][number][1] for process in processes)
    index = began.index(max(began))
    rest = median(time for i, time in enumerate(began) if i != index) or began[index]
    return JobStep(number, began, ended, processes[index], began[index] - rest)


def _find_last(step: JobStep, processes: Sequence[int], tolerance: float) -> int | None:
    """Return the process that began last, None if another one began within ``tolerance`` seconds of it."""
    ordered = sorted(step.began)
    return step.slowest if ordered[-1] - ordered[-2] > tolerance and step.slowest in processes else None


def _make_pace(
    index: int,
    process: int,
    calls: int,
    steps: Sequence[JobStep],
    last: int,
    inside: tuple[float, float] | None,
) -> JobPace:
    """Return the part of one process, which is at ``index`` in the steps; it came ``last`` so many times.

    ``inside`` are its seconds in collectives and those that it waits there, None where they are unknown.
    """
    pairs = itertools.pairwise(steps)
    return JobPace(
        process,
        calls,
        median(after.began[index] - step.began[index] for step, after in pairs if after.number == step.number + 1),
        median(step.began[index] - min(step.began) for step in steps),
        median(max(0.0, min(max(step.began), step.ended[index]) - step.began[index]) for step in steps),
        last,
        *(inside or (None, None)),
    )


def _find_slowest(paces: Sequence[JobPace], steps: int, is_profiled: bool) -> int | None:
    """Return the process that the others wait for most, None if none stands out.

    That is one that comes last to most of the ``steps``, or where enough of them ``is_profiled`` the one for which the
    others wait in collectives.
    """
    late = max(paces, key=lambda pace: pace.last)
    if steps and late.last > LAST_FRACTION * steps:
        return late.process
    waits = [pace.waits_inside for pace in paces if pace.waits_inside is not None]
    period = median(pace.period for pace in paces if pace.period is not None)
    if len(waits) < len(paces) or not period or not is_profiled:
        return None
    slowest = min(paces, key=lambda pace: pace.waits_inside or 0.0)
    rest = median(pace.waits_inside or 0.0 for pace in paces if pace is not slowest) or 0.0
    return slowest.process if rest - (slowest.waits_inside or 0.0) > INSIDE_FRACTION * period else None
