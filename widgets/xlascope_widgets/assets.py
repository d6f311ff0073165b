"""The front-end's files joined into one module and one style sheet: no bundler, and what is edited is what is shipped.

Each file is an ES module of its own; all of them share one set of names. Joining them drops the imports between them
and the word ``export``, so the order below is the order in which they may use each other at load time.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent / "static"

#: What draws, with or without a browser.
DRAWING = ("element.js", "format.js", "program.js", "level.js", "columns.js", "layout.js", "words.js", "draw_graph.js",
           "draw_timeline.js", "picture.js")  # fmt: skip

#: What lives in a browser.
LIVING = ("store.js", "select.js", "strip.js", "source_pane.js", "kernels_pane.js", "timeline_pane.js", "graph_pane.js",
          "panel.js")  # fmt: skip

STYLES = ("graph.css", "panel.css")

_IMPORT = re.compile(r"^import\s[^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
_COMMENT = re.compile(r"^\s*//.*\n|^\s*/\*\*[^*]*(?:\*(?!/)[^*]*)*\*/\n", re.MULTILINE)


def join(files: tuple[str, ...]) -> str:
    """The named modules as one: without imports, exports and comments."""
    texts = [(STATIC / name).read_text(encoding="utf-8") for name in files]
    return "\n".join(_COMMENT.sub("", _EXPORT.sub("", _IMPORT.sub("", text))) for text in texts)


@cache
def drawing_script() -> str:
    """What turns a program into SVG text, for a JavaScript engine without a browser."""
    return join(DRAWING)


@cache
def browser_module() -> str:
    """The whole front end as one ES module."""
    return join(DRAWING + LIVING)


@cache
def style() -> str:
    """The whole style sheet."""
    return "\n".join((STATIC / name).read_text(encoding="utf-8") for name in STYLES)


@cache
def picture_style() -> str:
    """The styles that a picture carries within itself."""
    return (STATIC / "graph.css").read_text(encoding="utf-8")
