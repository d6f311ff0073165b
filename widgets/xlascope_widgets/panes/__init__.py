"""Data for panes of a program. Each module of this package is loaded, so the encoder of a new pane is one file.

A pane's data is sent with the heavy state of a program: once, and again after each answer to a question about
it. In the browser `store.sentTo(id)` returns it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from ..ledger import Program

JSON = dict[str, Any]
Wire = Callable[[Program], JSON | None]

_wires: dict[str, Wire] = {}


def sends(pane: str) -> Callable[[Wire], Wire]:
    """Return a decorator that registers the encoder of a pane, by the pane's id in the browser.

    The function receives a program and returns JSON data, or None if there is nothing to show. Raises
    ValueError if another function is registered for this pane.
    """

    def register(encoder: Wire) -> Wire:
        if _wires.setdefault(pane, encoder) is not encoder:
            raise ValueError(f"two functions send to the pane {pane!r}")
        return encoder

    return register


def panes(program: Program) -> JSON:
    """Return the data of all panes about a program, under the key that the browser expects."""
    sent = {pane: data for pane, encoder in _wires.items() if (data := encoder(program)) is not None}
    return {"panes": sent} if sent else {}


def _load_all() -> None:
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")


_load_all()
