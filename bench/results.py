"""Files of what was measured: RESULTS.md and results.json of one run, and REPORTS.md of tables of other forms."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from typing import Any

from .paired import Compared

PATH = pathlib.Path(__file__).with_name("RESULTS.md")
DATA = PATH.with_name("results.json")
REPORTS = PATH.with_name("REPORTS.md")
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def replace_table(lines: list[str]) -> None:
    """Put a report's table in place of the one with the same first line, or behind all; others are left alone."""
    kept = REPORTS.read_text(encoding="utf-8").rstrip("\n").split("\n")
    if lines[0] in kept:
        begin = kept.index(lines[0])
        end = next((n for n in range(begin, len(kept)) if not kept[n]), len(kept))
        kept[begin:end] = lines
    else:
        kept += ["", *lines]
    REPORTS.write_text("\n".join([*kept, ""]), encoding="utf-8")


def write_results(lines: Sequence[str], data: dict[str, Any]) -> None:
    """Write both files anew; nothing of another run stays."""
    PATH.write_text("\n".join([*lines, ""]), encoding="utf-8")
    DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def duration(seconds: float) -> str:
    """Return a number of seconds as text, in its unit.

    >>> duration(0.00123)
    '1.23 ms'
    """
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def fails(found: Compared, goal: float | None) -> bool:
    """Return whether a case fails its goal: whether the lower end of its 95 % interval exceeds it.

    >>> slow = Compared("sin", (1.3, 1.0), (1.2, 1.3, 1.4))
    >>> fails(slow, 1.0), fails(slow, 1.25), fails(slow, None)
    (True, False, False)
    """
    return goal is not None and found.interval[0] > goal


def heading(what: str, sides: Sequence[str]) -> list[str]:
    """Return the first two lines of a table."""
    return [
        f"| {what} | {' | '.join(sides)} | ratio | quartiles | 95 % interval | goal | |",
        "|---|---|---|---|---|---|---|---|",
    ]


def row(found: Compared, goal: float | None, calls: int = 1) -> str:
    """Return the row of a case."""
    times = " | ".join(duration(seconds / calls) for seconds in found.seconds)
    (low, high), (least, most) = found.quartiles, found.interval
    wanted = "" if goal is None else f"≤ {goal:.3g}"
    verdict = "fails" if fails(found, goal) else ""
    return (
        f"| {found.case} | {times} | **{found.ratio:.3f}** | {low:.3f}-{high:.3f} | {least:.3f}-{most:.3f} | {wanted} "
        f"| {verdict} |"
    )


def as_data(found: Compared, goal: float | None, calls: int = 1) -> dict[str, Any]:
    """Return a case as plain data."""
    return {
        "seconds": [seconds / calls for seconds in found.seconds],
        "ratio": found.ratio,
        "quartiles": found.quartiles,
        "interval": found.interval,
        "ratios": found.ratios,
        "goal": goal,
        "fails": fails(found, goal),
    }
