"""User frames: the first frame outside the library, and source ranges of code objects and instructions."""

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

#: The folder of the library: the user's line is in the first frame outside it.
LIBRARY = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class _IsLibrary(Recent[str, bool]):
    def __missing__(self, filename: str) -> bool:
        return self.keep(filename, filename.startswith(LIBRARY))


#: Whether a file name belongs to the library, cached per name: each cell of a notebook has one.
is_library = _IsLibrary(4096)


#: Positions by id of the code object, which is kept alive so that its id stays unique. Hashing code objects is slow.
_known: RecentlyUsed[int, tuple[CodeType, list[Any]]] = RecentlyUsed(4096)


def _positions(code: CodeType) -> list[Any]:
    entry = _known.get(id(code))
    if entry is None:
        entry = _known[id(code)] = (code, list(code.co_positions()))
    return entry[1]


def locate(code: CodeType | None, lasti: int) -> SourceRange | None:
    """Return the source range of an instruction; None where it is not known."""
    if code is None:
        return None
    line, end_line, column, end_column = _positions(code)[lasti // 2]
    if line is None:
        return None
    return SourceRange(code.co_filename, line, column or 0, end_line or line, end_column or 0, code.co_qualname)


#: Functions that may return a better title for a file than its name: that of a notebook's cell.
titles: list[Callable[[str], str | None]] = []


def title_of(file: str) -> str | None:
    """Return the display name of a file, ``In[7]`` for a notebook's cell; None where no provider has one."""
    candidates = (title for title_for in titles if (title := title_for(file)))
    return next(candidates, None)


#: Functions that may return the text of a file as its author wrote it: IPython translates magics to Python.
written: list[Callable[[str, str], str | None]] = []


def as_written(file: str, text: str) -> str:
    """Return the text of a file as its author wrote it."""
    candidates = (restored for written_in in written if (restored := written_in(file, text)) is not None)
    return next(candidates, text)


def user_frame(depth: int = 1) -> tuple[Any, int]:
    """Return code object and instruction of the innermost frame outside the library; (None, -1) if there is none."""
    frame = sys._getframe(depth)
    while is_library[frame.f_code.co_filename]:
        above = frame.f_back
        if above is None:
            return None, -1
        frame = above
    return frame.f_code, frame.f_lasti


def user_line() -> SourceRange | None:
    """Return the source range that the user's program is executing."""
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
    """Return `` at file.py:12 (in f)``, "" for None."""
    if location is None:
        return ""
    return f" at {title_of(location.file) or location.file}:{location.line} (in {location.function})"


starting.where = lambda: where_text(user_line())
starting.title = lambda file: title_of(file) or file
