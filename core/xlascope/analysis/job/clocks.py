"""Alignment of the clocks of a job's processes by what they did together.

A collective among all processes ends in each of them at almost the same time, so the difference of the ends by two
clocks is almost the offset of the clocks. And no process can end it before all have begun it, so for each common call

    began_p - ended_r  <=  offset  <=  ended_p - began_r

for process p and the reference process r. These bounds hold whatever the machines do, as those of Marzullo and Owicki,
"Maintaining the time in a distributed system" (1983); their intersection over all calls is the interval of the answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...records.job import JobClock
from .percentiles import median, percentile
from .process_records import ProcessRecords

#: Fewer meetings than this have no percentiles worth the name: the uncertainty is that of the bounds.
MIN_PERCENTILE_COUNT = 5
#: A drift is estimated from so many meetings over so many seconds, as the median slope between so many parts.
MIN_DRIFT_COUNT, MIN_DRIFT_SECONDS, DRIFT_PARTS_COUNT = 64, 60.0, 8

#: Begin and end of one common call in each process.
Meeting = Mapping[int, tuple[float, float]]


class _PairMeeting(NamedTuple):
    """Common call of the reference process (r) and another one (p)."""

    began_r: float
    ended_r: float
    began_p: float
    ended_p: float


class AlignedClocks(NamedTuple):
    """Number of the ``reference`` process, and the clock of each process by its number."""

    reference: int
    clocks: dict[int, JobClock]


def align_clocks(processes: Sequence[ProcessRecords]) -> AlignedClocks:
    """Return the clocks of the processes; the reference is the one with most meetings, of several the first.

    A process that has not met the reference is aligned through the process that it has met most often.
    """
    meetings = collect_meetings(processes)
    numbers = sorted(process.number for process in processes)
    reference = max(numbers, key=lambda number: (sum(number in meeting for meeting in meetings), -number))
    clocks = {reference: JobClock(0.0, 0.0, 0.0, 0.0, meetings=sum(reference in meeting for meeting in meetings))}
    remaining = [number for number in numbers if number != reference]
    for number in tuple(remaining):
        if _count_common(meetings, reference, number):
            clocks[number] = _align_pair(meetings, reference, number)
            remaining.remove(number)
    while remaining:
        common, number, other = max(
            (_count_common(meetings, other, number), number, other) for number in remaining for other in clocks
        )
        if not common:
            clocks.update(dict.fromkeys(remaining, JobClock()))
            break
        clocks[number] = _chain(clocks[other], _align_pair(meetings, other, number))
        remaining.remove(number)
    return AlignedClocks(reference, {number: clocks[number] for number in numbers})


def collect_meetings(processes: Sequence[ProcessRecords]) -> list[Meeting]:
    """Return the common calls at which processes waited for each other, each with at least two of them."""
    meetings: dict[tuple[str, str, int], dict[int, tuple[float, float]]] = defaultdict(dict)
    for process in processes:
        for calls in process.shared:
            if calls.synchronizes:
                for number, began, ended in zip(calls.numbers, calls.began, calls.ended, strict=True):
                    meetings[calls.event, calls.digest, number][process.number] = began, ended
    return [meeting for meeting in meetings.values() if len(meeting) > 1]


def _count_common(meetings: Sequence[Meeting], first: int, second: int) -> int:
    return sum(first in meeting and second in meeting for meeting in meetings)


def _align_pair(meetings: Sequence[Meeting], reference: int, number: int) -> JobClock:
    """Return the clock of process ``number`` by what it did together with the ``reference``."""
    pairs = [
        _PairMeeting(*meeting[reference], *meeting[number])
        for meeting in meetings
        if reference in meeting and number in meeting
    ]
    pairs.sort(key=lambda pair: pair.ended_p)
    at = median(pair.ended_p for pair in pairs) or 0.0
    drift = _estimate_drift([(pair.ended_p, pair.ended_p - pair.ended_r) for pair in pairs])
    differences = [pair.ended_p - pair.ended_r - drift * (pair.ended_p - at) for pair in pairs]
    low = max(pair.began_p - pair.ended_r - drift * (pair.began_p - at) for pair in pairs)
    high = min(pair.ended_p - pair.began_r - drift * (pair.ended_p - at) for pair in pairs)
    offset = median(differences) or 0.0
    spread = _find_range(differences) / 2
    if low > high:  # a clock was set meanwhile
        spread, low, high = max(spread, low - high), high, low
    else:
        offset = min(max(offset, low), high)
        if len(pairs) < MIN_PERCENTILE_COUNT:
            spread = max(spread, (high - low) / 2)
    return JobClock(offset, spread, low, high, drift, at, len(pairs))


def _find_range(values: Iterable[float]) -> float:
    """Return the range from the 10th to the 90th percentile."""
    ordered = sorted(values)
    return (percentile(ordered, 0.9) or 0.0) - (percentile(ordered, 0.1) or 0.0)


def _estimate_drift(points: Sequence[tuple[float, float]]) -> float:
    """Return the median slope of differences by time, 0.0 where there are too few or it is within their noise.

    ``points`` are (time, difference), by time (Theil, "A rank-invariant method of linear regression analysis", 1950).
    """
    span = points[-1][0] - points[0][0]
    if len(points) < MIN_DRIFT_COUNT or span < MIN_DRIFT_SECONDS:
        return 0.0
    size = len(points) // DRIFT_PARTS_COUNT
    parts = [points[i * size : (i + 1) * size] for i in range(DRIFT_PARTS_COUNT)]
    centers = [(median(t for t, _ in part) or 0.0, median(d for _, d in part) or 0.0) for part in parts]
    slopes = [
        (second[1] - first[1]) / (second[0] - first[0])
        for i, first in enumerate(centers)
        for second in centers[i + 1 :]
        if second[0] > first[0]
    ]
    drift = median(slopes) or 0.0
    noise = max(_find_range(d for _, d in part) for part in parts)
    return drift if abs(drift) * span > noise else 0.0


def _chain(through: JobClock, clock: JobClock) -> JobClock:
    """Return a clock compared with the reference, from its comparison with another clock that was compared with it."""
    return JobClock(
        (through.offset or 0.0) + (clock.offset or 0.0),
        (through.uncertainty or 0.0) + (clock.uncertainty or 0.0),
        (through.low or 0.0) + (clock.low or 0.0),
        (through.high or 0.0) + (clock.high or 0.0),
        through.drift + clock.drift,
        clock.at,
        clock.meetings,
    )
