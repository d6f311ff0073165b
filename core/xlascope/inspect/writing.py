"""Inspections as files. What is text is written here; pictures and pages are drawn by whoever can (:mod:`.drawing`)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Protocol

from ..records.plain import plain_lines
from ..records.store import write_whole
from .drawing import CHART, WAY_OUT, NoRendererError, drawing_of, drawn_forms

#: The forms that need no drawing.
TEXTS = (".json", ".txt")


class Savable(Protocol):
    """What can be written: text, JSON, and what pictures are made from (records, or a comparison of records)."""

    text: str

    def to_json(self) -> dict[str, Any]: ...

    @property
    def drawn(self) -> Any: ...


def check_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix of a file that can be written; raises ValueError, which lists those that can, for any other.

    >>> check_suffix("step.JSON")
    '.json'
    """
    suffix = Path(path).suffix.lower()
    if suffix in TEXTS:
        return suffix
    drawn = tuple(f".{form}" for form in drawn_forms())
    if suffix not in drawn:
        known = ", ".join(TEXTS + drawn)
        none = "" if drawn else f"; pictures and pages need a renderer, and none is installed: {WAY_OUT}"
        raise NoRendererError(f"cannot write {os.fspath(path)}: the suffix says the form, and is one of {known}{none}")
    return suffix


def write(shown: Savable, path: str | os.PathLike[str]) -> None:
    """Write an inspection in the form that the suffix names, whole or not at all."""
    suffix = check_suffix(path)
    if suffix not in TEXTS:
        drawing_of(suffix[1:])(shown.drawn, path)
        return
    text = json.dumps(shown.to_json()) if suffix == ".json" else f"{plain_lines(shown.text)}\n"
    write_whole(text.encode(), path)


def chart(shown: Savable, kind: str) -> Any:
    """A chart of an inspection, as a matplotlib figure."""
    return drawing_of(CHART)(shown.drawn, kind)
