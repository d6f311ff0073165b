"""Inspections as files. What is text is written here; pictures and pages are drawn by the widgets' package.

The engine imports nothing of that package. It is looked up by its name when somebody asks for a file that it makes, as
``%load_ext xlascope`` looks up the notebook's side.
"""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any, Protocol

from ..records.plain import plain_lines
from ..records.store import write_whole

#: The forms that need no drawing, and those that :mod:`xlascope_widgets.export` makes.
TEXTS = (".json", ".txt")
DRAWN = (".html", ".svg", ".png", ".dot", ".pdf")


class Savable(Protocol):
    """What can be written: text, JSON, and what pictures are made from (records, or a comparison of records)."""

    text: str

    def to_json(self) -> dict[str, Any]: ...

    @property
    def drawn(self) -> Any: ...


def check_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix of a file that can be written; raises ValueError, which lists those that can, for any other.

    >>> check_suffix("step.SVG")
    '.svg'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in TEXTS + DRAWN:
        known = ", ".join(TEXTS + DRAWN)
        raise ValueError(f"cannot write {os.fspath(path)}: the suffix says the form, and is one of {known}")
    return suffix


def write(shown: Savable, path: str | os.PathLike[str]) -> None:
    """Write an inspection in the form that the suffix names, whole or not at all."""
    suffix = check_suffix(path)
    if suffix in DRAWN:
        importlib.import_module("xlascope_widgets.export").save(shown.drawn, path)
        return
    text = json.dumps(shown.to_json()) if suffix == ".json" else f"{plain_lines(shown.text)}\n"
    write_whole(text.encode(), path)


def chart(shown: Savable, kind: str) -> Any:
    """A chart of an inspection, as a matplotlib figure."""
    return importlib.import_module("xlascope_widgets.export.charts").chart(shown.drawn, kind)
