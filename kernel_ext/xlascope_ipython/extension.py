"""The changes that loading the extension makes to a shell, and their removal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from xlascope.inspect import register_renderer
from xlascope.ir import user_frames
from xlascope_jax import install

from .cell_titles import make_title_lookup
from .magics import make_magics
from .original_source import make_original_source_lookup
from .scope import Scope
from .tracebacks import TracebackFilter
from .value_views import watch_value_calls
from .views import has_widgets, make_renderer

# Frames of a magic lie between the user's cell and the inspected call; they are never the user's line.
user_frames.is_library.update((str(file), True) for file in Path(__file__).parent.glob("*.py"))


class Extension:
    """Changes that loading the extension makes to one shell: magics, hooks, renderer, tracebacks, bridge to jax.

    They are made when the object is created; :meth:`unload` undoes them. ``make_scope(shell)`` returns the watcher of
    the shell's cells.
    """

    def __init__(self, shell: InteractiveShell, make_scope: Callable[[InteractiveShell], Scope] = Scope) -> None:
        self._shell = shell
        self._scope = make_scope(shell)
        self._renderer = register_renderer(make_renderer(shell))
        self._replaced = _register(shell, make_magics(shell, self._scope))
        self._title_of = make_title_lookup(shell)
        user_frames.title_providers.append(self._title_of)
        self._as_written = make_original_source_lookup(shell)
        user_frames.source_restorers.append(self._as_written)
        self._tracebacks = TracebackFilter(shell)
        self._leave_jax = install()
        self._end_value_calls = watch_value_calls() if has_widgets(shell) else lambda: None
        self._scope.on()
        self._scope.watch_running_cell()

    @property
    def scope(self) -> Scope:
        """Return the watcher of the shell's cells."""
        return self._scope

    def unload(self) -> None:
        """Undo every change to the shell."""
        self._scope.off()
        self._leave_jax()
        self._end_value_calls()
        self._tracebacks.unload()
        _restore(self._shell, self._replaced)
        register_renderer(self._renderer)
        user_frames.title_providers.remove(self._title_of)
        user_frames.source_restorers.remove(self._as_written)


Magic = Callable[..., Any]
Table = dict[str, dict[str, Magic]]


def _register(shell: InteractiveShell, table: Table) -> dict[tuple[str, str], Magic | None]:
    """Register magics by kind and name; return the previous magic of each, None where there was none.

    ``table`` has the functions by kind (``line``, ``cell``) and name.
    """
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
