"""Forgetting what was traced and compiled."""

from __future__ import annotations

from ..xla import dispatch
from . import bodies, jit


def clear_all() -> None:
    """Forget the traces of all functions, with what was derived from them and compiled, and the single operations."""
    for by_options in list(jit._traces.values()):
        for traces in by_options.values():
            traces.clear()  # in place: jitted functions hold them
    bodies._bodies.clear()
    dispatch.clear()
