"""Of a cell's outputs, what stands without kernel, widgets and scripts, on GitHub and on nbviewer.

GitHub shows pixels and plain HTML. It has not always shown SVG, neither as an output nor as an image in HTML, and it
never runs scripts. So a panel becomes its line and its text in a fold, and its picture in pixels.
"""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

from nbformat.v4 import new_output

from .address import ROOT
from .pixels import picture_of, smaller
from .running import STRIP

#: Calls of one program from which the picture under a cell that only has a strip is kept: a loop of training.
LOOP = 10
#: The tag of a cell whose picture is kept whatever it ran.
TAG = "picture"

KEPT = ("text/plain", "text/html", "text/markdown", "text/latex", "image/png", "image/jpeg")
_IMAGE = re.compile(r'<img alt="([^"]*)" src="data:image/svg\+xml;base64,([^"]*)">')
_ACTIVE = re.compile(r"<(script|style|iframe)\b.*?</\1>|<xlascope-panel[^>]*>|</xlascope-panel>", re.DOTALL)
_CALLS = re.compile(r"ran ([\d,]+) times?")
_PLACES = re.compile(r"(?<=at )0x[0-9a-f]{6,}")


def standing(outputs: list[Any], tags: list[str], most: int, *, loops: bool = True) -> list[Any]:
    """The outputs of one cell as they are kept; a picture takes at most so many bytes if that can be.

    Without ``loops`` the picture of a loop is kept only where the cell is tagged.
    """
    return [kept for output in _joined(outputs) for kept in _kept(output, TAG in tags, most, loops)]


def _joined(outputs: list[Any]) -> Iterator[Any]:
    """What a cell wrote in pieces, as one."""
    last = None
    for output in outputs:
        if last is not None and last.output_type == "stream" == output.output_type and last.name == output.name:
            last.text += output.text
            continue
        if last is not None:
            yield last
        last = output
    if last is not None:
        yield last


def _kept(output: Any, wanted: bool, most: int, loops: bool) -> Iterator[Any]:
    if output.output_type == "stream":
        yield new_output("stream", name=output.name, text=plain(output.text))
    elif output.output_type == "error":
        lines = [plain(line) for line in output.traceback]
        yield new_output("error", ename=output.ename, evalue=plain(output.evalue), traceback=lines)
    elif image := _IMAGE.search(output.data.get("text/html", "")):
        yield from _panel(output, image, wanted or _is_worth(output, loops), most)
    elif data := _data(output.data, most):
        yield _like(output, data)


def _is_worth(output: Any, loops: bool) -> bool:
    """Whether a panel's picture is kept: all but a strip's, and of strips the picture of a loop."""
    if not output.metadata.get(STRIP):
        return True
    calls = _CALLS.search(output.data.get("text/plain", ""))
    return loops and calls is not None and int(calls[1].replace(",", "")) >= LOOP


def _panel(output: Any, image: re.Match[str], with_picture: bool, most: int) -> Iterator[Any]:
    """Its line and text, and below them the picture."""
    html, text = output.data["text/html"], output.data["text/plain"]
    if output.metadata.get(STRIP):
        text = text.partition("\n")[0]  # the fold has all of it
    rest = {"text/html": html[: image.start()] + html[image.end() :], "text/plain": text}
    yield _like(output, _data(rest, most))
    if with_picture:
        found = picture_of(base64.b64decode(image[2]).decode(), most)
        size = {"image/png": {"height": found.height, "width": found.width}}
        data = {"image/png": _text(found.data), "text/plain": plain(unescape(image[1]))}
        yield new_output("display_data", data=data, metadata=size)


def _data(data: dict[str, Any], most: int) -> dict[str, str]:
    """Those of an output's forms that stand."""
    found = {kind: _inert(kind, data[kind], most) for kind in KEPT if kind in data}
    if "image/svg+xml" in data and "image/png" not in data:
        found["image/png"] = _text(picture_of(data["image/svg+xml"], most).data)
    return found


def _inert(kind: str, text: str, most: int) -> str:
    if kind == "image/png":
        return _text(smaller(base64.b64decode(text), most))
    if kind == "image/jpeg":
        return text
    return plain(_ACTIVE.sub("", text) if kind == "text/html" else text)


def _like(output: Any, data: dict[str, str]) -> Any:
    more = {"execution_count": output.execution_count} if output.output_type == "execute_result" else {}
    return new_output(output.output_type, data=data, **more)


def plain(text: str) -> str:
    """A text without what belongs to one machine or one run: folders, addresses in memory, what was overwritten.

    >>> plain("<function f at 0x7f1234567890>")
    '<function f at 0x…>'
    """
    for folder in _folders():
        text = text.replace(folder, "")
    text = re.sub(r"/[\w/.-]*/ipykernel_\d+/", "", text)
    text = re.sub(r"[^\n]*\r(?!\n)", "", text)
    return _PLACES.sub("0x…", text)


def _folders() -> Iterator[str]:
    for source in ("core", "kernel_ext", "widgets"):
        yield f"{ROOT / source}/"
    yield f"{ROOT}/"
    yield from (f"{path}/" for path in sys.path if Path(path).name == "site-packages")
    yield f"{sys.prefix}/"
    yield f"{sys.base_prefix}/"
    yield f"{Path.home()}/"


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode() + "\n"
