"""A program on more and more devices, as text; every time is an estimate, and says whose."""

from __future__ import annotations

from collections.abc import Iterable

from ...analysis.figures import plural, seconds, size
from ...records import Scaled, ScaledTo
from ..text import table

_HEADS = ("target", "devices", "mesh", "collectives", "in", "out", "sent", "computes", "communicates", "step", "memory")


def scaling_text(scaled: Scaled) -> str:
    """One row for each target, what was refused below, and what the columns are."""
    made = [each for each in scaled.points if not each.error]
    grows = f"; arguments grow along {', '.join(scaled.growing)}" if scaled.growing else ""
    first = f"{scaled.function} for {plural(len(scaled.points), 'target')}{grows}; nothing was run, times are estimates"
    rows = [_HEADS, *map(_row, made)] if made else []
    return "\n".join([first, *(table(rows, right=(1, 4, 5, 6, 7, 8, 9, 10)) if rows else ()), *_notes(scaled, made)])


def _row(point: ScaledTo) -> tuple[str, ...]:
    kinds = ", ".join(f"{each.runs} {each.kind}" for each in point.exchanged) or "none"
    return (
        point.target,
        f"{point.devices:,}",
        point.mesh,
        kinds,
        size(sum(each.operand_bytes for each in point.exchanged)),
        size(sum(each.result_bytes for each in point.exchanged)),
        size(sum(each.sent_bytes for each in point.exchanged)),
        _time(point.computing),
        _time(point.communicating),
        _time(point.step),
        size(point.memory) if point.memory is not None else "",
    )


def _time(estimate: float | None) -> str:
    return "not estimated" if estimate is None else "0 s" if not estimate else seconds(estimate)


def _notes(scaled: Scaled, made: list[ScaledTo]) -> list[str]:
    notes = [f"{each.target} is refused: {each.error}" for each in scaled.points if each.error]
    if not made:
        return notes
    return [
        *notes,
        "in and out: bytes of the collectives' operands and results on one device, in one run (from the optimized HLO)",
        "sent: bytes that one device has to send at the least (our count), memory: at the peak, the compiler's plan",
        *_whose("computes, at least", ((each.computing_by, each.target) for each in made)),
        *_whose("communicates, at least", ((each.communicating_by, each.target) for each in made)),
        "step: both, one after the other, as if nothing overlapped",
    ]


def _whose(what: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Whose the estimates are, one line for all targets alike."""
    by: dict[str, list[str]] = {}
    for whose, target in pairs:
        by.setdefault(whose, []).append(target)
    if len(by) == 1:
        return [f"{what}: {whose}" for whose in by]
    return [f"{what}: for {', '.join(names)} {whose}" for whose, names in by.items()]
