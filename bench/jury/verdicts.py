"""Figures that xlascope shows beside what the clocks of the programs say."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from .shown import KINDS, Figure, Kind, figures

#: A figure is right within this share of the truth, and misleading beyond this factor.
MAX_ERROR, MAX_FACTOR = 0.10, 1.5
#: Calls shorter than this many milliseconds may be off by this many: a clock of the host includes waking up.
SHORT_MS, SHORT_ERROR_MS = 0.2, 0.02
#: By so many milliseconds the time on the devices may be shorter than a call that was waited for.
DISPATCH_MS = 0.05
#: A cell with so many warm calls has to have a number.
MIN_CALLS = 5

Verdict = Literal["right", "off", "wrong", "unsteady", "warned", ""]


class Row(NamedTuple):
    """Figure of one kind beside the truth, in milliseconds: one value, the ends of an interval, or none."""

    program: str
    function: str
    calls: int
    how: str
    kind: Kind
    true: tuple[float, ...]
    shown: Figure | None

    @property
    def ratio(self) -> float | None:
        """Return shown / true; of the nearest values where median and mean differ. It is 1.0 where these overlap."""
        if self.shown is None or not self.true:
            return None
        shown = self.shown.ms, self.shown.mean or self.shown.ms
        if max(shown) < min(self.true):
            return max(shown) / min(self.true)
        return max(min(shown) / max(self.true), 1.0)

    @property
    def verdict(self) -> Verdict:
        """Return how the figure compares with the truth; ``""`` if one of them is missing.

        The time on the devices of a short call is no part of what a host's clock can tell.
        """
        ratio = self.ratio
        if self.shown is None or ratio is None or (self.shown.on_device and min(self.true) < SHORT_MS):
            return ""
        if self.shown.mark == "uncertain":
            return "warned"
        error = self.shown.ms * (1 - 1 / ratio)
        if abs(ratio - 1) <= MAX_ERROR or self._is_within_resolution(error):
            return "right"
        if self.shown.mark:
            return "unsteady"
        return "off" if 1 / MAX_FACTOR <= ratio <= MAX_FACTOR else "wrong"

    def _is_within_resolution(self, error: float) -> bool:
        """Return whether an error of so many milliseconds is within what the clocks can tell apart."""
        is_short = self.kind != "period" and max(self.true) < SHORT_MS and abs(error) <= SHORT_ERROR_MS
        is_on_device = self.shown is not None and self.shown.on_device
        return is_short or (is_on_device and -DISPATCH_MS <= error <= 0)


Judged = tuple[Row, Row, Row]
"""The rows of one function: its period, the time of a call, and that on the devices."""


def compare(program: str, seen: Mapping[str, Any]) -> list[Judged]:
    """Return the rows of a run, for each function that the program told of."""
    judged: list[Judged] = []
    for name in dict.fromkeys(line["function"] for line in seen["told"]):
        told = [line for line in seen["told"] if line["function"] == name]
        # The same function as several programs: those told last are those numbered last.
        shown = sorted((item for item in seen["shown"] if item["function"] == name), key=lambda item: item["program"])
        for number, line in enumerate(told, len(shown) - len(told)):
            judged.append(_compare_function(program, line, figures(shown[number]) if number >= 0 else {}))
    return judged


def _compare_function(program: str, told: Mapping[str, Any], shown: Mapping[Kind, Figure]) -> Judged:
    period, call = (
        tuple(told[name] for name in names if told.get(name))
        for names in (("period_ms", "period_mean_ms"), ("call_ms", "call_mean_ms", "device_ms"))
    )
    truths: dict[Kind, tuple[float, ...]] = {
        "period": period,
        "call": call,
        "device": call,
    }
    period_row, call_row, device_row = (
        Row(program, told["function"], told["calls"], told.get("how", ""), kind, truths[kind], shown.get(kind))
        for kind in KINDS
    )
    return period_row, call_row, device_row


def middle_round(rounds: Sequence[Sequence[Judged]]) -> list[Judged]:
    """Return the rows of a program's functions, each that of the round with the median ratio."""
    return [
        (_middle(same, 0), _middle(same, 1), _middle(same, 2))
        for same in zip(*rounds, strict=True)  # the same function in each round
    ]


