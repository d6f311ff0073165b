"""Figures that xlascope shows, and what the clocks of the programs say of them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

#: A figure is right within this share of the truth, and misleading beyond this factor.
MAX_ERROR, MAX_FACTOR = 0.10, 1.5
#: Calls shorter than this many milliseconds may be off by this many: a clock of the host includes waking up.
SHORT_MS, SHORT_ERROR_MS = 0.2, 0.02
#: A cell with so many warm calls has to have a number.
MIN_CALLS = 5
_WARNINGS = ("≤", "at most", "doubtful", "uncertain")

Kind = Literal["period", "call"]
Verdict = Literal["right", "off", "wrong", "warned", "none"]


class Figure(NamedTuple):
    """Time that is shown of a function, in milliseconds; ``warned`` says that it is marked as uncertain."""

    function: str
    kind: Kind
    ms: float
    calls: int
    clock: str
    warned: bool


class Row(NamedTuple):
    """Figure of one kind beside the truth; both are None where there is none."""

    program: str
    place: str
    function: str
    calls: int
    kind: Kind
    true: tuple[float, ...]
    shown: Figure | None

    @property
    def ratio(self) -> float | None:
        """Return shown / true; where the truth is between two values, to the nearest."""
        if self.shown is None or not self.true:
            return None
        return self.shown.ms / min(max(self.shown.ms, min(self.true)), max(self.true))

    @property
    def verdict(self) -> Verdict:
        """Return how the figure compares with the truth."""
        ratio = self.ratio
        if self.shown is None or ratio is None:
            return "none"
        error = abs(1 - 1 / ratio) * self.shown.ms
        is_short = self.kind == "call" and max(self.true) < SHORT_MS
        if abs(ratio - 1) <= MAX_ERROR or (is_short and error <= SHORT_ERROR_MS):
            return "right"
        if self.shown.warned:
            return "warned"
        return "wrong" if not 1 / MAX_FACTOR <= ratio <= MAX_FACTOR else "off"


def figures(shown: Mapping[str, Any]) -> list[Figure]:
    """Return the figures in a record of a program's runs, as a dictionary, or in the state of the strip.

    Where ``text`` is what is printed of the record, a figure is marked only if the text marks it.
    """
    if not shown.get("step"):
        return []
    is_marked = "text" not in shown or any(word in shown["text"].splitlines()[0] for word in _WARNINGS)
    at_most = bool(shown.get("at_most"))
    kind: Kind = "period" if at_most else "call"
    clock = str(shown.get("clock", ""))
    return [Figure(shown["function"], kind, shown["step"] * 1e3, shown["calls"], clock, at_most and is_marked)]


def rows(program: str, place: str, seen: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a run: for each function that it told of, its period and the time of a call."""
    found: list[Row] = []
    for name in dict.fromkeys(line["function"] for line in seen["told"]):
        told = [line for line in seen["told"] if line["function"] == name]
        # The same function as several programs: those told last are those numbered last.
        shown = sorted((item for item in seen["shown"] if item["function"] == name), key=lambda item: item["program"])
        for number, line in enumerate(told, len(shown) - len(told)):
            shown_figures = figures(shown[number]) if number >= 0 else []
            found += _compare(program, place, line, shown_figures)
    return found


def _compare(program: str, place: str, told: Mapping[str, Any], shown: Sequence[Figure]) -> list[Row]:
    truths: dict[Kind, tuple[float, ...]] = {
        "period": tuple(filter(None, [told["period_ms"]])),
        "call": tuple(filter(None, [told.get("call_ms"), told.get("device_ms")])),
    }
    by_kind = {figure.kind: figure for figure in shown}
    return [
        Row(program, place, told["function"], told["calls"], kind, true, by_kind.get(kind))
        for kind, true in truths.items()
    ]


def middle_round(rounds: Sequence[Sequence[Row]]) -> list[Row]:
    """Return, for each row of a program, that of the round with the median ratio; each round has the same rows."""
    chosen = []
    for same in zip(*rounds, strict=True):
        compared = sorted((row for row in same if row.ratio is not None), key=lambda row: row.ratio or 0.0)
        chosen.append(compared[len(compared) // 2] if compared else same[0])
    return chosen


HEAD = [
    "| jury | function | warm calls | period, ms | shown | ratio | call, ms | shown | ratio | verdict |",
    "|---|---|---|---|---|---|---|---|---|---|",
]


def table(every: Sequence[Row]) -> list[str]:
    """Return the table of rows, a line for each function of a program."""
    lines = []
    for period, call in zip(every[::2], every[1::2], strict=True):
        verdicts = " / ".join(dict.fromkeys(row.verdict for row in (period, call) if row.verdict != "none")) or "none"
        cells = [period.program, period.function, str(period.calls), *_cells(period), *_cells(call), verdicts]
        lines.append(f"| {' | '.join(cells)} |")
    return [*HEAD, *lines]


def _cells(row: Row) -> list[str]:
    true = "-".join(f"{value:.3g}" for value in sorted(set(row.true))) or ""
    if row.shown is None:
        return [true, "", ""]
    shown = f"{'≤ ' if row.shown.warned else ''}{row.shown.ms:.3g}"
    return [true, shown, "" if row.ratio is None else f"**{row.ratio:.2f}**"]


def summary(every: Sequence[Row]) -> str:
    """Return the sentence that sums up a table: numbers that are right, misleading, or missing."""
    verdicts = [row.verdict for row in every if row.verdict != "none"]
    count = {name: verdicts.count(name) for name in ("right", "off", "wrong", "warned")}
    functions = list(zip(every[::2], every[1::2], strict=True))
    enough = [pair for pair in functions if pair[0].calls >= MIN_CALLS]
    numbered = sum(1 for pair in enough if any(row.shown is not None for row in pair))
    unmarked = len(verdicts) - count["warned"]
    ratios = [abs(row.ratio - 1) for row in every if row.ratio is not None and row.verdict != "warned"]
    typical = f"; median error {statistics.median(ratios) * 100:.0f} %" if ratios else ""
    return (
        f"{count['right']} of {unmarked} unmarked numbers within {MAX_ERROR:.0%} ({_percent(count['right'], unmarked)})"
        f"{typical}; off by more than {MAX_FACTOR} times without a warning: {count['wrong']}; marked as uncertain: "
        f"{count['warned']}; functions with {MIN_CALLS} warm calls or more that have a number: {numbered} of "
        f"{len(enough)} ({_percent(numbered, len(enough))})"
    )


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"


def failing(every: Sequence[Row]) -> list[str]:
    """Return the names of the programs with a number that is not right, or without one though there were calls."""
    names: dict[str, None] = {}
    for pair in zip(every[::2], every[1::2], strict=True):
        is_missing = pair[0].calls >= MIN_CALLS and all(row.shown is None for row in pair)
        if is_missing or any(row.verdict in ("off", "wrong") for row in pair):
            names[pair[0].program] = None
    return list(names)
