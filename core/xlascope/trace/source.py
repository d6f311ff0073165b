"""The user's line: the first frame outside the library."""

from __future__ import annotations

import sys
from typing import Any

from ..ir.sources import is_library, locate
from ..records import SourceRange


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


def where_text(place: SourceRange | None) -> str:
    """`` at file.py:12 (in f)``, or nothing where the place is not known."""
    if place is None:
        return ""
    return f" at {place.file}:{place.line} (in {place.function})"
