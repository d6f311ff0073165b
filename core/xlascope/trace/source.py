"""The user's line, for the layers from here on."""

from __future__ import annotations

from ..ir.atoms import Origin
from ..ir.sources import compose_message, user_frame, user_line, where_text

__all__ = ["compose_message", "here", "user_frame", "user_line", "where_text", "with_line"]


def here() -> str:
    """The user's line for the end of a sentence: `` at file.py:12 (in f)``, or nothing where it is not known."""
    return where_text(user_line())


def with_line(origin: Origin, depth: int = 1) -> Origin:
    """An origin that says only which scopes are open, with the user's line."""
    code, lasti = user_frame(depth)
    return origin._replace(code=code, lasti=lasti)
