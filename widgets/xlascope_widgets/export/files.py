"""Writing of records to a file in the format of its suffix."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from xlascope.analysis.diff import Diff
from xlascope.records import Record
from xlascope.records.store import write_whole

from ..ledger import Ledger
from ..picture import standing_picture
from .dot import dot, pdf
from .page import page
from .png import png

#: The types that can be drawn.
Shown = Sequence[Record] | Diff

_WRITERS: dict[str, Callable[[Ledger], bytes]] = {
    ".html": lambda store: page(store).encode(),
    ".svg": lambda store: standing_picture(store).encode(),
    ".png": lambda store: png(standing_picture(store)),
    ".dot": lambda store: dot(store).encode(),
    ".pdf": lambda store: pdf(dot(store)),
}

SUFFIXES = tuple(_WRITERS)


def save(shown: Shown, path: str | os.PathLike[str]) -> None:
    """Write records, or a comparison, to a file atomically.

    Raises ValueError for a suffix that is not in ``SUFFIXES``, and for a PDF if Graphviz is not installed.
    """
    write = _WRITERS.get(Path(path).suffix.lower())
    if write is None:
        raise ValueError(
            f"cannot draw {os.fspath(path)}: the suffix says the form, and is one of {', '.join(SUFFIXES)}"
        )
    write_whole(write(Ledger.of(shown)), path)
