"""Plot how lowering grows with a program's length: the picture of RESULTS.md."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from .paired import Compared

_LENGTH = re.compile(r"lower a chain of (\d+)")
_COLORS = ("#0b7a75", "#8d5a97")  # dark enough on white, light enough on GitHub's dark page


def lowering_times(found: Mapping[str, Compared]) -> dict[int, tuple[float, ...]]:
    """Return the seconds of each side by the number of equations, shortest chain first.

    >>> found = Compared("", (0.1, 0.2), (0.5,))
    >>> lowering_times({"lower a chain of 300": found, "lower lstm_64": found})
    {300: (0.1, 0.2)}
    """
    lengths = {int(match[1]): each.seconds for case, each in found.items() if (match := _LENGTH.fullmatch(case))}
    return dict(sorted(lengths.items()))


def plot_growth(found: Mapping[str, Compared], sides: Sequence[str], path: pathlib.Path) -> None:
    """Draw lowering times over lengths into an SVG file, with a line for time in proportion to length."""
    times = lowering_times(found)
    lengths, by_side = list(times), list(zip(*times.values(), strict=True))
    least = min((min(seconds) / n for n, seconds in times.items()), default=0.0)
    with mpl.rc_context({"svg.hashsalt": "growth", "svg.fonttype": "none", "font.size": 10}):
        axes = Figure(figsize=(6, 3.6), layout="constrained").subplots()
        for side, seconds, color in zip(sides, by_side, _COLORS, strict=False):
            axes.loglog(lengths, seconds, "o-", color=color, label=side)
        axes.loglog(lengths, [least * n for n in lengths], ":", color="#888888", label="in proportion to the length")
        axes.set(xlabel="equations of the chain", ylabel="processor time of lowering, s")
        axes.grid(visible=True, alpha=0.3)
        axes.legend(frameon=False)
        axes.figure.savefig(path, metadata={"Date": None})
