"""Data about the values of a program: the card with births and charts, and the numbers for boxes and edges."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from xlascope.analysis.formatting import percent, plural
from xlascope.analysis.values import list_layers
from xlascope.records import Birth, Finding, ProbedValue, ValueHistory, ValueReport
from xlascope.records.programs import Variable
from xlascope.records.values import ValueStatistics

from ..element_tree import JSON, el, line_chart
from ..program_store import ProgramState
from . import sends
from .value_history import draw_history

#: The largest number of values that are sent; a larger program's others have no colour.
MAX_VALUES = 20_000
#: Steps of colour, and the powers of two from a limit of the dtype below which each begins, nearest last.
STEPS, LIMIT_DISTANCES = 5, (24.0, 12.0, 6.0, 2.0)

#: Powers of two of the smallest normal and of the largest number, by dtype.
LIMITS = {
    "float16": (-14, 16),
    "bfloat16": (-126, 128),
    "float32": (-126, 128),
    "float64": (-1022, 1024),
    "complex64": (-126, 128),
    "complex128": (-1022, 1024),
    "float8_e4m3fn": (-6, 8.8),
    "float8_e5m2": (-14, 16),
}


@sends("values")
def encode_values(program: ProgramState) -> JSON | None:
    """Encode the values of a program's call; None where they are not known."""
    report, history = (program.asked.get((kind, "", "")) for kind in (ValueReport, ValueHistory))
    over_time = draw_history(history, program.traced) if isinstance(history, ValueHistory) else None
    if not isinstance(report, ValueReport):
        return None if over_time is None else {"card": el("div", {}, over_time)}
    shown = [value for value in report.values if value.position == "result" and value.index == 0][:MAX_VALUES]
    logs = [log for value in shown if (log := _log_size(value)) is not None]
    bounds = (min(logs), max(logs)) if logs else (0.0, 1.0)
    return {
        "card": el("div", {}, over_time, _draw_card(report, program)),
        "heat": {str(value.path): _encode_value(value, bounds) for value in shown},
        "born": [str(birth.path) for birth in report.births if birth.path],
    }


# Numbers of boxes and edges ------------------------------------------------------------------------------------------


def _encode_value(value: ProbedValue, bounds: tuple[float, float]) -> list[Any]:
    """Encode a value: step of colour and words for size, zeros and limits, and then its range in words."""
    if value.health != "finite":
        words = {"nan": "holds NaN", "inf": "holds infinity"}.get(value.health, "did not run")
        step = None if value.health == "not run" else STEPS - 1
        return [[step, words]] * 3 + [words]
    return [_size_step(value, bounds), _zeros_step(value.statistics), _limits_step(value), _describe(value)]


def _log_size(value: ProbedValue) -> float | None:
    """Return log2 of the root mean square, or of the largest magnitude where that alone is known."""
    stats = value.statistics
    size = value.largest if stats is None else stats.root_mean_square
    return math.log2(size) if size and math.isfinite(size) else None


def _size_step(value: ProbedValue, bounds: tuple[float, float]) -> list[Any]:
    log, (low, high) = _log_size(value), bounds
    if log is None:
        return [0, "all 0"]
    step = int((log - low) / (high - low) * STEPS) if high > low else STEPS // 2
    power = f"2^{round(log, 1) + 0.0:.1f}"  # + 0.0 makes 0.0 of -0.0
    return [min(STEPS - 1, step), power if value.statistics is not None else f"at most {power}"]


def _zeros_step(stats: ValueStatistics | None) -> list[Any]:
    if stats is None or not stats.elements:
        return [None, "not measured"]
    share = stats.zeros / stats.elements
    return [min(STEPS - 1, int(share * STEPS)), f"{percent(share)} zeros"]


def _limits_step(value: ProbedValue) -> list[Any]:
    """Return how near a value comes to overflow or underflow of its dtype, in powers of two."""
    if not value.largest:
        return [0, "all 0"]
    if value.dtype not in LIMITS:
        return [None, "limits not known"]
    low, high = LIMITS[value.dtype]
    log = _log_size(value)
    above = high - math.log2(value.largest)
    below = (math.log2(value.largest) if log is None else log) - low
    distance, word = (above, "below the largest") if above <= below else (below, "above the smallest")
    step = sum(distance < limit for limit in LIMIT_DISTANCES)
    return [step, f"2^{round(distance)} {word}"]


