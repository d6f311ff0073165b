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
from .sources import as_written, title_of

MISSING = "source not available"
CHANGED = "changed since it was run: lines may not fit"

#: Longer texts are not compared with what was run.
_MOST_COMPARED = 400_000


def source_texts(program: records.Jaxpr) -> tuple[records.SourceText, ...]:
    """Return the texts of the files that a program's equations come from, in order of appearance.

    A file that cannot be read has an empty text and a note; a file that has changed since it was run has a note.
    """
    lines_by_file: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for equation in program.walk():
        if equation.source is not None:
            lines_by_file[equation.source.file].add((equation.source.function, equation.source.line))
    return tuple(_source_text(file, lines) for file, lines in lines_by_file.items())


def _source_text(file: str, lines: set[tuple[str, int]]) -> records.SourceText:
    title = title_of(file) or os.path.basename(file) or file
    text = "".join(linecache.getlines(file))
    if not text:
        return records.SourceText(file, title, 1, "", MISSING)
    named = {line for line in lines if not line[0].startswith("<")}  # IPython renames the code of a cell
    note = "" if named <= _lines_of(text) or not _lines_of(text) else CHANGED
    return records.SourceText(file, title, 1, as_written(file, text), note)


def excerpt(location: records.SourceRange | None, around: int = 2) -> records.SourceText | None:
    """Return a source line with the lines around it; None where the file cannot be read."""
    if location is None or not (text := "".join(linecache.getlines(location.file))):
        return None
    lines = as_written(location.file, text).split("\n")
    first = max(1, location.line - around)
    title = title_of(location.file) or os.path.basename(location.file)
    shown = "\n".join(lines[first - 1 : location.line + around]).rstrip("\n")
    return records.SourceText(location.file, title, first, shown) if shown else None


@functools.lru_cache(maxsize=32)
def _lines_of(text: str) -> frozenset[tuple[str, int]]:
    """Return pairs of function and line for all code in a text; empty for text that is not Python."""
    if len(text) > _MOST_COMPARED:
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
