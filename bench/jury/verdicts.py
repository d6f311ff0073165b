"""Figures that xlascope shows beside what the clocks of the programs say."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from .shown import KINDS, Figure, Kind, figures

#: What is shown of a kind that is not shown.
NO_FIGURE = Figure("call", 0.0)
#: A figure is right within this share of the truth, and misleading beyond this factor.
MAX_ERROR, MAX_FACTOR = 0.10, 1.5
#: Calls shorter than this many milliseconds may be off by this many: a clock of the host includes waking up.
SHORT_MS, SHORT_ERROR_MS = 0.2, 0.02
#: A cell with so many warm calls has to have a number.
MIN_CALLS = 5

#: A truth is unsteady if those of two halves of a run differ by more than this share.
MAX_DRIFT = 0.10

Verdict = Literal["right", "off", "wrong", "unsteady", "warned", "open", ""]


class Row(NamedTuple):
    """Figure of one kind beside the truth, in milliseconds: one value, the ends of an interval, or none.

    ``drift`` is the share by which the truths of two halves of the run differ. ``has_floor`` says whether the truth of
    a device time was measured without dispatch, too.
    """

    program: str
    function: str
    calls: int
    how: str
    kind: Kind
    true: tuple[float, ...]
    shown: Figure | None
    drift: float = 0.0
    has_floor: bool = False

    @property
    def ratio(self) -> float | None:
        """Return shown / true; of the nearest values where median and mean differ. It is 1.0 where these overlap.

        What is shown as a bound alone is compared as one: it is 1.0 where the truth is below.
        """
        if self.shown is None or not self.true:
            return None
        shown = self.shown.ms, self.shown.mean or self.shown.ms
        if self.shown.mark == "bound":
            return min(max(shown) / min(self.true), 1.0)
        if max(shown) < min(self.true):
            return max(shown) / min(self.true)
        return max(min(shown) / max(self.true), 1.0)

    @property
    def verdict(self) -> Verdict:
        """Return how the figure compares with the truth; ``""`` if one of them is missing.

        A host's clock tells only that the devices take no longer than a call: a shorter time is judged only where the
        truth was measured without dispatch. Within 10 % of a truth that is itself unsteady by more nothing can be, nor
        is what lies in a truth wider than the factor that misleads: what is not wrong, by more than the truth's own
        halves, is open.
        """
        ratio = self.ratio
        if self.shown is None or ratio is None:
            return ""
        if self.shown.on_device and not self.has_floor and (ratio < 1 or min(self.true) < SHORT_MS):
            return ""
        if self.shown.mark == "uncertain" or (self.shown.mark == "bound" and ratio >= 1 - MAX_ERROR):
            return "warned"
        if self.shown.mark == "bound":
            return "off" if ratio >= 1 / MAX_FACTOR else "wrong"
        verdict = self.verdict_if_steady
        is_wide = self.shown.on_device and self.has_floor and max(self.true) > MAX_FACTOR * min(self.true)
        if self.drift <= MAX_DRIFT and not is_wide:
            return verdict
        factor = MAX_FACTOR * (1 + self.drift)
        return "wrong" if verdict == "wrong" and not 1 / factor <= ratio <= factor else "open"

    @property
    def verdict_if_steady(self) -> Verdict:
        """Return how a figure that is no bound compares with a truth that is steady."""
        ratio = self.ratio
        if self.shown is None or ratio is None:
            return ""
        error = self.shown.ms * (1 - 1 / ratio)
        if abs(ratio - 1) <= MAX_ERROR or self._is_within_resolution(error):
            return "right"
        if self.shown.mark:
            return "unsteady"
        return "off" if 1 / MAX_FACTOR <= ratio <= MAX_FACTOR else "wrong"

    def _is_within_resolution(self, error: float) -> bool:
        """Return whether an error of so many milliseconds is within what the clocks can tell apart."""
        is_on_device = self.shown is not None and self.shown.on_device
        return self.kind != "period" and not is_on_device and max(self.true) < SHORT_MS and abs(error) <= SHORT_ERROR_MS


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
    has_floor = bool(told.get("inside_ms"))
    calls = ("call_ms", "call_mean_ms", "device_ms", "beside_ms")
    slow_dispatch = [] if told.get("slow_dispatch") else ["call_ms"]
    on_device = ("inside_ms", "device_ms", "beside_ms", *slow_dispatch) if has_floor else calls
    names: dict[Kind, Sequence[str]] = {
        "period": ("period_ms", "period_mean_ms"),
        "call": on_device if shown.get("call", NO_FIGURE).on_device else calls,
        "device": on_device,
    }
    period, call, device = (
        Row(
            program,
            told["function"],
            told["calls"],
            told.get("how", ""),
            kind,
            tuple(filter(None, (told.get(prefix + name) for prefix in ("", "first_") for name in names[kind]))),
            shown.get(kind),
            _drift(told, kind),
            has_floor,
        )
        for kind in KINDS
    )
    return period, call, device


def _drift(told: Mapping[str, Any], kind: Kind) -> float:
    """Return by what share the truths of two halves of a run differ, the largest of those that count for a kind."""
    of_kind: dict[Kind, Sequence[str]] = {
        "period": ("period",),
        "call": ("call",) if told.get("call_ms") else ("period",),
        "device": ("inside", "device" if told.get("device_halves_ms") else "period"),
    }
    halves = [told.get(f"{name}_halves_ms") for name in of_kind[kind]]
    return max((max(both) / min(both) - 1 for both in halves if both and min(both) > 0), default=0.0)


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
    f"{SHORT_ERROR_MS * 1e3:.0f} µs. The truth of a device time is between an iteration of a loop of calls inside one "
    "program, or beside what the host does meanwhile, and the time from call to call (or of a call that is waited "
    "for); without one only longer ones are "
    "judged, and of short calls none. *Wrong* is off by more than "
    f"{MAX_FACTOR} times without a mark; *open* are numbers, right or off, whose truths in two halves of a run differ "
    f"by more than {MAX_DRIFT:.0%}, and device times whose truth is an interval wider than {MAX_FACTOR} times; "
    "*warned* is marked with ≤ or lists single calls; *unsteady* is neither right nor unmarked. Of two values, one is "
    "the median and one the mean of calls that differ, or both are ends of a truth: what is between is right. ~: only "
    "the mean of a loop is known."
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
    mark = {"uncertain": "≤ ", "bound": "≤ ", "unsteady": "± "}.get(row.shown.mark, "")
    mean = row.shown.mean or row.shown.ms
    shown = "-".join(dict.fromkeys(f"{value:.3g}" for value in sorted((row.shown.ms, mean))))
    return [f"{mark}{shown}", "" if row.ratio is None else f"**{row.ratio:.2f}**"]


SUMMARY_HEAD = [
    f"| the jury: numbers within {MAX_ERROR:.0%} | load average | periods | times of a call | device times | all "
    "| median error | wrong | unsteady | warned | open (of those right) "
    f"| functions with a number, of those with {MIN_CALLS} warm calls or more |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|",
]


def summary_row(title: str, every: Sequence[Judged], load_average: float) -> str:
    """Return the row that sums up a table: numbers that are right, misleading, marked, and missing."""
    load = "" if math.isnan(load_average) else f"{load_average:.1f}"
    cells = [title, load, *(_share_right([judged[place] for judged in every]) for place in range(len(KINDS)))]
    rows = [row for judged in every for row in judged if row.verdict]
    verdicts = [row.verdict for row in rows]
    errors = [abs((row.ratio or 1.0) - 1) for row in rows if row.verdict not in ("warned", "open")]
    unsteady = [row.verdict_if_steady for row in rows if row.verdict == "open"]
    cells += [f"**{_share_right(rows)}**", f"{statistics.median(errors):.0%}" if errors else ""]
    cells += [str(verdicts.count(name)) for name in ("wrong", "unsteady", "warned")]
    cells.append(f"{len(unsteady)} ({unsteady.count('right')})" if unsteady else "0")
    enough = [judged for judged in every if judged[0].calls >= MIN_CALLS]
    numbered = sum(1 for judged in enough if any(row.shown is not None for row in judged))
    return f"| {' | '.join([*cells, f'{numbered} of {len(enough)}'])} |"


def _share_right(rows: Sequence[Row]) -> str:
    """Return how many are right of the figures that are not marked with ≤ and whose truths are steady."""
    verdicts = [row.verdict for row in rows if row.verdict not in ("", "warned", "open")]
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
