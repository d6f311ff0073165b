"""Reader of a fusion dump of any format."""

from __future__ import annotations

import os
from io import SEEK_CUR
from pathlib import Path
from typing import BinaryIO

from ..format_error import FormatError
from .dump import Dump
from .frames import read_fusion_archive, read_fusion_page
from .priority_fusion import read_fusion_process

#: Bytes that are read of a dump's text, from where its decisions begin.
MAX_TEXT_BYTES = 64 * 2**20
#: What begins the list of frames in a page.
FRAMES_MARKER = b"const frames = ["


def read_fusion_dump(file: str | os.PathLike[str]) -> Dump:
    """Return the decisions in one of XLA's fusion dumps, whose format is detected from its content.

    It is a page (``*_fusion.html``), a zipped or bare database (``*_fusion.pyz``, ``*.db``), or the steps of the
    GPU's priority fusion (``*priority_fusion_dump.txt``). Raises FormatError, which names the file, for anything else.
    """
    path = Path(file)
    with path.open("rb") as stream:
        head = stream.read(512)
    try:
        if head.startswith((b"PK", b"#!", b"SQLite format 3")):
            return read_fusion_archive(path)
        with path.open("rb") as stream:
            page = b"<html" in head.lower()
            if page:
                _seek_to_frames(stream)
            text = stream.read(MAX_TEXT_BYTES + 1)
        is_complete = len(text) <= MAX_TEXT_BYTES
        if page:
            return read_fusion_page(text[:MAX_TEXT_BYTES].decode(errors="replace"), is_complete=is_complete)
        return read_fusion_process(text[:MAX_TEXT_BYTES].decode(errors="replace"), is_complete=is_complete)
    except FormatError as error:
        raise error.in_file(file) from None


def _seek_to_frames(page: BinaryIO) -> None:
    """Skip what precedes the frames of a page: the pictures, which can be a hundred times as long."""
    end = b""
    while block := page.read(2**20):
        position = (end + block).find(FRAMES_MARKER)
        if position >= 0:
            page.seek(position - len(end) - len(block), SEEK_CUR)
            return
        end = block[-len(FRAMES_MARKER) :]
