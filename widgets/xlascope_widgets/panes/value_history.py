"""Charts of the values of a step over its calls, as a part of the card of values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from xlascope.analysis.values import bad_words, cost_words
from xlascope.records import Traced, ValueCurve, ValueHistory

from ..element_tree import JSON, Series, el, line_chart

#: The largest number of lines of a chart, and of points of a line.
MAX_LINES, MAX_POINTS = 12, 240
#: The factor between the largest and the least number from which a chart is of logarithms.
MIN_LOG_SPAN = 20.0
_COLOURS = ("fwd", "bwd", "upd", "again")
_TITLES = {"loss": "loss", "gradient": "gradient norm", "zeros": "share of zeros of relus"}


def draw_history(history: ValueHistory, traced: Traced | None) -> JSON:
    """Draw the charts of loss, gradients and zeros, what went wrong first, and what watching cost."""
    samples = f"{history.calls:,} calls, {history.sampled:,} of them sampled"
    bad = None
    if history.bad_step is not None:
        words = f"wrong from step {history.bad_step:,} on: {bad_words(history, traced)} "
        bad = el("div", {}, el("b", {}, words), _draw_place(history))
    charts = [chart for kind in _TITLES for chart in _draw_chart(history, kind)]
    notes = [el("div", {"class": "xs-muted"}, note) for note in (cost_words(history), *history.notes)]
    return el("div", {}, el("b", {}, f"{history.function} over time: "), samples, bad, el("div", {}, charts), notes)


def _draw_place(history: ValueHistory) -> JSON | None:
    if not history.bad_path:
        return None
    attributes = {"class": "xs-doctor-place xs-mono", "type": "button", "data-goto": str(history.bad_path)}
    return el("button", attributes, "show it in the graph")


def _draw_chart(history: ValueHistory, kind: str) -> Iterator[JSON]:
    curves = [curve for curve in history.curves if curve.kind == kind]
    shown = curves[:: -(-len(curves) // MAX_LINES) or 1]
    lines: list[Series] = [
        (curve.name, _COLOURS[number % len(_COLOURS)], points)
        for number, curve in enumerate(shown)
        if (points := _points(curve))
    ]
    numbers = [number for _, _, points in lines for _, number in points]
    is_logarithmic = kind != "zeros" and min(numbers, default=0.0) > 0 and max(numbers) > MIN_LOG_SPAN * min(numbers)
    if is_logarithmic:
        lines = [(name, colour, [(x, math.log10(y)) for x, y in points]) for name, colour, points in lines]
    if lines:
        more = f" ({len(shown)} of {len(curves)})" if len(shown) < len(curves) else ""
        yield line_chart(f"{'log10 of ' * is_logarithmic}{_TITLES[kind]}{more}", lines, "call")


def _points(curve: ValueCurve) -> Sequence[tuple[float, float]]:
    stride = -(-len(curve.steps) // MAX_POINTS) or 1
    pairs = list(zip(curve.steps, curve.numbers, strict=True))[::stride]
    return [(float(step), number) for step, number in pairs if math.isfinite(number)]
