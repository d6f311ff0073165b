"""The report of a job as one HTML file, and as a fragment for a notebook: tables and pictures, without any script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from xlascope.analysis.formatting import seconds
from xlascope.analysis.job.job_text import (
    CLOCK_NOTE,
    describe_clock,
    describe_collective,
    describe_difference,
    describe_late_steps,
    describe_slowest,
    pace_row,
)
from xlascope.records import JobReport, SharedProgram
from xlascope.records.plain import plain

from .job_picture import draw_lanes, draw_steps

#: Programs with all details in a page.
MAX_PROGRAMS = 12
_STYLE = (
    "body{font:14px/1.45 system-ui,sans-serif;margin:16px;color:#1d2530;background:#fff;max-width:1000px}"
    "table{border-collapse:collapse;margin:8px 0}td,th{padding:2px 10px 2px 0;text-align:left;font-weight:400}"
    "th{color:#5d6878;font-size:12px}.n{text-align:right}h1{font-size:20px}h2{font-size:16px;margin-top:24px}"
    ".s{color:#5d6878;font-size:12px}svg{max-width:100%;height:auto}li{overflow-wrap:anywhere}"
)
#: The colours of the panel's dark theme, where the system is dark. Pictures have styles of their own, which are light:
#: these rules are more specific.
_DARK_STYLE = (
    ":root{color-scheme:light dark}@media(prefers-color-scheme:dark){body{color:#e6e9ef;background:#11151c}"
    "body th,body .s{color:#98a4b6}body text{fill:#c3cad6}body .b{fill:#11151c}body .w,body .p{fill:#6ea8ff}"
    "body .c,body .d{fill:#ff9a5c}body .u{stroke:#c3cad6}body .g{stroke:#3a4350}}"
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<meta name="generator" content="xlascope">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def job_page_html(report: JobReport) -> str:
    """Return the page of a job's report: it needs no network, and runs nothing."""
    title = f"{plain(report.function, 60)}: a job of {report.count:,} processes"
    return _PAGE.format(title=escape(title), style=_STYLE + _DARK_STYLE, body=job_html(report))


def job_html(report: JobReport) -> str:
    """Return a job's report as an HTML fragment without scripts: processes, programs, what differs."""
    parts = [f"<h1>{escape(plain(report.function, 60))}: a job of {report.count:,} processes</h1>"]
    parts += _member_parts(report)
    for program in report.programs[:MAX_PROGRAMS]:
        parts += _program_parts(report, program)
    if len(report.programs) > MAX_PROGRAMS:
        parts.append(f'<p class="s">and {len(report.programs) - MAX_PROGRAMS:,} more shared programs</p>')
    if report.differences:
        parts.append("<h2>What differs between processes</h2>")
        parts.append(_list(describe_difference(difference) for difference in report.differences))
    if report.notes:
        parts.append(_list(plain(note, 300) for note in report.notes))
    return "\n".join(parts)


def _member_parts(report: JobReport) -> Iterator[str]:
    rows = [
        (
            str(member.number),
            plain(member.host, 30),
            str(member.pid or ""),
            ", ".join(plain(device, 16) for device in member.devices[:4]),
            plain(member.ended, 40) or "no end",
            seconds(member.seconds),
            seconds(member.making) if member.making else "",
            "reference" if member.number == member.reference else describe_clock(member.clock),
        )
        for member in report.members
    ]
    yield _table(("process", "host", "pid", "devices", "ended", "after", "compile", "clock"), rows, (5, 6))
    if report.members:
        yield f'<p class="s">{escape(CLOCK_NOTE.format(reference=report.members[0].reference))}</p>'


def _program_parts(report: JobReport, program: SharedProgram) -> Iterator[str]:
    yield f"<h2>{escape(plain(program.function, 60))}</h2>"
    yield (
        f"<p>{program.calls:,} calls by {len(program.processes)} processes, {program.compared:,} of them compared"
        f"{escape(describe_slowest(program))}.</p>"
    )
    yield draw_steps(report, program)
    yield '<p class="s">Pale: waiting until the last process has begun. Line below: how uncertain the clock is.</p>'
    heads = ("process", "calls", "period", "begins after the first", "waits", "last", "in collectives", "waits there")
    yield _table(heads, list(map(pace_row, program.paces)), range(1, 8))
    collectives = (describe_collective(program, collective) for collective in program.collectives)
    yield _list([*describe_late_steps(program), *collectives])
    lanes = draw_lanes(program)
    if lanes:
        yield lanes
        yield (
            '<p class="s">Each process shows the step that its own profiler saw as the median one; they are aligned at '
            "the end of the first collective. Orange: collectives, pale where a device waits for another one.</p>"
        )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    head = "".join(f"<th{_align(i, right)}>{escape(text)}</th>" for i, text in enumerate(heads))
    lines = [
        f"<tr>{''.join(f'<td{_align(i, right)}>{escape(text)}</td>' for i, text in enumerate(row))}</tr>"
        for row in rows
    ]
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>"


def _align(column: int, right: Sequence[int]) -> str:
    return ' class="n"' if column in right else ""


def _list(texts: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(text.strip())}</li>' for text in texts)}</ul>"
