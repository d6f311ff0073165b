"""Files of inspections: text formats are written here, pictures and pages by renderers (:mod:`.renderers`)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Protocol

from ..records.plain import plain_lines
from ..records.store import write_whole
from .drawing import CHART, WAY_OUT, NoRendererError, drawing_of, drawn_forms

#: The formats that need no renderer.
TEXTS = (".json", ".txt")


class Savable(Protocol):
    """Object that can be written: text, JSON, and the data that renderers draw (records, or a comparison)."""

    text: str

    def to_json(self) -> dict[str, Any]: ...

    @property
    def drawn(self) -> Any: ...


def check_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a file that can be written; raise ValueError, which lists the suffixes, for others.

    >>> check_suffix("step.JSON")
    '.json'
    """
    suffix = Path(path).suffix.lower()
    if suffix in TEXTS:
        return suffix
    drawable = tuple(f".{form}" for form in drawn_forms())
    if suffix not in drawable:
        forms = ", ".join(TEXTS + drawable)
        hint = "" if drawable else f"; pictures and pages need a renderer, and none is installed: {WAY_OUT}"
        raise NoRendererError(f"cannot write {os.fspath(path)}: the suffix says the form, and is one of {forms}{hint}")
    return suffix


def write(shown: Savable, path: str | os.PathLike[str]) -> None:
    """Write an inspection in the format of the suffix, atomically."""
    suffix = check_suffix(path)
    if suffix not in TEXTS:
        drawing_of(suffix[1:])(shown.drawn, path)
        return
    text = json.dumps(shown.to_json()) if suffix == ".json" else f"{plain_lines(shown.text)}\n"
    write_whole(text.encode(), path)


def chart(shown: Savable, kind: str) -> Any:
    """Return a chart of an inspection, as a matplotlib figure."""
    return drawing_of(CHART)(shown.drawn, kind)
