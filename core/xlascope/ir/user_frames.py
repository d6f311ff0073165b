"""User frames: the first frame outside the library, and source ranges of code objects and instructions."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any

from .. import bootstrap
from ..bootstrap import compose_message as compose_message
from ..lru_cache import FastLRUCache, LRUCache
from ..records import SourceRange

#: The folder of the library: the user's line is in the first frame outside it.
LIBRARY = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class _IsLibrary(FastLRUCache[str, bool]):
    def __missing__(self, filename: str) -> bool:
        return self.insert(filename, filename.startswith(LIBRARY))


#: Whether a file name belongs to the library, cached per name: each cell of a notebook has one.
is_library = _IsLibrary(4096)


#: Positions by id of the code object, which is kept alive so that its id stays unique. Hashing code objects is slow.
_positions_by_code: LRUCache[int, tuple[CodeType, list[Any]]] = LRUCache(4096)


def _positions(code: CodeType) -> list[Any]:
    entry = _positions_by_code.get(id(code))
    if entry is None:
        entry = _positions_by_code[id(code)] = (code, list(code.co_positions()))
    return entry[1]


def find_position(code: CodeType | None, lasti: int) -> Any:
    """Return lines and columns of an instruction, equal for equal instructions; None where there is no code.

    Offsets are not: after some calls Python specializes an instruction, and ``lasti`` is that of its last cache entry.
    """
    return None if code is None or lasti < 0 else _positions(code)[lasti // 2]


def locate(code: CodeType | None, lasti: int) -> SourceRange | None:
    """Return the source range of an instruction of a code object; None where it is not known.

    ``lasti`` is the offset of the instruction in bytes.
    """
    if code is None:
        return None
    line, end_line, column, end_column = _positions(code)[lasti // 2]
    if line is None:
        return None
    return SourceRange(code.co_filename, line, column or 0, end_line or line, end_column or 0, code.co_qualname)


#: Functions that may return a better title for a file than its name: that of a notebook's cell.
title_providers: list[Callable[[str], str | None]] = []


def title_of(file: str) -> str | None:
    """Return the display name of a file, such as ``In[7]`` for a notebook's cell; None if there is none."""
    candidates = (title for title_for in title_providers if (title := title_for(file)))
    return next(candidates, None)


#: Functions that may return the text of a file as its author wrote it: IPython translates magics to Python.
source_restorers: list[Callable[[str, str], str | None]] = []


def restore_source(file: str, text: str) -> str:
    """Return the text of a file as its author wrote it; ``text`` is what it was rewritten to before it was run."""
    candidates = (restored for written_in in source_restorers if (restored := written_in(file, text)) is not None)
    return next(candidates, text)


def user_frame(depth: int = 1) -> tuple[Any, int]:
    """Return code object and instruction offset of the innermost frame outside the library.

    The result is (None, -1) if there is no such frame. ``depth`` is the number of frames to skip, from this
    function on.
    """
    frame = sys._getframe(depth)
    while is_library[frame.f_code.co_filename]:
        above = frame.f_back
        if above is None:
            return None, -1
        frame = above
    return frame.f_code, frame.f_lasti


def user_line() -> SourceRange | None:
    """Return the source range that the user's program is executing; None if it is not known."""
    return locate(*user_frame(2))


def warn_at_user_line(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the user's line, which Python shows once for each line unless filters say otherwise."""
    frame = sys._getframe(1)
    while is_library[frame.f_code.co_filename]:
        above = frame.f_back
        if above is None:
            break
        frame = above
    names = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        names.get("__name__"),
        names.setdefault("__warningregistry__", {}),
    )


def where_text(location: SourceRange | None) -> str:
    """Return a source range as the end of a sentence, `` at file.py:12 (in f)``; "" for None."""
    if location is None:
        return ""
    return f" at {title_of(location.file) or location.file}:{location.line} (in {location.function})"


bootstrap.format_user_location = lambda: where_text(user_line())
bootstrap.title = lambda file: title_of(file) or file
