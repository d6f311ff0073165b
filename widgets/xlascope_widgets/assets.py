"""The front end as text: linked modules and joined styles. No bundler: the edited files are the shipped ones.

The script is minified with rjsmin, which makes it a third smaller.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import rjsmin  # type: ignore[import-untyped]

from .linker import link

STATIC = Path(__file__).parent / "static"

#: The entry modules of a notebook's front end, a page and a panel; each exports what its host calls.
WIDGET, PAGE, LOADER = "widget.js", "page.js", "loader.js"

#: The view of arrays, which no panel carries.
ARRAY_VIEW, ARRAY_STYLE = "array/array_view.js", "array/array.css"

#: The modules that draw without a browser.
PICTURES = ("pictures/picture.js", "pictures/compare_picture.js")

#: A line that is a comment, or a part of one.
_COMMENT = re.compile(r"//|\*|/\*(?!.*\*/.)")
#: The begin of a constant, after a comment on its type.
_CONSTANT = re.compile(r" *(?:/\*\*.*\*/ )?const ")
#: The only parameter of an arrow function, unless a word such as ``async`` stands before it.
_PARAMETER = re.compile(r"(?<![\w$])\((\w+)\)=>")

STYLES = (
    "graph/graph.css",
    "frame/panel.css",
    "cards/doctor.css",
    "frame/script.css",
    "frame/account.css",
    "time/time.css",
    "compare/compare.css",
)


@cache
def drawing_script() -> str:
    """Return the script that defines ``drawPicture`` and ``drawDiffPicture`` in an engine without a browser."""
    return _minify(f"const {{ drawPicture, drawDiffPicture }} = {link(STATIC, *PICTURES)};")


def pane_files() -> list[str]:
    """Return the files that register panes: all whose name ends in ``_pane.js``, by their path below ``STATIC``."""
    return sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*_pane.js"))


@cache
def browser_module() -> str:
    """Return the front end as one ES module."""
    return _minify(f"export default {link(STATIC, *pane_files(), WIDGET)}.default;")


@cache
def page_module() -> str:
    """Return the front end as one ES module that fills the page it is loaded in."""
    return _minify(f"{link(STATIC, *pane_files(), PAGE)};")


@cache
def loader_module() -> str:
    """Return the ES module that each panel carries, which finds the front end in the page."""
    return _minify(f"export default {link(STATIC, LOADER)}.default;")


@cache
def array_module() -> tuple[str, str]:
    """Return the ES module that shows arrays, which a page fetches when the first one is opened, and its styles."""
    script = f"export const {{ showArray }} = {link(STATIC, ARRAY_VIEW)};"
    return _minify(script), _minify_style((STATIC / ARRAY_STYLE).read_text(encoding="utf-8"))


@cache
def style() -> str:
    """Return the style sheet without comments and spaces."""
    text = "".join((STATIC / name).read_text(encoding="utf-8") for name in STYLES)
    return _minify_style(text)


@cache
def picture_style() -> str:
    """Return the styles that are embedded in a picture."""
    return (STATIC / "graph/graph.css").read_text(encoding="utf-8")


def _minify(script: str) -> str:
    """Return a script without comments and spaces, and without what the formatter adds at the ends of lines.

    These are commas and semicolons before a closing bracket, which no text or empty statement of ours ends a line
    with. As it ends every other statement that has a value with a semicolon, a brace at the end of a line ends a
    block, and needs no new line. Constants that follow each other become one declaration, and a function's only
    parameter needs no parentheses.
    """
    script = _join_constants(script)
    script = re.sub(r",(?=\n\s*[)\]}])|;(?=\n\s*\})", "", script)
    return _PARAMETER.sub(r"\1=>", str(rjsmin.jsmin(script)).replace("}\n", "}"))


def _join_constants(script: str) -> str:
    """Return a formatted script in which a constant that follows another one, equally deep, continues its declaration.

    Between the two are lines that are deeper, comments, and closing brackets.
    """
    lines: list[str] = []
    depths: list[int] = []  # of the declarations around a line
    latest = 0  # the last line of code
    for line in script.split("\n"):
        code = line.lstrip(" ")
        constant = _CONSTANT.match(line)
        if code and not _COMMENT.match(code):
            depth = len(line) - len(code)
            while depths and (depths[-1] > depth or (depths[-1] == depth and not constant and code[0] not in ")]}")):
                depths.pop()
            if constant and depth in depths[-1:] and lines[latest].endswith(";"):
                lines[latest] = lines[latest][:-1] + ","
                line = line[constant.end() :]
            elif constant:
                depths.append(depth)
            latest = len(lines)
        lines.append(line)
    return "\n".join(lines)


def _minify_style(text: str) -> str:
    text = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    return re.sub(r" ?([{};,]) ?", r"\1", text).replace(": ", ":").replace(";}", "}")
