"""The cell hooks: a watched cell begins before a cell runs and ends after it, whatever happens in between."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

from .cell import Cell
from .memory import Memory
from .pictures import Line, Strip, has_widgets

_log = logging.getLogger(__name__)


class Scope:
    """Watches the cells of a shell while it is on. Off, it costs nothing: no hook, no subscription, no thread."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.opened = False
        self._shell = shell
        self._memory = Memory()
        self._cell: Cell | None = None
        self._depth = 0
        self._strips: dict[str, Strip | Line] = {}
        self._on = False

    @property
    def is_on(self) -> bool:
        """Whether cells are watched."""
        return self._on

    @property
    def cell(self) -> Cell | None:
        """The cell that is watched now."""
        return self._cell

    def on(self) -> None:
        """Watch each cell from the next one on."""
        if not self._on:
            self._on = True
            for name, hook in self._hooks():
                self._shell.events.register(name, hook)

    def off(self) -> None:
        """Watch no more, the running cell included."""
        if self._on:
            self._on = False
            for name, hook in self._hooks():
                self._shell.events.unregister(name, hook)
            self._end(None)

    def _hooks(self) -> tuple[tuple[str, Callable[..., Any]], ...]:
        return ("pre_run_cell", self._before), ("post_run_cell", self._after)

    def _before(self, info: ExecutionInfo) -> None:
        self._depth += 1
        if self._depth > 1:  # a magic runs a cell within the cell
            return
        try:
            self._cell = Cell(self._shell, self._memory, self._new_view(info), self.opened)
            self._cell.start()
        except Exception:
            _log.exception("xlascope cannot watch this cell")

    def _after(self, result: ExecutionResult) -> None:
        if self._depth > 1:
            self._depth -= 1
            return
        self._end(result)

    def _end(self, result: ExecutionResult | None) -> None:
        cell, self._cell, self._depth = self._cell, None, 0
        try:
            if cell is not None:
                cell.finish(result)
        except Exception:
            _log.exception("xlascope cannot show this cell")

    def _new_view(self, info: ExecutionInfo) -> Strip | Line:
        if not has_widgets(self._shell):
            return Line()
        strip = Strip(self._shell)
        number = getattr(info, "cell_id", None)
        if number is not None:
            if number in self._strips:
                self._strips[number].close()
            self._strips[number] = strip
        return strip
