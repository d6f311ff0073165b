"""What panes are sent of a program. Each module of this package is loaded, so the wire form of a new pane is one file.

A pane's data crosses with the heavy half of a program, once, and again when something was asked about it. In the
browser `store.sentTo(id)` returns it.
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
    """Return a decorator that registers what a pane is sent, by the id that it has in the browser.

    The function gets a program and returns what JSON can hold, or None where there is nothing to show. Raises
    ValueError when another function sends to this pane.
    """

    def register(wire: Wire) -> Wire:
        if _wires.setdefault(pane, wire) is not wire:
            raise ValueError(f"two functions send to the pane {pane!r}")
        return wire

    return register


def panes(program: Program) -> JSON:
    """Return what is sent to panes about a program, under the key that the browser looks for."""
    sent = {pane: data for pane, wire in _wires.items() if (data := wire(program)) is not None}
    return {"panes": sent} if sent else {}


def _load_all() -> None:
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")


_load_all()
