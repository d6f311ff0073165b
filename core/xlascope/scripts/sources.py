"""Whose programs are watched: what is installed for it is asked, as an entry point of the group ``xlascope.watchers``.

An entry point is a function without arguments that starts watching and returns what undoes that. It is called before
the script begins, and imports nothing that the script has not: the bridge to jax waits for ``import jax``. Our own
engine needs none: it tells its records to whoever listens.
"""

from __future__ import annotations

from collections.abc import Callable

from ..entry_points import find_entry_points
from ..inspect.producers import GROUP

Undo = Callable[[], object]


def install() -> tuple[list[Undo], list[str]]:
    """Start all that is installed; returns what undoes it, and a line for each that cannot be started."""
    undo: list[Undo] = []
    complaints = []
    for each in sorted(find_entry_points(GROUP), key=lambda found: found.name):
        try:
            undo.append(each.load()())
        except Exception as error:  # whatever its package does when it is imported
            complaints.append(f"programs of {each.name} are not watched ({type(error).__name__}: {error})")
    return undo, complaints
