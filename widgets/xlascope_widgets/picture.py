"""Pictures without a browser: the panel's own drawing code, run in an embedded JavaScript engine (QuickJS)."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterable
from typing import Any

import quickjs  # type: ignore[import-untyped]

from xlascope.analysis.diff import Diff
from xlascope.records import Record

from . import assets, wire
from .job_picture import draw_job
from .program_store import ProgramState, ProgramStore
from .scaling_picture import draw_scaling
from .wire_diff import encode_diff

#: The maximum number of boxes drawn of one level; a larger level is replaced by a note. Long levels are grouped, so few
#: programs reach it.
MAX_BOXES = 600

_EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


def picture(shown: Iterable[Record] | Diff, *, program: int | None = None, open: Collection[str] = ()) -> str:
    """Return an SVG of strip, graph, kernels and timeline of one program, or of the differences of a comparison.

    ``program`` is its number (default: the main program); ``open`` holds the paths of equations whose bodies
    are drawn in place. The SVG has no external references.
    """
    store = ProgramStore.of(shown)
    if program is None:
        return static_picture(store, open)
    if program not in store.programs:
        raise ValueError(f"no program {program} in these records; there are {sorted(store.programs)}")
    return draw(store.programs[program], open)


def static_picture(store: ProgramStore, open: Collection[str] = ()) -> str:
    """Draw the store's job, scaling plots, comparison, or main program as SVG; an empty picture if it has none.

    ``open`` holds the paths of equations whose bodies are drawn in place.
    """
    if store.job is not None:
        return draw_job(store.job)
    if store.scaled:
        return draw_scaling(store.scaled)
    if store.diff is not None:
        return draw_diff(store)
    return _EMPTY if store.main is None else draw(store.main, open)


def draw(
    program: ProgramState,
    open: Collection[str] = (),
    *,
    lean: bool = False,
    most: int = MAX_BOXES,
    grouping: str = "auto",
) -> str:
    """Draw one program as SVG.

    ``open`` holds the paths of equations whose bodies are drawn in place, and ``grouping`` is the panel's option for
    grouping long programs into boxes. A body with more than ``most`` boxes is replaced by a note. ``lean`` omits
    tooltips and roles, which an image in a page cannot show.
    """
    program = program.static_view
    options = {"open": sorted(open), "most": most, "lean": lean, "grouping": grouping}
    return _call_script(
        "drawPicture", wire.encode_heavy(program), wire.encode_light(program), options | {"css": assets.picture_style()}
    )


def draw_diff(store: ProgramStore) -> str:
    """Draw the comparison of a store as SVG: the equations of both programs side by side, kernels and numbers."""
    assert store.diff is not None
    sides = [wire.encode_heavy(program) for program in store.programs.values()]
    return _call_script("drawDiffPicture", encode_diff(store.diff), sides, {"css": assets.picture_style()})


class _ThreadEngine(threading.local):
    """JavaScript engine with the drawing script: one per thread, since only its thread may use it."""

    def __init__(self) -> None:
        self.context = quickjs.Context()
        self.context.eval(assets.drawing_script())


#: Reading the script takes as long as drawing a small program.
_engine = _ThreadEngine()


def _call_script(function: str, *values: Any) -> str:
    """Call a function of the front end, with JSON values as arguments, and return its text."""
    context = _engine.context
    arguments = ", ".join(f"JSON.parse({json.dumps(json.dumps(value))})" for value in values)
    # join() makes one flat string of it: the binding cannot convert QuickJS's concatenated ones.
    return str(context.eval(f"[{function}({arguments})].join('')"))