def _middle(same: Sequence[Judged], kind: int) -> Row:
    compared = sorted((rows[kind] for rows in same if rows[kind].ratio is not None), key=lambda row: row.ratio or 0.0)
    return compared[len(compared) // 2] if compared else same[0][kind]


# Tables --------------------------------------------------------------------------------------------------------------

HEAD = [
    "| jury | function | warm calls | period, ms | shown | ratio | call, ms | shown | ratio | device time | ratio "
    "| verdict |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|",
]
LEGEND = (
    f"A number is right within {MAX_ERROR:.0%} of the program's own clock; a call under {SHORT_MS * 1e3:.0f} µs within "
    f"{SHORT_ERROR_MS * 1e3:.0f} µs. Device time may be {DISPATCH_MS * 1e3:.0f} µs shorter than a call that is waited "
    f"for, and is not judged of such short calls. *Wrong* is off by more than {MAX_FACTOR} times without a mark; "
    "*warned* is marked with ≤ or lists single calls; *unsteady* is neither right nor unmarked. Of two values, one is "
    "the median and one the mean of calls that differ, or (as truth) the time of a call on the devices and that of one "
    "waited for: what is between is right. ~: only the mean of a loop is known."
)


def table(every: Sequence[Judged]) -> list[str]:
    """Return the table, a line for each function of a program."""
    return [*HEAD, *map(_line, every)]


def _line(judged: Judged) -> str:
    period, call, device = judged
    approximate = "~" if period.how == "mean" else ""
    cells = [period.program, period.function, str(period.calls), approximate + _true(period), *_shown(period)]
    cells += [_true(call), *_shown(call), *_shown(device)]
    verdicts = [row.verdict for row in judged if row.verdict]
    return f"| {' | '.join([*cells, ', '.join(dict.fromkeys(verdicts)) or 'no number'])} |"


def _true(row: Row) -> str:
    if not row.true:
        return ""
    return "-".join(dict.fromkeys(f"{value:.3g}" for value in (min(row.true), max(row.true))))


def _shown(row: Row) -> list[str]:
    if row.shown is None:
        return ["", ""]
    mark = {"uncertain": "≤ ", "unsteady": "± "}.get(row.shown.mark, "")
    mean = row.shown.mean or row.shown.ms
    shown = "-".join(dict.fromkeys(f"{value:.3g}" for value in sorted((row.shown.ms, mean))))
    return [f"{mark}{shown}", "" if row.ratio is None else f"**{row.ratio:.2f}**"]


SUMMARY_HEAD = [
    f"| the jury: numbers within {MAX_ERROR:.0%} | load average | periods | times of a call | device times | all "
    "| median error | wrong | unsteady | warned "
    f"| functions with a number, of those with {MIN_CALLS} warm calls or more |",
    "|---|---|---|---|---|---|---|---|---|---|---|",
]


def summary_row(title: str, every: Sequence[Judged], load_average: float) -> str:
    """Return the row that sums up a table: numbers that are right, misleading, marked, and missing."""
    load = "" if math.isnan(load_average) else f"{load_average:.1f}"
    cells = [title, load, *(_share_right([judged[place] for judged in every]) for place in range(len(KINDS)))]
    rows = [row for judged in every for row in judged if row.verdict]
    verdicts = [row.verdict for row in rows]
    errors = [abs((row.ratio or 1.0) - 1) for row in rows if row.verdict != "warned"]
    cells += [f"**{_share_right(rows)}**", f"{statistics.median(errors):.0%}" if errors else ""]
    cells += [str(verdicts.count(name)) for name in ("wrong", "unsteady", "warned")]
    enough = [judged for judged in every if judged[0].calls >= MIN_CALLS]
    numbered = sum(1 for judged in enough if any(row.shown is not None for row in judged))
    return f"| {' | '.join([*cells, f'{numbered} of {len(enough)}'])} |"


def _share_right(rows: Sequence[Row]) -> str:
    """Return how many of the figures that are not marked with ≤ are right."""
    verdicts = [row.verdict for row in rows if row.verdict not in ("", "warned")]
    right = verdicts.count("right")
    return f"{right} of {len(verdicts)} ({right / len(verdicts):.0%})" if verdicts else "-"


def failing(every: Sequence[Judged]) -> list[str]:
    """Return the names of the programs with a number that is not right, or without one though there were calls."""
    names: dict[str, None] = {}
    for judged in every:
        is_missing = judged[0].calls >= MIN_CALLS and all(row.shown is None for row in judged)
        if is_missing or any(row.verdict in ("off", "wrong", "unsteady") for row in judged):
            names[judged[0].program] = None
    return list(names)
