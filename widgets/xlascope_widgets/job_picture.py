"""Pictures of a job's processes: the steps of a shared program by process, and the lanes of all devices in one step.

Dark is work, pale is waiting for another process. Times are aligned by the common collectives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from xlascope.analysis.formatting import seconds
from xlascope.analysis.job.job_text import format_signed
from xlascope.records import JobLane, JobReport, SharedProgram
from xlascope.records.plain import plain

#: Steps in a picture, the last ones, and processes and devices, the first ones.
MAX_STEPS, MAX_ROWS = 24, 64
_WIDTH, _LEFT, _ROW, _BAR, _HEAD, _FOOT = 900, 130, 22, 14, 26, 24
_STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#3b4554}.t{font-weight:600}.w{fill:#2f6fde}.p{fill:#2f6fde;opacity:.28}"
    ".c{fill:#c4561c}.d{fill:#c4561c;opacity:.3}.u{stroke:#3b4554;stroke-width:1}.g{stroke:#d5dae2}"
)


class _Bar(NamedTuple):
    """Bar of a row: its CSS class, begin and duration in seconds, and its tooltip."""

    kind: str
    start: float
    duration: float
    title: str


class _Row(NamedTuple):
    """Row of a picture: its label and its bars."""

    label: str
    bars: Sequence[_Bar]


def draw_job(report: JobReport) -> str:
    """Draw the steps of the shared program that took most time as SVG without external references."""
    program = next((program for program in report.programs if program.steps), None)
    return _draw("no shared program was timed", []) if program is None else draw_steps(report, program)


def draw_steps(report: JobReport, program: SharedProgram) -> str:
    """Draw the last steps of a shared program: a row for each process, pale until the last process has begun.

    The whisker at the left of a row is the uncertainty of its clock.
    """
    steps = program.steps[-MAX_STEPS:]
    if not steps:
        return _draw(f"{plain(program.function, 60)}: no call was timed in all processes", [])
    origin = min(min(step.began) for step in steps)
    rows = []
    for index, process in enumerate(program.processes[:MAX_ROWS]):
        bars = []
        for step in steps:
            began, ended = step.began[index] - origin, step.ended[index] - origin
            last = min(max(max(step.began) - origin, began), ended)
            label = f"call {step.number} in process {process}"
            if last > began:
                bars.append(
                    _Bar("p", began, last - began, f"{label}: waits {seconds(last - began)} for {step.slowest}")
                )
            bars.append(_Bar("w", last, max(ended - last, 0.0), f"{label}: {seconds(max(ended - last, 0.0))}"))
        rows.append(_Row(f"process {process}", bars))
    clocks = {member.number: member.clock for member in report.members}
    uncertainties = [clocks[process].uncertainty if process in clocks else None for process in program.processes]
    title = f"{plain(program.function, 60)}: calls {steps[0].number:,} to {steps[-1].number:,} by process"
    return _draw(title, rows, uncertainties)


def draw_lanes(program: SharedProgram) -> str:
    """Draw one step on all devices: kernels blue, collectives orange, pale where they wait for another device."""
    lanes = program.lanes[:MAX_ROWS]
    if not lanes:
        return ""
    names = frozenset(collective.kernel for collective in program.collectives)
    start = min((span.start for lane in lanes for span in lane.spans), default=0.0)
    rows = [
        _Row(f"process {lane.process}, {plain(lane.device, 12)}", list(_lane_bars(lane, names, start)))
        for lane in lanes
    ]
    return _draw(f"{plain(program.function, 60)}: the median step of each process, by device", rows)


def _lane_bars(lane: JobLane, collectives: frozenset[str], start: float) -> Iterator[_Bar]:
    for span in lane.spans:
        kind = "c" if span.kernel in collectives else "w"
        yield _Bar(kind, span.start - start, span.duration, f"{plain(span.kernel, 80)}: {seconds(span.duration)}")
    for wait in lane.waits:
        title = f"{plain(wait.kernel, 80)}: waits {seconds(wait.duration)} for another device"
        yield _Bar("d wait", wait.start - start, wait.duration, title)


def _draw(title: str, rows: Sequence[_Row], uncertainties: Sequence[float | None] = ()) -> str:
    total = max((bar.start + bar.duration for row in rows for bar in row.bars), default=0.0) or 1.0
    scale = (_WIDTH - _LEFT - 10) / total
    height = _HEAD + _ROW * len(rows) + _FOOT
    parts = [f'<text class="t" x="4" y="15">{escape(title)}</text>']
    for i, row in enumerate(rows):
        y = _HEAD + i * _ROW
        parts.append(f'<text x="4" y="{y + 11}">{escape(row.label)}</text>')
        parts += [_bar_svg(bar, y, scale) for bar in row.bars]
        uncertainty = uncertainties[i] if i < len(uncertainties) else None
        if uncertainty:
            width = min(2 * uncertainty * scale, float(_WIDTH - _LEFT))
            tooltip = f"its clock is known within ± {format_signed(uncertainty)}"
            parts.append(
                f'<path class="u" d="M{_LEFT} {y + _BAR + 3}h{width:.1f}"><title>{escape(tooltip)}</title></path>'
            )
    parts += _axis(height, total)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(title)}"><style>{_STYLE}</style>'
        f'<rect class="b" width="{_WIDTH}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>'
    )


def _bar_svg(bar: _Bar, y: int, scale: float) -> str:
    x, width = _LEFT + bar.start * scale, max(bar.duration * scale, 0.6)
    if bar.kind == "d wait":  # waiting within a collective: it is drawn over the collective's bar
        box = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}"'
        return f'<rect class="b" {box} fill="#fff"/><rect class="d" {box}><title>{escape(bar.title)}</title></rect>'
    return (
        f'<rect class="{bar.kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}">'
        f"<title>{escape(bar.title)}</title></rect>"
    )


def _axis(height: int, total: float) -> Iterator[str]:
    y = height - _FOOT + 4
    yield f'<path class="g" d="M{_LEFT} {y}H{_WIDTH - 10}"/><text x="{_LEFT}" y="{y + 13}">0</text>'
    yield f'<text x="{_WIDTH - 10}" y="{y + 13}" text-anchor="end">{seconds(total)}</text>'
