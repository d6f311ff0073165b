"""Parts of a thread's time from what was measured: spans, samples of calls, looks, and the thread's clocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from ...ir.user_frames import locate
from ...records import ACTIVITY_LABELS, Activity, SourceRange, TimePart
from ..user_location import CodeLocation
from .call_intervals import (
    MIN_PROBE_SECONDS,
    TimedCalls,
    estimate_call_seconds,
    estimate_mean_seconds,
)
from .span_ledger import NO_PROGRAM, OuterTotals, SpanKey, SpanTotal
from .thread_looks import delay_outside

#: Programs with a part of their own; the others are one part.
MAX_PROGRAMS = 6
#: Looks that saw at least this share of the time in which the thread was blocked stand for all of it.
MIN_SEEN_FRACTION = 0.3
#: Parts shorter than this share of the whole are left out where nothing was counted.
MIN_FRACTION = 1e-4


class ThreadTimes(NamedTuple):
    """Seconds of a thread on its clocks, of its outermost spans, and of its spans by kind."""

    wall: float
    processor: float
    delay: float
    outer: OuterTotals
    spans: Mapping[SpanKey, SpanTotal]


class CalledFunction(NamedTuple):
    """Calls of one function that jaxlib repeated in C++, and those of them that were timed.

    ``limit`` are the seconds of a call by the profiler, 0.0 if unknown. ``program`` and ``function`` are those of its
    program.
    """

    program: int
    function: str
    calls: int
    timed: TimedCalls
    limit: float = 0.0


class SeenLines(NamedTuple):
    """What looks saw: seconds blocked in calls, in NumPy, and elsewhere by line; lines of waits and of operations.

    ``before`` are the seconds blocked before the first look; ``has_looked`` is False if nothing of ours ran, so that
    there were no looks.
    """

    in_calls: float
    in_numpy: float
    blocked: Mapping[CodeLocation | None, float]
    waits: Counter[CodeLocation]
    operations: Counter[CodeLocation]
    before: float = 0.0
    has_looked: bool = True


def build_parts(
    times: ThreadTimes, programs: Sequence[CalledFunction], operations: Sequence[CalledFunction], lines: SeenLines
) -> tuple[TimePart, ...]:
    """Return the parts, which exclude each other.

    ``programs`` are the user's jitted functions, ``operations`` all others.
    """
    outside = max(times.wall - times.outer.wall, 0.0)
    processor = min(max(times.processor - times.outer.processor, 0.0), outside)  # clocks of short cells differ a little
    dispatched, eager = _dispatch_parts(programs), _eager_part(operations, lines.operations)
    sampled = sum(part.seconds for part in (*dispatched, *eager))
    if sampled > processor:  # samples are of the first calls of all: they cannot have taken more than there was
        dispatched, eager = ([_scale(part, processor / sampled) for part in parts] for parts in (dispatched, eager))
    python = max(processor - sampled, 0.0)
    idle = outside - processor
    delay = min(delay_outside(times.delay - times.outer.delay, processor, times.outer.waits), idle)
    parts = [
        *_span_parts(times.spans, lines),
        *dispatched,
        *eager,
        *_blocked_parts(idle - delay, lines),
        TimePart("python", python),
        TimePart("processor", delay),
    ]
    merged = _merge(parts)
    return tuple(part for part in merged if part.count or part.seconds > MIN_FRACTION * times.wall)


def _span_parts(spans: Mapping[SpanKey, SpanTotal], lines: SeenLines) -> Iterator[TimePart]:
    """Yield a part for each kind of span; those of tracing, lowering and compiling are not told apart by program."""
    by_activity: dict[Activity, SpanTotal] = {}
    for (activity, program), total in spans.items():
        if activity == "run" and program != NO_PROGRAM:
            yield TimePart("dispatch", total.seconds, total.spans, *program)
            continue
        kind = cast(Activity, "eager" if activity == "run" else activity)
        before = by_activity.get(kind, SpanTotal())
        by_activity[kind] = SpanTotal(before.seconds + total.seconds, before.spans + total.spans)
    for kind, total in by_activity.items():
        line = _most_frequent(lines.waits) if kind == "wait" else (None, 0.0)
        yield TimePart(kind, total.seconds, total.spans, source=line[0], line_share=line[1])


def _dispatch_parts(programs: Iterable[CalledFunction]) -> list[TimePart]:
    parts = []
    for program, function, calls, timed, limit in programs:
        estimate = estimate_call_seconds(timed.intervals, timed.probed)
        seconds = min(estimate, limit) if limit and estimate else estimate or limit
        at_most = not limit and not timed.probed and seconds > MIN_PROBE_SECONDS
        is_probed = bool(timed.probed) and estimate < estimate_call_seconds(timed.intervals)
        measured = len(timed.probed if is_probed else timed.intervals)
        parts.append(TimePart("dispatch", seconds * calls, calls, program, function, measured, at_most))
    return parts


def _eager_part(operations: Sequence[CalledFunction], lines: Counter[CodeLocation]) -> list[TimePart]:
    calls = sum(item.calls for item in operations)
    if not calls:
        return []
    timed = [samples for item in operations if (samples := item.timed.operation_samples())]
    source, share = _most_frequent(lines)
    seconds = estimate_mean_seconds(timed) * calls
    measured = sum(map(len, timed))
    return [TimePart("eager", seconds, calls, measured=measured, source=source, line_share=share)]


def _blocked_parts(blocked: float, lines: SeenLines) -> Iterator[TimePart]:
    """Yield the parts of the ``blocked`` seconds that looks saw; what they did not see is left unaccounted."""
    in_calls, in_numpy = max(lines.in_calls, 0.0), max(lines.in_numpy, 0.0)
    by_line = {location: seconds for location, seconds in lines.blocked.items() if seconds > 0}
    elsewhere = max(sum(lines.blocked.values()), 0.0)
    if not lines.has_looked:
        yield TimePart("blocked", blocked)
        return
    before = min(max(lines.before, 0.0), blocked)
    yield TimePart("blocked", before)
    blocked -= before
    total = in_calls + in_numpy + elsewhere
    if not total:
        return
    scale = blocked / total if total >= MIN_SEEN_FRACTION * blocked else 1.0
    yield TimePart("queue", in_calls * scale)
    if in_numpy:
        source, share = _most_frequent(lines.waits)
        yield TimePart("wait", in_numpy * scale, source=source, line_share=share)
    if by_line and elsewhere:
        longest = max(
            (location for location in by_line if location), key=lambda location: by_line[location], default=None
        )
        share = by_line[longest] / (sum(by_line.values()) + before) if longest else 0.0
        source = locate(*longest) if longest else None
        yield TimePart("blocked", elsewhere * scale, source=source, line_share=share)


def _most_frequent(lines: Counter[CodeLocation]) -> tuple[SourceRange | None, float]:
    """Return the line that was counted most often, and its share of all."""
    by_line: Counter[tuple[str, int]] = Counter()
    ranges: dict[tuple[str, int], SourceRange] = {}
    for location, count in lines.items():
        source = locate(*location)
        if source is not None:
            by_line[source.file, source.line] += count
            ranges.setdefault((source.file, source.line), source)
    if not by_line:
        return None, 0.0
    (line, count) = by_line.most_common(1)[0]
    return ranges[line], count / by_line.total()


def _scale(part: TimePart, factor: float) -> TimePart:
    return replace(part, seconds=part.seconds * factor)


def _merge(parts: Iterable[TimePart]) -> list[TimePart]:
    """Return one part for each activity and program, in the order of activities; smaller programs share one."""
    merged: dict[tuple[Activity, int | None], TimePart] = {}
    for part in parts:
        key = part.activity, part.program
        merged[key] = _add(merged[key], part) if key in merged else part
    order = list(ACTIVITY_LABELS)
    ranked = sorted(merged.values(), key=lambda part: (order.index(part.activity), -part.seconds))
    smaller = [part for part in ranked if part.activity == "dispatch"][MAX_PROGRAMS:]
    if smaller:
        total = smaller[0]
        for part in smaller[1:]:
            total = _add(total, part)
        first = ranked.index(smaller[0])
        ranked[first : first + len(smaller)] = [replace(total, program=None, function="")]
    return ranked


def _add(first: TimePart, second: TimePart) -> TimePart:
    """Return the sum of two parts; a part that was timed each time counts as measured where the other is a sample."""
    is_sampled = first.measured or second.measured
    return replace(
        first,
        seconds=first.seconds + second.seconds,
        count=first.count + second.count,
        measured=sum(part.measured or part.count for part in (first, second)) if is_sampled else 0,
        source=first.source or second.source,
        line_share=first.line_share or second.line_share,
    )
