"""The changes that loading the extension makes to a shell, and their removal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from xlascope.inspect import register_renderer
from xlascope.ir import sources
from xlascope_jax import install

from .magics import magics
from .pictures import renderer
from .scope import Scope
from .titles import titles_of
from .tracebacks import Tracebacks
from .written import written_in

# Frames of a magic lie between the user's cell and the inspected call; they are never the user's line.
sources.is_library.update((str(file), True) for file in Path(__file__).parent.glob("*.py"))


class Extension:
    """The extension in one shell; :meth:`unload` undoes all of its changes."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._scope = Scope(shell)
        self._renderer = register_renderer(renderer(shell))
        self._replaced = _register(shell, magics(shell, self._scope))
        self._title_of = titles_of(shell)
        sources.titles.append(self._title_of)
        self._as_written = written_in(shell)
        sources.written.append(self._as_written)
        self._tracebacks = Tracebacks(shell)
        self._leave_jax = install()
        self._scope.on()

    def unload(self) -> None:
        """Undo every change to the shell."""
        self._scope.off()
        self._leave_jax()
        self._tracebacks.unload()
        _restore(self._shell, self._replaced)
        register_renderer(self._renderer)
        sources.titles.remove(self._title_of)
        sources.written.remove(self._as_written)


Magic = Callable[..., Any]
Table = dict[str, dict[str, Magic]]


def _register(shell: InteractiveShell, table: Table) -> dict[tuple[str, str], Magic | None]:
    """Register magics by kind and name, and return the previous magics of the same names."""
    replaced: dict[tuple[str, str], Magic | None] = {}
    for kind, functions in table.items():
        for name, function in functions.items():
            replaced[kind, name] = shell.magics_manager.magics[kind].get(name)
            register: Callable[..., Any] = shell.register_magic_function
            register(function, kind, name)
    return replaced


def _restore(shell: InteractiveShell, replaced: dict[tuple[str, str], Magic | None]) -> None:
    for (kind, name), before in replaced.items():
        if before is None:
            shell.magics_manager.magics[kind].pop(name, None)
        else:
            shell.magics_manager.magics[kind][name] = before
