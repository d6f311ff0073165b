"""Forgetting what was traced and compiled."""

from __future__ import annotations

from ...xla import dispatch
from ..programs import bodies
from . import jitted as jit


def clear_all() -> None:
    """Forget the traces of all functions, with what was derived from them and compiled, and the single operations."""
    jit.clear_traces()
    bodies._bodies.clear()
    dispatch.clear()
