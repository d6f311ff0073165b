"""Plugins that watch other engines: entry points of the group ``xlascope.watchers``.

An entry point is a function without arguments that starts watching and returns a function that undoes it. It
is called before the script begins and must import nothing that the script has not: the bridge to jax waits
for ``import jax``. xlascope's own engine needs none: it publishes its records to all subscribers.
"""

from __future__ import annotations

from collections.abc import Callable

from ..entry_points import find_entry_points
from ..inspect.producers import GROUP

Undo = Callable[[], object]


def install_watchers() -> tuple[list[Undo], list[str]]:
    """Start all installed watchers; return the functions that stop them, and a message for each that failed."""
    undo: list[Undo] = []
    complaints = []
    for entry_point in sorted(find_entry_points(GROUP), key=lambda candidate: candidate.name):
        try:
            undo.append(entry_point.load()())
        except Exception as error:  # importing a plugin can raise anything
            complaints.append(f"programs of {entry_point.name} are not watched ({type(error).__name__}: {error})")
    return undo, complaints
