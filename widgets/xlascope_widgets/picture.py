"""Pictures without a browser: the panel's own drawing code, run in an embedded JavaScript engine (QuickJS)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

import quickjs  # type: ignore[import-untyped]

from xlascope.analysis.diff import Diff
from xlascope.records import Record

from . import assets, wire
from .ledger import Ledger, Program
from .scaling_picture import draw_scaled
from .wire_diff import diff_wire

#: Boxes of one level above which a picture says so instead of drawing them: nobody reads more, and a notebook
#: should not carry them. Long levels are grouped, so few programs have as many.
MOST_BOXES = 600

_EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


def picture(shown: Iterable[Record] | Diff, *, program: int | None = None, open: Collection[str] = ()) -> str:
    """An SVG of strip, graph, kernels and timeline of one program; of a comparison, what differs.

    ``program`` is its number (default: the one with most to see); ``open`` holds the paths of equations whose bodies
    are drawn in place. The SVG refers to nothing outside itself.
    """
    ledger = Ledger.of(shown)
    if program is None:
        return standing_picture(ledger, open)
    if program not in ledger.programs:
        raise ValueError(f"no program {program} in these records; there are {sorted(ledger.programs)}")
    return draw(ledger.programs[program], open)


def standing_picture(ledger: Ledger, open: Collection[str] = ()) -> str:
    """The SVG of a ledger's main program, or of its comparison, or of how a program scales."""
    if ledger.scaled:
        return draw_scaled(ledger.scaled)
    if ledger.diff is not None:
        return draw_diff(ledger)
    return _EMPTY if ledger.main is None else draw(ledger.main, open)


def draw(
    program: Program, open: Collection[str] = (), *, lean: bool = False, most: int = MOST_BOXES, grouping: str = "auto"
) -> str:
    """The SVG of one program; ``lean`` leaves out tooltips and roles, which an image in a page cannot show.

    ``grouping`` says how long levels are gathered into boxes, in the words of the panel.
    """
    program = program.standing
    options = {"open": sorted(open), "most": most, "lean": lean, "grouping": grouping}
    return _run("drawPicture", wire.heavy(program), wire.light(program), options | {"css": assets.picture_style()})


def draw_diff(ledger: Ledger) -> str:
    """The SVG of a comparison: the equations of both programs side by side, kernels and numbers."""
    assert ledger.diff is not None
    sides = [wire.heavy(program) for program in ledger.programs.values()]
    return _run("drawDiffPicture", diff_wire(ledger.diff), sides, {"css": assets.picture_style()})


def _run(function: str, *values: Any) -> str:
    # A context may be used only by the thread that made it; making one takes a few milliseconds.
    context = quickjs.Context()
    context.eval(assets.drawing_script())
    arguments = ", ".join(f"JSON.parse({json.dumps(json.dumps(value))})" for value in values)
    # join() makes one flat string of it: the binding cannot convert QuickJS's concatenated ones.
    return str(context.eval(f"[{function}({arguments})].join('')"))
