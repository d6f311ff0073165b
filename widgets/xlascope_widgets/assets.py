"""The front-end's files joined into one module and one style sheet: no bundler, and what is edited is what is shipped.

Each file is an ES module of its own; all of them share one set of names. Joining them drops the imports between them
and the word ``export``, so the order below is the order in which they may use each other at load time. What is sent is
without comments and spaces (rjsmin), which makes it a third smaller.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import rjsmin  # type: ignore[import-untyped]

STATIC = Path(__file__).parent / "static"

#: What draws, with or without a browser.
DRAWING = (
    *("program/element.js", "program/format.js", "graph/phases.js", "graph/repeats.js", "graph/group.js"),
    *("program/unpack.js", "program/program.js", "graph/level.js", "graph/columns.js", "graph/layout.js"),
    *("graph/heat.js", "graph/between.js", "program/words.js", "graph/draw_graph.js", "time/draw_timeline.js"),
    *("program/stage_words.js", "compare/compare_rows.js", "frame/picture.js", "compare/compare_picture.js"),
)

#: Of that, what a page never needs.
STANDING = ("frame/picture.js", "compare/compare_picture.js")

#: What lives in a browser.
LIVING = (
    *("frame/asks.js", "compiler/targets.js", "compiler/crossings.js", "compiler/decisions.js"),
    *("compiler/why_pane.js", "compiler/crossing_pane.js", "compiler/replay_pane.js", "compiler/passes_pane.js"),
    *("program/store.js", "program/select.js", "frame/recompiles.js", "frame/strip.js", "frame/source_pane.js"),
    *("compiler/kernels_pane.js", "time/hottest.js", "time/memory_pane.js", "time/timeline_pane.js"),
    *("graph/viewport.js", "graph/canvas_theme.js", "graph/draw_canvas.js", "graph/canvas_graph.js"),
    *("graph/svg_graph.js", "graph/outline.js", "graph/explorer.js", "graph/graph_pane.js"),
    *("compare/compare_pane.js", "frame/library.js", "frame/panel.js"),
)

#: What a panel carries with itself.
LOADER = "frame/loader.js"

STYLES = ("graph/graph.css", "frame/panel.css", "time/time.css", "compare/compare.css")

_IMPORT = re.compile(r"^import\s[^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)


def join(files: tuple[str, ...]) -> str:
    """The named modules as one: without imports, exports and comments."""
    texts = [(STATIC / name).read_text(encoding="utf-8") for name in files]
    return str(rjsmin.jsmin("\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)))


@cache
def drawing_script() -> str:
    """What turns a program into SVG text, for a JavaScript engine without a browser."""
    return join(DRAWING)


@cache
def browser_module() -> str:
    """The whole front end as one ES module."""
    return join(tuple(name for name in DRAWING if name not in STANDING) + LIVING)


@cache
def loader_module() -> str:
    """The few lines that a panel carries, which find the front end in the page: a module of its own."""
    return join((LOADER,))


@cache
def style() -> str:
    """The whole style sheet, without comments and spaces."""
    text = "".join((STATIC / name).read_text(encoding="utf-8") for name in STYLES)
    text = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    return re.sub(r" ?([{};,]) ?", r"\1", text).replace(": ", ":")


@cache
def picture_style() -> str:
    """The styles that a picture carries within itself."""
    return (STATIC / "graph/graph.css").read_text(encoding="utf-8")
