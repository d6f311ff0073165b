"""Data for panes of a program. Each module of this package is loaded, so the encoder of a new pane is one file.

A pane's data is sent with the heavy state of a program: once, and again after each answer to a question about
it. In the browser `store.sentTo(id)` returns it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from ..program_store import ProgramState

JSON = dict[str, Any]
Wire = Callable[[ProgramState], JSON | None]

_encoders: dict[str, Wire] = {}


def sends(pane: str) -> Callable[[Wire], Wire]:
    """Return a decorator that registers a function as the encoder of a pane, by the pane's id in the browser.

    The function receives a program and returns JSON data, or None if there is nothing to show. Raises ValueError if
    another function is registered for this pane.
    """

    def register(encoder: Wire) -> Wire:
        if _encoders.setdefault(pane, encoder) is not encoder:
            raise ValueError(f"two functions send to the pane {pane!r}")
        return encoder

    return register


def encode_panes(program: ProgramState) -> JSON:
    """Return the data of all panes about a program, under the key that the browser expects."""
    sent = {pane: data for pane, encoder in _encoders.items() if (data := encoder(program)) is not None}
    return {"panes": sent} if sent else {}


def _load_all() -> None:
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")


_load_all()
