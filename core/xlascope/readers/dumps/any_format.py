"""One dump file, whatever its format: the decisions in it, and whether it is whole."""

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
MOST = 64 * 2**20
#: What begins the list of frames in a page.
FRAMES = b"const frames = ["


def read_fusion_dump(file: str | os.PathLike[str]) -> Dump:
    """Read a fusion dump of XLA's by its content.

    It is a page (``*_fusion.html``), a zipped or bare database (``*_fusion.pyz``, ``*.db``), or the steps of the
    GPU's priority fusion (``*priority_fusion_dump.txt``). Raises FormatError, which names the file, for anything else.
    """
    path = Path(file)
    with path.open("rb") as opened:
        head = opened.read(512)
    try:
        if head.startswith((b"PK", b"#!", b"SQLite format 3")):
            return read_fusion_archive(path)
        with path.open("rb") as opened:
            page = b"<html" in head.lower()
            if page:
                _go_to_frames(opened)
            text = opened.read(MOST + 1)
        whole = len(text) <= MOST
        if page:
            return read_fusion_page(text[:MOST].decode(errors="replace"), whole=whole)
        return read_fusion_process(text[:MOST].decode(errors="replace"), whole=whole)
    except FormatError as error:
        raise error.in_file(file) from None


def _go_to_frames(page: BinaryIO) -> None:
    """Pass over what stands before the frames: the pictures, which can be a hundred times as long."""
    end = b""
    while block := page.read(2**20):
        place = (end + block).find(FRAMES)
        if place >= 0:
            page.seek(place - len(end) - len(block), SEEK_CUR)
            return
        end = block[-len(FRAMES) :]
