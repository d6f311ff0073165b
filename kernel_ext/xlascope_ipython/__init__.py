"""Notebook integration of xlascope: magics, cell hooks and the live session behind ``%load_ext xlascope``."""

from __future__ import annotations

from collections.abc import Callable

from IPython.core.interactiveshell import InteractiveShell

from .extension import Extension
from .scope import Scope

__all__ = ["find_scope", "load_ipython_extension", "load_on_engine", "unload_ipython_extension"]

_loaded: dict[int, Extension] = {}
_LOADED_MESSAGE = (
    "xlascope shows under each cell what it traces, compiles and runs. "
    "%xlascope: what can be asked; %unload_ext xlascope: turn it off"
)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics, watch the cells of this shell and print a line that says so.

    Loading twice has no further effect.
    """
    if id(shell) not in _loaded:
        _loaded[id(shell)] = Extension(shell)
        print(_LOADED_MESSAGE)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Restore the shell and the engine to their state before loading."""
    extension = _loaded.pop(id(shell), None)
    if extension is not None:
        extension.unload()


def load_on_engine(shell: InteractiveShell, make_scope: Callable[[InteractiveShell], Scope]) -> None:
    """Load the extension into an engine's shell, whose cells the scope of ``make_scope(shell)`` watches.

    Loading twice has no further effect.
    """
    if id(shell) not in _loaded:
        _loaded[id(shell)] = Extension(shell, make_scope)


def find_scope(shell: InteractiveShell) -> Scope | None:
    """Return the watcher of a shell's cells, None if the extension is not loaded there."""
    extension = _loaded.get(id(shell))
    return None if extension is None else extension.scope
