"""The front end as text: its modules linked, its styles joined. No bundler: what is edited is what is shipped.

What is sent is without comments and spaces (rjsmin), which makes it a third smaller.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import rjsmin  # type: ignore[import-untyped]

from .linker import link

STATIC = Path(__file__).parent / "static"

#: Where a notebook's front end, a page and a panel begin; each exports what its host calls.
WIDGET, PAGE, LOADER = "widget.js", "page.js", "loader.js"

#: What draws without a browser.
PICTURES = ("pictures/picture.js", "pictures/compare_picture.js")

STYLES = (
    "graph/graph.css",
    "frame/panel.css",
    "cards/doctor.css",
    "frame/script.css",
    "time/time.css",
    "compare/compare.css",
)


@cache
def drawing_script() -> str:
    """What makes ``drawPicture`` and ``drawDiffPicture`` known to a JavaScript engine without a browser."""
    return _small(f"const {{ drawPicture, drawDiffPicture }} = {link(STATIC, *PICTURES)};")


def pane_files() -> list[str]:
    """Return the files that register panes: all whose name ends in ``_pane.js``, by their path below ``STATIC``."""
    return sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*_pane.js"))


@cache
def browser_module() -> str:
    """The whole front end as one ES module."""
    return _small(f"export default {link(STATIC, *pane_files(), WIDGET)}.default;")


@cache
def page_module() -> str:
    """The whole front end as one ES module that fills the page it stands in."""
    return _small(f"{link(STATIC, *pane_files(), PAGE)};")


@cache
def loader_module() -> str:
    """The few lines that a panel carries, which find the front end in the page: a module of its own."""
    return _small(f"export default {link(STATIC, LOADER)}.default;")


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


def _small(script: str) -> str:
    return str(rjsmin.jsmin(script))