def _describe(value: ProbedValue) -> str:
    stats = value.statistics
    if stats is None or stats.minimum is None or stats.maximum is None:
        return f"values: at most {value.largest or 0:.3g}"
    parts = [f"values: {stats.minimum:.3g} to {stats.maximum:.3g}"]
    if stats.elements > 1:
        parts.append(f"root mean square {stats.root_mean_square:.3g}")
    parts += [f"{percent(stats.zeros / stats.elements)} zeros"] if stats.zeros else []
    parts += [f"exponents {_sparkline(stats.exponents)}"] if len(stats.exponents) > 1 else []
    return ", ".join(parts)


def _sparkline(exponents: Sequence[tuple[int, int]]) -> str:
    """Return a histogram of exponents as text: the lowest, bars, and the highest."""
    low, high = exponents[0][0], exponents[-1][0]
    width = max(1, -(-(high - low + 1) // 16))
    bars = [0] * (-(-(high - low + 1) // width))
    for exponent, count in exponents:
        bars[(exponent - low) // width] += count
    marks = "".join(" ▁▂▃▄▅▆▇█"[-(-8 * count // max(bars))] for count in bars)
    return f"2^{low} {marks} 2^{high}"


# The card -------------------------------------------------------------------------------------------------------------


def _draw_card(report: ValueReport, program: ProgramState) -> JSON:
    bad = sum(health in ("nan", "inf") for health in report.results)
    verb = "is" if bad == 1 else "are"
    total = plural(len(report.results), "result")
    head = f"Values: {bad} of {total} {verb} not finite" if bad else "Values: all results are finite"
    rows = [*_draw_births(report.births, program), *_draw_findings(report.findings, program)]
    return el(
        "div", {}, el("b", {}, head), el("ol", {"class": "xs-doctor-list"}, rows), list(_draw_charts(report, program))
    )


def _draw_births(births: Sequence[Birth], program: ProgramState) -> Iterator[JSON]:
    for birth in births:
        word = "NaN" if birth.kind == "nan" else "infinity"
        verb = "given" if birth.is_argument else "born" if birth.reaches_results else "born, and masked later"
        times = f", iteration {', '.join(map(str, birth.iterations))}" if birth.iterations else ""
        operands = [_draw_operand(operand, birth) for operand in birth.operands]
        yield el(
            "li",
            {},
            el("b", {}, f"{word} {verb}: "),
            f"{birth.sentence}{times} ",
            _draw_place(birth, program),
            operands,
        )


def _draw_operand(operand: ProbedValue, birth: Birth) -> JSON:
    name = operand.label or operand.name
    kind = Variable(operand.name, operand.shape, operand.dtype, False).type_text
    question = {"path": birth.path, "position": "operand", "index": operand.index, "iterations": birth.iterations}
    look = el(
        "button",
        {"class": "xs-link", "type": "button", "data-look": json.dumps(question), "title": "show its elements"},
        "look into it",
    )
    words = f"{name}: {kind}, {_describe(operand).removeprefix('values: ')} "
    return el("div", {"class": "xs-muted"}, words, look)


def _draw_findings(findings: Sequence[Finding], program: ProgramState) -> Iterator[JSON]:
    for finding in findings:
        is_born = finding.rule.endswith("born") or finding.rule.startswith("overflow")
        says = (
            [] if is_born else [el("b", {}, f"{finding.rule}: "), f"{finding.sentence} ", _draw_place(finding, program)]
        )
        yield el("li", {}, says, el("div", {"class": "xs-doctor-do"}, el("b", {}, "Do: "), finding.action))


def _draw_place(subject: Birth | Finding, program: ProgramState) -> JSON | None:
    """Draw the button that shows an equation in source and graph."""
    path = subject.path if isinstance(subject, Birth) else subject.equation
    if not path or subject.source is None:
        return None
    titles = {text.file: text.title for text in program.traced.sources} if program.traced is not None else {}
    title = titles.get(subject.source.file) or subject.source.file.rpartition("/")[2]
    return el(
        "button",
        {"class": "xs-doctor-place xs-mono", "type": "button", "data-goto": str(path), "title": "show it in the graph"},
        f"{title}:{subject.source.line}",
    )


def _draw_charts(report: ValueReport, program: ProgramState) -> Iterator[JSON]:
    layers = [] if program.traced is None else list_layers(program.traced.jaxpr, report.values)
    series = []
    for name, colour, sizes in (
        ("activations", "fwd", [layer.activation for layer in layers]),
        ("gradients", "bwd", [layer.gradient for layer in layers]),
    ):
        points = [(float(i), math.log2(size)) for i, size in enumerate(sizes, 1) if size]
        series.append((name, colour, points))
    if len(layers) > 1:
        yield line_chart("log2 of root mean square, by layer", series, "layer")
        yield el(
            "div",
            {"class": "xs-muted"},
            [[el("i", {"style": f"color:var(--xs-{c})"}, "● "), f"{n} "] for n, c, _ in series],
        )
