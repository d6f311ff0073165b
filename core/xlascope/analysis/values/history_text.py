"""Text of the values of a step over its calls."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ...records import Traced, ValueCurve, ValueHistory
from ..formatting import percent, plural, seconds
from .sparklines import MAX_BARS, sparkline

#: The largest number of curves in the text.
MAX_CURVES = 30


def history_text(history: ValueHistory, traced: Traced | None = None) -> str:
    """Return the history as text: what went wrong first, a line for each curve, and the cost.

    ``traced`` is the trace of the step, which has the titles of its files.
    """
    return "\n".join(_lines(history, traced))


def _lines(history: ValueHistory, traced: Traced | None) -> Iterator[str]:
    state = f"wrong from step {history.bad_step:,} on" if history.bad_step is not None else "all finite"
    yield f"{history.function}: {plural(history.calls, 'call')}, {plural(history.sampled, 'sample')}, {state}"
    if history.bad_step is not None:
        yield f"step {history.bad_step:,}: {bad_words(history, traced)}"
    rows = [(_title(curve), sparkline(curve.numbers), _range(curve)) for curve in history.curves if curve.numbers]
    width = max((len(title) for title, _, _ in rows), default=0)
    for title, bars, span in rows[:MAX_CURVES]:
        yield f"  {title.ljust(width)}  {bars.ljust(MAX_BARS)}  {span}"
    if len(rows) > MAX_CURVES:
        yield f"  and {plural(len(rows) - MAX_CURVES, 'other curve')}, in to_json()"
    yield cost_words(history)
    yield from (f"note: {note}" for note in history.notes)


def bad_words(history: ValueHistory, traced: Traced | None) -> str:
    """Return what happened at the first bad call, with its line."""
    source = history.bad_source
    titles = {} if traced is None else {text.file: text.title for text in traced.sources}
    title = "" if source is None else titles.get(source.file) or os.path.basename(source.file)
    location = f" ({title}:{source.line})" if source is not None else ""
    return f"{history.bad_sentence}{location}"


def cost_words(history: ValueHistory) -> str:
    """Return what watching costs."""
    lost = f"watching took {percent(history.lost_share)} of the loop's time"
    sample = f" ({seconds(history.twin_seconds)})" if history.sampled else ""
    once = f", compiling once {seconds(history.compile_seconds)}"
    if history.every:
        chosen = f", a sample each {plural(history.every, 'call').removeprefix('1 ')} as asked"
    elif history.sampled > 1:
        between = plural(max(history.calls // history.sampled, 1), "call").removeprefix("1 ")
        chosen = f", a sample each {between} by that cost"
    else:
        chosen = ""
    return f"cost: {lost}{chosen}{sample}{once}"


def _title(curve: ValueCurve) -> str:
    words = {"loss": "", "gradient": "gradient norm of ", "zeros": "zeros of relu, "}[curve.kind]
    return f"{words}{curve.name}"


def _range(curve: ValueCurve) -> str:
    first, last = curve.numbers[0], curve.numbers[-1]
    if curve.kind == "zeros":
        return f"{percent(first)} to {percent(last)}"
    return f"{first:.4g} to {last:.4g}"
