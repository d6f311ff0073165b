"""Trees of elements as the front end draws them, for panes that are drawn in Python.

The browser turns them into nodes; text only ever becomes a text node there. Attributes must not contain text of a
program, except in ``title``, ``aria-label`` and ``data-`` attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

JSON = dict[str, Any]


def el(tag: str, attributes: dict[str, Any] | None = None, *children: Any) -> JSON:
    """Return an element; attributes and children that are None are left out, and lists of children flattened.

    >>> el("b", {"title": None}, "x", [None, "y"])
    {'tag': 'b', 'attributes': {}, 'children': ['x', 'y']}
    """
    present = {name: value for name, value in (attributes or {}).items() if value is not None}
    return {"tag": tag, "attributes": present, "children": list(_flatten(children))}


def _flatten(children: Sequence[Any]) -> Any:
    for child in children:
        if isinstance(child, list | tuple):
            yield from _flatten(child)
        elif child is not None:
            yield child


#: Width and height of a chart, and the room around the plot, in pixels.
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 260, 96, 44, 16, 14
#: Line of a chart: its name, its colour as a variable of the panel's theme, and its points.
Series = tuple[str, str, Sequence[tuple[float, float]]]


def line_chart(title: str, series: Sequence[Series], x_label: str) -> JSON:
    """Return a chart of lines as an SVG element; ``series`` has the name, the colour and the points of each.

    Colours are names of the theme's variables, such as ``fwd``.
    """
    points = [point for _, _, line in series for point in line]
    if not points:
        return el("span")
    xs, ys = [x for x, _ in points], [y for _, y in points]
    (left, right), (low, high) = _widen(min(xs), max(xs)), _widen(min(ys), max(ys))

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (x - left) / (right - left) * (WIDTH - LEFT - 6)
        return round(across, 1), round(TOP + (high - y) / (high - low) * (HEIGHT - TOP - BOTTOM), 1)

    lines = [_draw_line(name, colour, [place(*point) for point in line]) for name, colour, line in series if line]
    text = {"class": "xs-axis"}
    return el(
        "svg",
        {"width": WIDTH, "height": HEIGHT, "role": "img", "aria-label": f"{title}: {_describe(series)}"},
        el("line", {"class": "xs-rule", "x1": LEFT, "x2": WIDTH - 6, "y1": HEIGHT - BOTTOM, "y2": HEIGHT - BOTTOM}),
        el("text", {**text, "x": 2, "y": 11}, title),
        el("text", {**text, "x": 2, "y": TOP + 10}, f"{high:.3g}"),
        el("text", {**text, "x": 2, "y": HEIGHT - BOTTOM}, f"{low:.3g}"),
        el("text", {**text, "x": LEFT, "y": HEIGHT - 2}, f"{left:g}"),
        el("text", {**text, "x": WIDTH - 6, "y": HEIGHT - 2, "text-anchor": "end"}, f"{x_label} {right:g}"),
        lines,
    )


def _draw_line(name: str, colour: str, places: Sequence[tuple[float, float]]) -> list[JSON]:
    style = f"fill:none;stroke:var(--xs-{colour});stroke-width:1.6"
    path = "M" + "L".join(f"{x} {y}" for x, y in places)
    marks = [el("circle", {"cx": x, "cy": y, "r": 2, "style": f"fill:var(--xs-{colour})"}) for x, y in places]
    return [el("path", {"d": path, "style": style}, el("title", {}, name)), *(marks if len(marks) <= 40 else [])]


def _describe(series: Sequence[Series]) -> str:
    return ", ".join(f"{name} from {line[0][1]:.3g} to {line[-1][1]:.3g}" for name, _, line in series if line)


def _widen(low: float, high: float) -> tuple[float, float]:
    return (low, high) if high > low else (low - 0.5, high + 0.5)
