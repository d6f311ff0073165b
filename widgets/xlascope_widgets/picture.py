"""Pictures without a browser: the panel's own drawing code, run in an embedded JavaScript engine (QuickJS)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

import quickjs  # type: ignore[import-untyped]

from xlascope.records import Record

from . import assets, wire
from .ledger import Ledger, Program

#: Equations of one level above which a picture says so instead of drawing them: nobody reads more, and a notebook
#: should not carry them.
MOST_EQUATIONS = 600

_EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


def picture(records: Iterable[Record], *, program: int | None = None, open: Collection[str] = ()) -> str:
    """An SVG of strip, graph, kernels and timeline of one program.

    ``program`` is its number (default: the one with most to see); ``open`` holds the paths of equations whose bodies
    are drawn in place. The SVG refers to nothing outside itself.
    """
    ledger = Ledger.of(records)
    shown = ledger.main if program is None else ledger.programs.get(program)
    if shown is None:
        if program is not None:
            raise ValueError(f"no program {program} in these records; there are {sorted(ledger.programs)}")
        return _EMPTY
    return draw(shown, open)


def draw(program: Program, open: Collection[str] = (), *, lean: bool = False, most: int = MOST_EQUATIONS) -> str:
    """The SVG of one program; ``lean`` leaves out tooltips and roles, which an image in a page cannot show."""
    # A context may be used only by the thread that made it; making one takes a few milliseconds.
    context = quickjs.Context()
    context.eval(assets.drawing_script())
    options = {"css": assets.picture_style(), "open": sorted(open), "most": most, "lean": lean}
    values = (wire.heavy(program), wire.light(program), options)
    arguments = ", ".join(f"JSON.parse({json.dumps(json.dumps(value))})" for value in values)
    # join() makes one flat string of it: the binding cannot convert QuickJS's concatenated ones.
    return str(context.eval(f"[drawPicture({arguments})].join('')"))
