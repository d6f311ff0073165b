"""The JSON encoding of the report of several processes: a line for the strip, and a tree for the panel."""

from __future__ import annotations

from collections.abc import Sequence

from xlascope.analysis.job.job_text import (
    CLOCK_NOTE,
    describe_clock,
    describe_collective,
    describe_difference,
    describe_slowest,
    pace_row,
    summarize_job,
)
from xlascope.records import JobMember, JobReport, SharedProgram

from .element_tree import el
from .encoding import JSON
from .sanitize import sanitize

#: Programs, collectives of each, and differences that are listed; processes in a table.
MAX_PROGRAMS, MAX_COLLECTIVES, MAX_DIFFERENCES, MAX_PROCESSES = 6, 6, 20, 64
_PACE_HEADS = (
    "process",
    "calls",
    "period",
    "begins after the first",
    "waits for the last",
    "last",
    "in collectives",
    "waits there",
)


def encode_job(report: JobReport | None) -> JSON:
    """Encode the report of the processes that ran a cell; empty if there is none.

    ``lines`` are the parts of its summary, ``slow`` says whether one process lets the others wait, ``tree`` is what
    the panel shows.
    """
    if report is None:
        return {}
    lines = summarize_job(report).split("; ")
    is_slow = any(program.slowest is not None for program in report.programs)
    return {"job": sanitize({"lines": lines, "slow": is_slow, "tree": _draw_report(report)})}


def _draw_report(report: JobReport) -> JSON:
    rows = [_member_row(member) for member in report.members[:MAX_PROCESSES]]
    heads = ("process", "host", "pid", "ended", "seconds", "compile seconds", "clock")
    differences = [describe_difference(item).strip() for item in report.differences[:MAX_DIFFERENCES]]
    clocks = CLOCK_NOTE.format(reference=report.members[0].reference) if report.members else ""
    return el(
        "div",
        {"class": "xs-job"},
        _draw_table(heads, rows),
        [_draw_program(program) for program in report.programs[:MAX_PROGRAMS]],
        [el("b", None, "what differs between processes"), _draw_list(differences)] if differences else None,
        _draw_list([clocks, *report.notes]),
    )


def _member_row(member: JobMember) -> tuple[str, ...]:
    clock = "reference" if member.number == member.reference else describe_clock(member.clock)
    times = f"{member.seconds:.3g}", f"{member.making:.3g}"
    return str(member.number), member.host, str(member.pid), member.ended or "no end", *times, clock


def _draw_program(program: SharedProgram) -> list[JSON]:
    title = f"{program.function}: {program.calls:,} calls, {program.compared:,} compared{describe_slowest(program)}"
    collectives = [describe_collective(program, item) for item in program.collectives[:MAX_COLLECTIVES]]
    return [
        el("b", None, title),
        _draw_table(_PACE_HEADS, [pace_row(pace) for pace in program.paces[:MAX_PROCESSES]]),
        _draw_list(collectives),
    ]


def _draw_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> JSON:
    return el(
        "table",
        {"class": "xs-account-table"},
        el("thead", None, el("tr", None, [el("th", {"scope": "col"}, head) for head in heads])),
        el("tbody", None, [el("tr", None, [el("td", None, cell) for cell in row]) for row in rows]),
    )


def _draw_list(lines: Sequence[str]) -> JSON:
    return el("div", {"class": "xs-muted"}, [el("div", None, line) for line in lines if line])
