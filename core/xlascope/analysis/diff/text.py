"""Text form of a comparison: lines begin with ``=`` alike, ``~`` changed, ``+`` added or ``-`` removed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from ...records.paths import PROGRAM
from ...records.plain import plain
from ...records.programs import Equation
from .changes import EquationChange, KernelChange, Number, Sign, Timing
from .equations import FlatProgram
from .timing import quartiles

#: Number of equations, and of kernels, that are listed.
MAX_LINES = 60
#: Number of names listed for one side of a regrouping.
MAX_NAMES = 6
#: Labels up to this number of characters are used in tables and sentences.
MAX_LABEL_CHARS = 24
DEFAULT_LABELS = ("before", "after")

_WORDS: dict[Sign, str] = {"=": "alike", "~": "changed", "+": "added", "-": "removed"}
_SECONDS = (("n", 1e-9), ("µ", 1e-6), ("m", 1e-3), ("", 1.0))
_COUNTS = (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))
_SIGNS = {"same": "=", "appeared": "+", "vanished": "-"}


def format_heading(labels: tuple[str, str]) -> str:
    """Return the heading that names both programs."""
    texts = [plain(label, 120) for label in labels]
    if short_labels(labels) == DEFAULT_LABELS:
        return "\n".join(f"{name}: {label}" for name, label in zip(DEFAULT_LABELS, texts, strict=True))
    return "  →  ".join(texts)


def short_labels(labels: tuple[str, str]) -> tuple[str, str]:
    """Return the labels if they are short, otherwise ``before`` and ``after``."""
    return labels if max(map(len, labels)) <= MAX_LABEL_CHARS and all(map(str.isprintable, labels)) else DEFAULT_LABELS


def equation_lines(changes: Sequence[EquationChange], before: FlatProgram, after: FlatProgram) -> Iterator[str]:
    """Yield a line with the number of equations by sign, and a line for each of the first that are not alike."""
    counts = Counter(item.sign for item in changes)
    summary = ", ".join(f"{counts[sign]:,} {word}" for sign, word in _WORDS.items() if counts[sign])
    yield f"equations: {summary or 'none'}"
    old, new = ({item.path: item for item in side.equations} for side in (before, after))
    sides = {True: (new, after), False: (old, before)}
    rows: list[tuple[str, ...]] = []
    equal_count = more = 0
    for change in changes:
        if change.sign == "=":
            equal_count += 1
            continue
        if len(rows) >= MAX_LINES:
            more += 1
            continue
        if equal_count:
            rows.append((f"    {equal_count:,} alike",))
        equal_count = 0
        equations, program = sides[change.sign != "-"]
        path = change.after if change.sign != "-" else change.before
        rows.append(_equation_row(change, equations[path or PROGRAM], program))
    yield from _align_columns(rows)
    if more:
        yield f"    {more:,} more"


def _equation_row(change: EquationChange, equation: Equation, program: FlatProgram) -> tuple[str, ...]:
    types = change.detail or ", ".join(program.types(equation))
    words = " ".join(change.changed) or _WORDS[change.sign]
    return f"  {change.sign} {plain(equation.name, 40)}", words, plain(types, 90), plain(program.line(equation), 60)


def kernel_lines(changes: Sequence[KernelChange]) -> Iterator[str]:
    """Yield a line with the number of kernels by kind of change, and a line for each of the first that changed."""
    if not changes:
        return
    counts = Counter(item.kind for item in changes)
    yield "kernels: " + ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    different = [item for item in changes if item.kind != "same"]
    yield from _align_columns([_kernel_row(item) for item in different[:MAX_LINES]])
    if len(different) > MAX_LINES:
        yield f"    {len(different) - MAX_LINES:,} more"


def _kernel_row(change: KernelChange) -> tuple[str, ...]:
    sides = [_join_names(side) for side in (change.before, change.after) if side]
    both = sides[:1] if len(set(sides)) == 1 else sides
    return f"  {_SIGNS.get(change.kind, '~')} {change.kind}", " → ".join(both), plain(change.detail, 90)


def _join_names(names: Sequence[str]) -> str:
    more = f" + {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(plain(name, 60) for name in names[:MAX_NAMES]) + more


def number_lines(numbers: Sequence[Number], labels: tuple[str, str]) -> Iterator[str]:
    """Yield a table of the numbers of both programs, with the change and the source; no line if there are none."""
    if numbers:
        rows = [("", *short_labels(labels), "change", "source")]
        rows += [(row.name, value(row.before, row.unit), value(row.after, row.unit), change(row), row.source)
                 for row in numbers]  # fmt: skip
        yield from _align_columns(rows, right=(1, 2, 3))


def timing_lines(timing: Timing | None, labels: tuple[str, str]) -> Iterator[str]:
    """Yield both medians with their spread, and whether the difference exceeds the noise; no line without a timing."""
    if timing is None:
        return
    for label, seconds in zip(short_labels(labels), (timing.before, timing.after), strict=True):
        low, middle, high = (value(quartile, "s") for quartile in quartiles(seconds))
        yield f"{label}: {middle} per call (median; half of the rounds between {low} and {high})"
    yield verdict(timing, labels)
    yield f"({timing.rounds_text}; {timing.source})"


def verdict(timing: Timing, labels: tuple[str, str]) -> str:
    """Return a sentence that says which program is faster, by how much, and how certain that is.

    ``labels`` name both programs.
    """
    before, after = short_labels(labels)
    if math.isinf(timing.high):
        return f"{after} takes {timing.ratio:.3g} times as long as {before}; too few rounds to tell that from noise"
    bounds = f"{timing.low:.3g} to {timing.high:.3g} times as long, with 99 % confidence"
    if timing.within_noise:
        return f"no difference beyond the noise: {after} takes {bounds}"
    return f"{after} takes {timing.ratio:.3g} times as long as {before} ({bounds})"


def value(number: float | None, unit: str) -> str:
    """Return a number with its unit.

    >>> value(1.5e6, "B"), value(0.0012, "s"), value(12.0, ""), value(None, "B")
    ('1.5 MB', '1.2 ms', '12', '–')
    """
    if number is None:
        return "–"
    if unit == "":
        return f"{number:,.0f}"
    steps = _SECONDS if unit == "s" else _COUNTS
    prefix, size = next((step for step in reversed(steps) if number >= step[1] * 0.9995), steps[0])
    return f"{number / size:.3g} {prefix}{unit}" if number else f"0 {unit}"


def change(number: Number) -> str:
    """Return the change from ``number.before`` to ``number.after`` as text: ``+12 %``, ``× 15``, ``−3``, or ``=``.

    A percentage, or a factor from 10 on; the difference for a number without a unit or one that was 0 before. ``""`` if
    either of the two is None.
    """
    if number.before is None or number.after is None:
        return ""
    if number.before == number.after:
        return "="
    if number.unit == "" or not number.before:
        sign = "+" if number.after > number.before else "−"
        return f"{sign}{value(abs(number.after - number.before), number.unit)}"
    ratio = number.after / number.before
    if abs(ratio - 1) < 0.0005:
        return "< 0.1 %"
    return f"× {ratio:.3g}" if ratio >= 10 else f"{100 * (ratio - 1):+.3g} %".replace("-", "−")


def _align_columns(rows: Sequence[tuple[str, ...]], right: Sequence[int] = ()) -> Iterator[str]:
    """Yield rows as lines with aligned columns; rows of one cell are lines of their own.

    ``right`` are the columns that are right-aligned.
    """
    full_rows = [row for row in rows if len(row) > 1]
    widths = [max(map(len, column)) for column in zip(*full_rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        yield "  ".join(cells).rstrip()
