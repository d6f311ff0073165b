"""Source texts of a program's equations, and whether they still match what was run."""

from __future__ import annotations

import ast
import functools
import linecache
import os
import warnings
from collections import defaultdict
from types import CodeType

from .. import records
from .user_frames import restore_source, title_of

MISSING = "source not available"
CHANGED = "changed since it was run: lines may not fit"

#: Longer texts are not compared with what was run.
_MAX_COMPARED_CHARS = 400_000


def collect_source_texts(program: records.Jaxpr) -> tuple[records.SourceText, ...]:
    """Return the texts of the files that a program's equations come from, in the order in which equations name them.

    A file that cannot be read has an empty text and a note; a file that has changed since it was run has a
    note.
    """
    lines_by_file: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for equation in program.walk():
        if equation.source is not None:
            lines_by_file[equation.source.file].add((equation.source.function, equation.source.line))
    return tuple(_make_source_text(file, lines) for file, lines in lines_by_file.items())


def _make_source_text(file: str, lines: set[tuple[str, int]]) -> records.SourceText:
    title = title_of(file) or os.path.basename(file) or file
    text = "".join(linecache.getlines(file))
    if not text:
        return records.SourceText(file, title, 1, "", MISSING)
    expected = {line for line in lines if not line[0].startswith("<")}  # IPython renames the code of a cell
    note = "" if expected <= _lines_of(text) or not _lines_of(text) else CHANGED
    return records.SourceText(file, title, 1, restore_source(file, text), note)


def excerpt(location: records.SourceRange | None, around: int = 2) -> records.SourceText | None:
    """Return a source line with ``around`` lines before and after it; None where the file cannot be read."""
    if location is None or not (text := "".join(linecache.getlines(location.file))):
        return None
    lines = restore_source(location.file, text).split("\n")
    first = max(1, location.line - around)
    title = title_of(location.file) or os.path.basename(location.file)
    shown = "\n".join(lines[first - 1 : location.line + around]).rstrip("\n")
    return records.SourceText(location.file, title, first, shown) if shown else None


@functools.lru_cache(maxsize=32)
def _lines_of(text: str) -> frozenset[tuple[str, int]]:
    """Return pairs (function, line) for all lines of code in a source text.

    Empty for text that is not Python or is longer than ``_MAX_COMPARED_CHARS``.
    """
    if len(text) > _MAX_COMPARED_CHARS:
        return frozenset()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pending = [compile(text, "<source>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    lines: set[tuple[str, int]] = set()
    while pending:
        code = pending.pop()
        lines.update((code.co_qualname, line) for *_, line in code.co_lines() if line is not None)
        pending += [const for const in code.co_consts if isinstance(const, CodeType)]
    return frozenset(lines)
