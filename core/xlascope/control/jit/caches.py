"""Clearing of all caches of traces and compiled programs."""

from __future__ import annotations

from ...xla.execution import eager
from ..programs.function_staging import forget_bodies
from .trace_cache import clear_traces


def clear_all() -> None:
    """Clear the traces of all functions, everything compiled from them, and the compiled single operations."""
    clear_traces()
    forget_bodies()
    eager.clear()
