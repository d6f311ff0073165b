"""Text about a program on growing numbers of devices; every time is an estimate with its source."""

from __future__ import annotations

from collections.abc import Iterable

from ...analysis.formatting import plural, seconds, size
from ...records import Scaled, ScaledTo
from ..text import table

_HEADS = ("target", "devices", "mesh", "collectives", "in", "out", "sent", "computes", "communicates", "step", "memory")


def scaling_text(scaled: Scaled) -> str:
    """Return a table with one row for each target, and below it the refused targets and notes about the columns."""
    compiled_points = [point for point in scaled.points if not point.error]
    grows = f"; arguments grow along {', '.join(scaled.growing)}" if scaled.growing else ""
    first = f"{scaled.function} for {plural(len(scaled.points), 'target')}{grows}; nothing was run, times are estimates"
    rows = [_HEADS, *map(_row, compiled_points)] if compiled_points else []
    return "\n".join(
        [first, *(table(rows, right=(1, 4, 5, 6, 7, 8, 9, 10)) if rows else ()), *_notes(scaled, compiled_points)]
    )


def _row(point: ScaledTo) -> tuple[str, ...]:
    """Return the table row of one compiled target, its estimates as text."""
    kinds = ", ".join(f"{collective.runs} {collective.kind}" for collective in point.exchanged) or "none"
    return (
        point.target,
        f"{point.devices:,}",
        point.mesh,
        kinds,
        size(sum(collective.operand_bytes for collective in point.exchanged)),
        size(sum(collective.result_bytes for collective in point.exchanged)),
        size(sum(collective.sent_bytes for collective in point.exchanged)),
        _format_time(point.computing),
        _format_time(point.communicating),
        _format_time(point.step),
        size(point.memory) if point.memory is not None else "",
    )


def _format_time(estimate: float | None) -> str:
    return "not estimated" if estimate is None else "0 s" if not estimate else seconds(estimate)


def _notes(scaled: Scaled, compiled_points: list[ScaledTo]) -> list[str]:
    notes = [f"{point.target} is refused: {point.error}" for point in scaled.points if point.error]
    if not compiled_points:
        return notes
    return [
        *notes,
        "in and out: bytes of the collectives' operands and results on one device, in one run (from the optimized HLO)",
        "sent: bytes that one device has to send, at the least, memory: at the peak, the compiler's plan",
        *_source_lines("computes, at least", ((point.computing_by, point.target) for point in compiled_points)),
        *_source_lines("communicates, at least", ((point.communicating_by, point.target) for point in compiled_points)),
        "step: both, one after the other, as if nothing overlapped",
    ]


def _source_lines(label: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return lines that name the sources of one estimate: one line if all targets have the same source.

    ``label`` names the estimate, ``pairs`` are (source, target).
    """
    targets_by_source: dict[str, list[str]] = {}
    for source, target in pairs:
        targets_by_source.setdefault(source, []).append(target)
    if len(targets_by_source) == 1:
        return [f"{label}: {source}" for source in targets_by_source]
    return [f"{label}: for {', '.join(names)} {source}" for source, names in targets_by_source.items()]
