"""A picture of a program on increasing numbers of devices: the step time by number of devices, per generation.

Both axes are logarithmic. Computation is dashed, communication dotted, their total solid; quantities without an
estimate are not drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from xlascope.analysis.formatting import seconds, size
from xlascope.records import Scaled, ScaledTo
from xlascope.records.plain import plain

_COLOURS = ("#2f6fde", "#c4561c", "#7a5bd1", "#2e8b57", "#b8860b")
_QUANTITIES = (("step", ""), ("computing", "5 3"), ("communicating", "1.5 3"))
_SOURCE_NOTES = (
    "estimates; computing: the compiler's, for GPUs a roofline estimate",
    "communicating: bytes sent, over the links at their peak",
)
_WIDTH, _HEIGHT, _LEFT, _TOP, _FOOT, _GAP = 430, 250, 62, 56, 104, 26
_STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#3b4554}.t{font-weight:600;font-size:13px}.s{fill:#5d6878;font-size:10px}"
    ".g{stroke:#e3e6eb}rect{fill:#fff}"
)


def draw_scaling(scalings: Sequence[Scaled]) -> str:
    """Draw one plot per scaling side by side, on the same axes, as SVG without external references."""
    points = [point for scaling in scalings for point in scaling.points if not point.error]
    times = [t for point in points for name, _ in _QUANTITIES if (t := getattr(point, name))]
    axes = _ScalingAxes([point.devices for point in points], times)
    width, height = len(scalings) * (_LEFT + _WIDTH + _GAP), _TOP + _HEIGHT + _FOOT
    body = "".join(_plot_svg(scaling, axes, i * (_LEFT + _WIDTH + _GAP)) for i, scaling in enumerate(scalings))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(_title(scalings[0]))}"><style>{_STYLE}</style>'
        f'<rect width="{width}" height="{height}"/>{body}</svg>'
    )


class _ScalingAxes:
    """Axes that all plots share: devices in powers of two horizontally, seconds in powers of ten vertically.

    ``devices`` and ``times`` are all values to be shown.
    """

    def __init__(self, devices: Sequence[int], times: Sequence[float]) -> None:
        self.across = math.log2(min(devices, default=1)), math.log2(max(devices, default=2))
        low, high = min(times, default=1e-3), max(times, default=1e-2)
        self.up = math.floor(math.log10(low)), math.ceil(math.log10(high) + 1e-9)
        self.ticks = sorted(set(devices))

    def x(self, devices: int) -> float:
        """Convert a number of devices to pixels."""
        low, high = self.across
        return _LEFT + 14 + (_WIDTH - 28) * ((math.log2(devices) - low) / (high - low) if high > low else 0.5)

    def y(self, time: float) -> float:
        """Convert seconds to pixels."""
        low, high = self.up
        return _TOP + _HEIGHT * (high - math.log10(time)) / (high - low)


def _plot_svg(scaled: Scaled, axes: _ScalingAxes, x_offset: int) -> str:
    """Return one plot as SVG, moved to the right by ``x_offset`` pixels; targets of one generation share a colour."""
    series: dict[str, list[ScaledTo]] = {}
    for point in scaled.points:
        if point.computing is not None or point.communicating is not None:
            series.setdefault(":".join(point.target.split(":")[:2]), []).append(point)
    parts = [
        f'<g transform="translate({x_offset} 0)"><text class="t" x="{_LEFT}" y="20">{escape(_title(scaled))}</text>'
    ]
    parts += [f'<text class="s" x="{_LEFT}" y="36">{escape(_subtitle(scaled))}</text>', *_iter_grid(axes)]
    for colour, (name, points) in zip(_cycle_colours(len(series)), series.items(), strict=True):
        parts += _iter_series(name, sorted(points, key=lambda entry: entry.devices), colour, axes)
    return "".join([*parts, *_iter_legend(list(series)), "</g>"])


def _title(scaled: Scaled) -> str:
    return f"{plain(scaled.function, 44)}: a step, at the least"


def _subtitle(scaled: Scaled) -> str:
    grows = f", arguments grow along {', '.join(scaled.growing)}" if scaled.growing else ", the same arguments"
    return f"time by number of devices{grows}; nothing was run"


def _cycle_colours(count: int) -> list[str]:
    return [_COLOURS[i % len(_COLOURS)] for i in range(count)]


def _iter_grid(axes: _ScalingAxes) -> Iterable[str]:
    right, bottom = _LEFT + _WIDTH, _TOP + _HEIGHT
    for power in range(axes.up[0], axes.up[1] + 1):
        y = axes.y(10.0**power)
        yield f'<path class="g" d="M{_LEFT} {y:.1f}H{right}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{seconds(10.0**power)}</text>'
    for devices in axes.ticks:
        x = axes.x(devices)
        yield f'<path class="g" d="M{x:.1f} {_TOP}V{bottom}"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{devices}</text>'


def _iter_series(name: str, points: Sequence[ScaledTo], colour: str, axes: _ScalingAxes) -> Iterable[str]:
    """Yield the lines and points of one generation of targets as SVG, each with a tooltip."""
    for quantity, dashes in _QUANTITIES:
        estimated = [(point, time) for point in points if (time := getattr(point, quantity))]
        if not estimated:
            continue
        path = "L".join(f"{axes.x(point.devices):.1f} {axes.y(time):.1f}" for point, time in estimated)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        thick = 1.4 if dashes else 2
        yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{thick}"{dashed}/>'
        for point, time in estimated:
            sent = size(sum(exchange.sent_bytes for exchange in point.exchanged))
            tooltip = f"{point.target} ({point.mesh}): {quantity} {seconds(time)}; {sent} sent by each device"
            yield (
                f'<circle cx="{axes.x(point.devices):.1f}" cy="{axes.y(time):.1f}" r="{2 if dashes else 3}" '
                f'fill="{colour}"><title>{escape(tooltip)}</title></circle>'
            )


def _iter_legend(names: Sequence[str]) -> Iterable[str]:
    y, x = _TOP + _HEIGHT + 38, _LEFT
    for colour, name in zip(_cycle_colours(len(names)), names, strict=True):
        yield f'<circle cx="{x + 4}" cy="{y - 4}" r="4" fill="{colour}"/>'
        yield f'<text x="{x + 13}" y="{y}">{escape(plain(name, 24))}</text>'
        x += 100
    for (quantity, dashes), x in zip(_QUANTITIES, (_LEFT, _LEFT + 130, _LEFT + 240), strict=True):
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        yield f'<path d="M{x} {y + 16}h24" stroke="#3b4554" stroke-width="1.6"{dashed}/>'
        yield f'<text x="{x + 30}" y="{y + 20}">{"both together" if quantity == "step" else quantity}</text>'
    for line, note in enumerate(_SOURCE_NOTES):
        yield f'<text class="s" x="{_LEFT}" y="{y + 38 + 14 * line}">{note}</text>'
