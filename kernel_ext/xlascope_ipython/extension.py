"""What loading the extension adds to a shell, and takes away again."""

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

# A magic stands between the user's cell and the call that it asks about: it is not the user's line.
sources.is_library.update((str(file), True) for file in Path(__file__).parent.glob("*.py"))


class Extension:
    """The extension in one shell: everything that it has changed, to be undone by :meth:`unload`."""

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
        """Undo all of it."""
        self._scope.off()
        self._leave_jax()
        self._tracebacks.unload()
        _restore(self._shell, self._replaced)
        register_renderer(self._renderer)
        sources.titles.remove(self._title_of)
        sources.written.remove(self._as_written)


Magic = Callable[..., Any]
Table = dict[str, dict[str, Magic]]


def _register(shell: InteractiveShell, made: Table) -> dict[tuple[str, str], Magic | None]:
    """Register magics by kind and name; returns those of the same names that were there before."""
    replaced: dict[tuple[str, str], Magic | None] = {}
    for kind, functions in made.items():
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
