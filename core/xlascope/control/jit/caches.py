"""Clearing of all caches of traces and compiled programs."""

from __future__ import annotations

from ...xla.running import eager
from ..programs.bodies import forget_bodies
from .traces import clear_traces


def clear_all() -> None:
    """Clear the traces of all functions, everything derived and compiled from them, and the single operations."""
    clear_traces()
    forget_bodies()
    eager.clear()
