"""The user's source line, for this layer and those above it."""

from __future__ import annotations

from ..ir.atoms import Origin
from ..ir.user_frames import compose_message, user_frame, user_line, where_text

__all__ = ["compose_message", "here", "user_frame", "user_line", "where_text", "with_line"]


def here() -> str:
    """Return the user's line as the end of a sentence, `` at file.py:12 (in f)``; "" where it is not known."""
    return where_text(user_line())


def with_line(origin: Origin, depth: int = 1) -> Origin:
    """Return an origin that has only scopes with the user's line added.

    ``depth`` is the number of stack frames to skip.
    """
    code, lasti = user_frame(depth)
    return origin._replace(code=code, lasti=lasti)
