"""The user's line: the first frame outside the library; and from a code object and an instruction to a line."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any

from .. import starting
from ..recent import Recent, RecentlyUsed
from ..records import SourceRange
from ..starting import compose_message as compose_message

#: Files under this folder are the library: the user's line is the first frame outside it.
LIBRARY = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class _IsLibrary(Recent[str, bool]):
    def __missing__(self, filename: str) -> bool:
        return self.keep(filename, filename.startswith(LIBRARY))


#: Whether a file name belongs to the library, remembered per name: each cell of a notebook has one.
is_library = _IsLibrary(4096)


#: Positions by the id of their code object, which is kept so that its id stays taken. Hashing a code object is slow.
_known: RecentlyUsed[int, tuple[CodeType, list[Any]]] = RecentlyUsed(4096)


def _positions(code: CodeType) -> list[Any]:
    found = _known.get(id(code))
    if found is None:
        found = _known[id(code)] = (code, list(code.co_positions()))
    return found[1]


def locate(code: CodeType | None, lasti: int) -> SourceRange | None:
    """The source range of an instruction; None where nothing is known."""
    if code is None:
        return None
    line, end_line, column, end_column = _positions(code)[lasti // 2]
    if line is None:
        return None
    return SourceRange(code.co_filename, line, column or 0, end_line or line, end_column or 0, code.co_qualname)


#: Who may know a better title for a file than its name: the notebook side knows which cell it is.
titles: list[Callable[[str], str | None]] = []


def title_of(file: str) -> str | None:
    """What people call a file, ``In[7]`` for a notebook's cell; None where nobody knows better than its name."""
    known = (title for title_for in titles if (title := title_for(file)))
    return next(known, None)


#: Who may know how the author wrote the text of a file, line by line: a notebook turns magics into Python.
written: list[Callable[[str, str], str | None]] = []


def as_written(file: str, text: str) -> str:
    """The text of a file as its author wrote it."""
    known = (found for written_in in written if (found := written_in(file, text)) is not None)
    return next(known, text)


def user_frame(depth: int = 1) -> tuple[Any, int]:
    """Code object and instruction of the innermost frame that is not the library's; (None, -1) if there is none."""
    frame = sys._getframe(depth)
    while is_library[frame.f_code.co_filename]:
        above = frame.f_back
        if above is None:
            return None, -1
        frame = above
    return frame.f_code, frame.f_lasti


def user_line() -> SourceRange | None:
    """Where the user's program is right now."""
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


def where_text(place: SourceRange | None) -> str:
    """`` at file.py:12 (in f)``, or nothing where the place is not known."""
    if place is None:
        return ""
    return f" at {title_of(place.file) or place.file}:{place.line} (in {place.function})"


starting.where = lambda: where_text(user_line())
starting.title = lambda file: title_of(file) or file
