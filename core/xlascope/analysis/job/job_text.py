"""Text of a joined job: its processes and clocks, its shared programs, differences between processes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ...records.job import JobClock, JobCollective, JobDifference, JobMember, JobPace, JobReport, SharedProgram
from ...records.plain import plain
from ...records.programs import SourceRange
from ..formatting import plural, seconds, size

#: Programs with all details, and their collectives and steps in the text.
MAX_DETAILED_PROGRAMS, MAX_LISTED_COLLECTIVES, MAX_LISTED_STEPS = 8, 5, 5
MAX_NAME_CHARS = 60
CLOCK_NOTE = (
    "clocks: offset from process {reference}, the median difference of the ends of common collectives, ± half the "
    "range from the 10th to the 90th percentile; [bounds] hold because no collective ends before all have begun it"
)


def job_text(report: JobReport) -> str:
    r"""Return a report as text.

    >>> clock = JobClock(0.25, 0.001, 0.2, 0.3, meetings=9)
    >>> members = [JobMember(0, "n1", 7, (), "ended", 4.0, 1.0, 2.0, 0, JobClock(0.0, 0.0, 0.0, 0.0)),
    ...     JobMember(1, "n2", 8, (), "", 3.0, 1.0, 2.0, 0, clock)]
    >>> print(*job_text(JobReport(None, "train.py", 0.0, 2, tuple(members))).splitlines()[:4], sep="\n")
    train.py: a job of 2 processes
    process  host  pid  ended              compile  clock
    0        n1      7  ended, after 4 s       1 s  reference
    1        n2      8  no end, after 3 s      1 s  250 ms ± 1 ms, 9 meetings [200 ms, 300 ms]
    """
    lines = [f"{plain(report.function, MAX_NAME_CHARS)}: a job of {_count_processes(report.count)}"]
    lines += _table(
        [("process", "host", "pid", "ended", "compile", "clock"), *map(_member_row, report.members)], (2, 4)
    )
    if report.members:
        lines.append(CLOCK_NOTE.format(reference=report.members[0].reference))
    for program in report.programs[:MAX_DETAILED_PROGRAMS]:
        lines += ["", *_program_lines(program)]
    if len(report.programs) > MAX_DETAILED_PROGRAMS:
        lines.append(f"and {plural(len(report.programs) - MAX_DETAILED_PROGRAMS, 'more shared program')}")
    if report.differences:
        lines += ["", "what differs between processes:", *map(describe_difference, report.differences)]
    return "\n".join([*lines, *(f"note: {plain(note, 300)}" for note in report.notes)])


def summarize_job(report: JobReport) -> str:
    """Return a report as one line: how many processes, for whom the others wait and where, what differs.

    >>> summarize_job(JobReport(None, "In[5]", 0.0, 2, ()))
    '2 processes'
    """
    parts = [_count_processes(report.count)]
    for program in report.programs[:1]:
        slowest = describe_slowest(program)
        waited = next((item for item in program.collectives if item.last == program.slowest and any(item.waits)), None)
        line = "" if waited is None or not slowest else f", at {plain(waited.kernel, 40)}{where(waited.source)}"
        parts += [f"{plain(program.function, MAX_NAME_CHARS)}: {slowest.removeprefix('; ')}{line}"] if slowest else []
    differing = [item for item in report.differences if item.kind not in ("failure", "end")]
    parts += [describe_difference(item).strip() for item in differing[:1]]
    parts += [f"{plural(len(differing) - 1, 'more difference')}"] if len(differing) > 1 else []
    return "; ".join(parts)


def _count_processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count:,} processes"


def _member_row(member: JobMember) -> tuple[str, ...]:
    ended = plain(member.ended, 30) or "no end"
    return (
        str(member.number),
        plain(member.host, 30),
        str(member.pid),
        f"{ended}, after {seconds(member.seconds)}",
        seconds(member.making) if member.making else "",
        "reference" if member.number == member.reference else describe_clock(member.clock),
    )


def describe_clock(clock: JobClock) -> str:
    """Return the offset of a clock with its uncertainty and bounds, in words.

    >>> describe_clock(JobClock(-2e-5, 1.5e-4, -0.004, 0.003, 1e-6, meetings=60))
    '-20 µs ± 150 µs, 60 meetings [-4 ms, 3 ms], gains 1 ppm'
    >>> describe_clock(JobClock())
    'not aligned'
    """
    if clock.offset is None:
        return "not aligned"
    low, high = format_signed(clock.low or 0.0), format_signed(clock.high or 0.0)
    drift = f", gains {clock.drift * 1e6:.3g} ppm" if clock.drift else ""
    times = f"{format_signed(clock.offset)} ± {seconds(clock.uncertainty or 0.0)}"
    return f"{times}, {plural(clock.meetings, 'meeting')} [{low}, {high}]{drift}"


def format_signed(value: float) -> str:
    """Return a duration that may be negative, with its unit.

    >>> format_signed(-0.002), format_signed(0.0)
    ('-2 ms', '0 s')
    """
    return "0 s" if abs(value) < 1e-9 else f"{'-' if value < 0 else ''}{seconds(abs(value))}"


def _program_lines(program: SharedProgram) -> Iterator[str]:
    yield (
        f"{plain(program.function, MAX_NAME_CHARS)}: {plural(program.calls, 'call')} by "
        f"{_count_processes(len(program.processes))}, {program.compared:,} of them compared{describe_slowest(program)}"
    )
    heads = (
        "process",
        "calls",
        "period",
        "begins after the first",
        "waits for the last",
        "last",
        "in collectives",
        "waits",
    )
    yield from _table([heads, *map(pace_row, program.paces)], range(1, 8))
    for collective in program.collectives[:MAX_LISTED_COLLECTIVES]:
        yield f"  {describe_collective(program, collective)}"
    yield from (f"  {line}" for line in describe_late_steps(program))


def describe_late_steps(program: SharedProgram) -> list[str]:
    """Return the calls to which a process came latest, as a line; none without compared calls."""
    late = sorted(program.steps, key=lambda step: -step.late)[:MAX_LISTED_STEPS]
    listed = ", ".join(f"{step.number} (process {step.slowest}, {format_signed(step.late)})" for step in late)
    return [f"calls to which a process came latest (after the median of the others): {listed}"] if late else []


def describe_slowest(program: SharedProgram) -> str:
    """Return which process the others wait for and where, as the end of a sentence; "" if none stands out."""
    if program.slowest is None:
        return ""
    pace = next(pace for pace in program.paces if pace.process == program.slowest)
    if program.compared and pace.last * 2 > program.compared:
        late = f", which begins {seconds(pace.arrival)} late" if pace.arrival else ""
        return f"; the others wait for process {pace.process}, last in {pace.last} of them{late}"
    return f"; in its collectives the others wait for process {pace.process}"


def pace_row(pace: JobPace) -> tuple[str, ...]:
    """Return the cells of a process in the table of a shared program."""
    times = (pace.period, pace.arrival, pace.waits)
    inside = (pace.in_collectives, pace.waits_inside)
    return (
        str(pace.process),
        f"{pace.calls:,}",
        *("" if time is None else format_signed(time) for time in times),
        str(pace.last),
        *("not profiled" if time is None else format_signed(time) for time in inside),
    )


def describe_collective(program: SharedProgram, collective: JobCollective) -> str:
    """Return a collective with its bytes, its operation and line, its times, and who comes last, in words."""
    purpose = f" for {plain(collective.operation, 40)}{where(collective.source)}" if collective.operation else ""
    head = f"{plain(collective.kernel, 40)} ({plain(collective.kind, 40)}, {size(collective.bytes)}){purpose}"
    if not collective.seconds:
        return f"{head}: not profiled in all processes"
    times = ", ".join(
        f"process {number} {seconds(time)}, waits {format_signed(waits)}"
        for number, time, waits in zip(program.processes, collective.seconds, collective.waits, strict=False)
    )
    last = "" if collective.last is None else f"; process {collective.last} comes last"
    return f"{head}: {times} ({plural(collective.runs, 'run')}){last}"


def where(source: SourceRange | None) -> str:
    """Return a line as the end of a sentence: `` at train.py:12``; "" for None."""
    return "" if source is None else f" at {plain(os.path.basename(source.file), 60)}:{source.line}"


def describe_difference(difference: JobDifference) -> str:
    """Return a difference as one line."""
    numbers = difference.processes
    listed = f"process{'es' if len(numbers) > 1 else ''} {', '.join(map(str, numbers[:16]))}"
    name = f"{plain(difference.function, MAX_NAME_CHARS)}{where(difference.source)}"
    return f"  {listed}: {name} {plain(difference.text, 500)}"


def _table(rows: Sequence[Sequence[str]], right: Sequence[int]) -> list[str]:
    """Return rows as lines with aligned columns; those in ``right`` are aligned at their right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
