"""From what is shown to a file, by the suffix."""

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

#: What pictures are made from.
Shown = Sequence[Record] | Diff

_WRITERS: dict[str, Callable[[Ledger], bytes]] = {
    ".html": lambda ledger: page(ledger).encode(),
    ".svg": lambda ledger: standing_picture(ledger).encode(),
    ".png": lambda ledger: png(standing_picture(ledger)),
    ".dot": lambda ledger: dot(ledger).encode(),
    ".pdf": lambda ledger: pdf(dot(ledger)),
}

SUFFIXES = tuple(_WRITERS)


def save(shown: Shown, path: str | os.PathLike[str]) -> None:
    """Write records, or a comparison, to a file, whole or not at all.

    Raises ValueError for a suffix that is not in ``SUFFIXES``, and for a PDF where Graphviz is not installed.
    """
    write = _WRITERS.get(Path(path).suffix.lower())
    if write is None:
        raise ValueError(
            f"cannot draw {os.fspath(path)}: the suffix says the form, and is one of {', '.join(SUFFIXES)}"
        )
    write_whole(write(Ledger.of(shown)), path)
