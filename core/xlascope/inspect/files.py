"""Files of inspections: text formats are written here, pictures and pages by renderers (:mod:`.renderers`)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Protocol

from ..records.plain import plain_lines
from ..records.store import write_whole
from .renderers import CHART, INSTALL_HINT, NoRendererError, available_formats, find_renderer

#: The formats that need no renderer.
TEXT_SUFFIXES = (".json", ".txt")


class Savable(Protocol):
    """Object that can be written: text, JSON, and the data that renderers draw (records, or a comparison)."""

    text: str

    def to_json(self) -> dict[str, Any]: ...

    @property
    def render_source(self) -> Any: ...


def check_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a file that can be written; raise ValueError, which lists the suffixes, for others.

    >>> check_suffix("step.JSON")
    '.json'
    """
    suffix = Path(path).suffix.lower()
    if suffix in TEXT_SUFFIXES:
        return suffix
    drawable = tuple(f".{form}" for form in available_formats())
    if suffix not in drawable:
        forms = ", ".join(TEXT_SUFFIXES + drawable)
        hint = "" if drawable else f"; pictures and pages need a renderer, and none is installed: {INSTALL_HINT}"
        raise NoRendererError(f"cannot write {os.fspath(path)}: the suffix says the form, and is one of {forms}{hint}")
    return suffix


def write(shown: Savable, path: str | os.PathLike[str]) -> None:
    """Write an inspection to a file atomically, in the suffix's format; raise NoRendererError for an unknown one."""
    suffix = check_suffix(path)
    if suffix not in TEXT_SUFFIXES:
        find_renderer(suffix[1:])(shown.render_source, path)
        return
    text = json.dumps(shown.to_json()) if suffix == ".json" else f"{plain_lines(shown.text)}\n"
    write_whole(text.encode(), path)


def chart(shown: Savable, kind: str) -> Any:
    """Return a chart of an inspection as a matplotlib figure; ``kind`` is as in :meth:`.Inspection.chart`."""
    return find_renderer(CHART)(shown.render_source, kind)
