"""RESULTS.md, where what was measured stands."""

from __future__ import annotations

import pathlib

PATH = pathlib.Path(__file__).with_name("RESULTS.md")


def replace_table(lines: list[str]) -> None:
    """Put a table in place of the one with the same first line, or behind all; the others are left alone."""
    kept = PATH.read_text(encoding="utf-8").rstrip("\n").split("\n")
    if lines[0] in kept:
        begin = kept.index(lines[0])
        end = next((n for n in range(begin, len(kept)) if not kept[n]), len(kept))
        kept[begin:end] = lines
    else:
        kept += ["", *lines]
    PATH.write_text("\n".join([*kept, ""]), encoding="utf-8")
