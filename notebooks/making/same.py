"""Whether a cell shows what it showed before, but for what was measured: then its outputs stay in the file.

It is asked of notebooks whose code is the same. Pictures are not compared, nor what panels say, which is measured
throughout: `--afresh` takes them new, after what draws them has changed.
"""

from __future__ import annotations

import re
from typing import Any

#: What the text below a panel begins with.
PANEL = "<summary>as text</summary>"
_UNITS = r"(?:[nµm]?s|%|x|times?|calls?|whole calls?|(?:[kMGT]?(?:B|FLOP)|[kMGT]i?B)/s|GB|kB|MB)"
_MEASURED = re.compile(rf"[<≈~]?\s*\b\d[\d.,]*(?:e[+-]?\d+)?\s*{_UNITS}(?![\w/])")


def keep_what_is_same(new: Any, old: Any) -> int:
    """Put the old outputs of a notebook in place of new ones that say the same; returns how many cells have changed."""
    changed = 0
    before = {cell.id: cell for cell in old.cells if cell.cell_type == "code"}
    for cell in new.cells:
        if cell.cell_type != "code":
            continue
        other = before.get(cell.id)
        if other is not None and other.source == cell.source and said(other.outputs) == said(cell.outputs):
            cell.outputs = other.outputs
        else:
            changed += 1
    return changed


def said(outputs: list[Any]) -> list[Any]:
    """What outputs say apart from what was measured: lines in no order, since tables may be sorted by time."""
    return [(output.output_type, sorted(output.get("data", {})), _words(output)) for output in outputs]


def _words(output: Any) -> list[str]:
    data = output.get("data", {})
    if "image/png" in data or PANEL in data.get("text/html", ""):
        return []
    text = output.get("text", "") or output.get("evalue", "") or data.get("text/plain", "")
    return sorted(unmeasured(line) for line in text.splitlines())


def unmeasured(line: str) -> str:
    """A line without the numbers that a clock gave, and without the spaces that they took.

    >>> unmeasured("compiled in 747 ms to 40 kernels,  3.97 ms each")
    'compiled in # to 40 kernels, # each'
    """
    return " ".join(_MEASURED.sub(" #", line).split())
