"""Forgetting what was traced and compiled."""

from __future__ import annotations

from ...xla.running import eager
from ..programs.bodies import forget_bodies
from .traces import clear_traces


def clear_all() -> None:
    """Forget the traces of all functions, with what was derived from them and compiled, and the single operations."""
    clear_traces()
    forget_bodies()
    eager.clear()
