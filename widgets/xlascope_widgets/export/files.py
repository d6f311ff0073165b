"""Writing of records to a file in the format of its suffix."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from xlascope.analysis.diff import Diff
from xlascope.records import Record
from xlascope.records.store import write_whole

from ..job_page import job_page_html
from ..offline_page import page_html
from ..picture import static_picture
from ..png import render_png
from ..program_store import ProgramStore
from .dot import dot_source, render_pdf

#: The types that can be drawn.
Shown = Sequence[Record] | Diff

_WRITERS: dict[str, Callable[[ProgramStore], bytes]] = {
    ".html": lambda store: (page_html(store) if store.job is None else job_page_html(store.job)).encode(),
    ".svg": lambda store: static_picture(store).encode(),
    ".png": lambda store: render_png(static_picture(store)),
    ".dot": lambda store: dot_source(store).encode(),
    ".pdf": lambda store: render_pdf(dot_source(store)),
}

SUFFIXES = tuple(_WRITERS)


def save(shown: Shown, path: str | os.PathLike[str]) -> None:
    """Write records, or a comparison of records, to a file atomically, in the format of its suffix.

    Raises ValueError for a suffix that is not in ``SUFFIXES``, and for a PDF if Graphviz is not installed.
    """
    write = _WRITERS.get(Path(path).suffix.lower())
    if write is None:
        raise ValueError(
            f"cannot draw {os.fspath(path)}: the suffix says the form, and is one of {', '.join(SUFFIXES)}"
        )
    write_whole(write(ProgramStore.of(shown)), path)
