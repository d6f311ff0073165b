"""The texts of the files that a program's equations come from, and whether each is still what was run."""

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

#: Texts larger than this (characters) are not compared with what was run.
_MOST_COMPARED = 400_000


def source_texts(program: records.Jaxpr) -> tuple[records.SourceText, ...]:
    """The texts of the files that a program's equations come from, in order of appearance.

    A file that cannot be read has no text, and a note that says so; so has one that is not what was run any more.
    """
    places: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for equation in program.walk():
        if equation.source is not None:
            places[equation.source.file].add((equation.source.function, equation.source.line))
    return tuple(_source_text(file, found) for file, found in places.items())


def _source_text(file: str, places: set[tuple[str, int]]) -> records.SourceText:
    title = title_of(file) or os.path.basename(file) or file
    text = "".join(linecache.getlines(file))
    if not text:
        return records.SourceText(file, title, 1, "", MISSING)
    named = {place for place in places if not place[0].startswith("<")}  # a shell names the code of a cell anew
    note = "" if named <= _lines_of(text) or not _lines_of(text) else CHANGED
    return records.SourceText(file, title, 1, as_written(file, text), note)


def excerpt(place: records.SourceRange | None, around: int = 2) -> records.SourceText | None:
    """A line of a program with those around it; None where the file cannot be read."""
    if place is None or not (text := "".join(linecache.getlines(place.file))):
        return None
    lines = as_written(place.file, text).split("\n")
    first = max(1, place.line - around)
    title = title_of(place.file) or os.path.basename(place.file)
    shown = "\n".join(lines[first - 1 : place.line + around]).rstrip("\n")
    return records.SourceText(place.file, title, first, shown) if shown else None


@functools.lru_cache(maxsize=32)
def _lines_of(text: str) -> frozenset[tuple[str, int]]:
    """The functions of a text, each with all of its lines; nothing for text that is no Python."""
    if len(text) > _MOST_COMPARED:
        return frozenset()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pending = [compile(text, "<source>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found: set[tuple[str, int]] = set()
    while pending:
        code = pending.pop()
        found.update((code.co_qualname, line) for *_, line in code.co_lines() if line is not None)
        pending += [each for each in code.co_consts if isinstance(each, CodeType)]
    return frozenset(found)
