"""The cell hooks: watching starts before a cell runs and ends after it, even if the cell fails."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

from xlascope import inspect
from xlascope.analysis.cell_runs import CellHistory
from xlascope.inspect.recompile_log import RecompileWatch
from xlascope.records import Record, TimeAccount, Traced
from xlascope_widgets.library import library

from .cell import WatchedCell
from .idle_work import IdleWork
from .record_cache import RecordCache
from .views import PinnedPanel, Strip, SummaryLine, has_widgets

_log = logging.getLogger(__name__)


class Scope:
    """Watcher of a shell's cells: shows a strip, a pinned panel or a line of text for each cell.

    While it is off there is no hook, no subscription and no thread. ``opened`` says whether panels are open.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self.opened = False
        #: The account of the time of the last watched cell.
        self.time_account: TimeAccount | None = None
        self._shell = shell
        self._record_cache = RecordCache()
        self._idle_work = IdleWork()
        self._cell: WatchedCell | None = None
        self._depth = 0
        self._strips: dict[str, Strip] = {}
        #: The runs of each cell by its identifier, and those of the running cell.
        self._histories: dict[str, CellHistory] = {}
        self._history = CellHistory()
        #: The strips of the latest two cells, also where cells have no identifiers.
        self._recent: tuple[Strip, ...] = ()
        self._pinned: PinnedPanel | None = None
        self._on = False
        self._unsubscribe_page: list[Callable[[], None]] = []
        self._recompiles: RecompileWatch | None = None

    @property
    def is_on(self) -> bool:
        """Return whether cells are watched."""
        return self._on

    @property
    def cell(self) -> WatchedCell | None:
        """Return the cell that is being watched, None between cells."""
        return self._cell

    def known_records(self, traced: Traced) -> tuple[Record, ...]:
        """Return what the cells have recorded of a traced program: its trace, compilations and latest run."""
        records = self._record_cache.records_of(traced.program) or (traced,)
        for view in (*self._recent, *reversed(self._strips.values())):
            for run in view.runs.values():
                if run.executed is not None and run.traced is not None and run.traced.program == traced.program:
                    return (*records, run.executed)
        return records

    def on(self, *, opened: bool = False) -> None:
        """Watch each cell from the next one on, showing below it one line, or the panel if ``opened``."""
        self.opened = opened
        self._unpin()
        if not self._on:
            self._on = True
            if has_widgets(self._shell):
                self._unsubscribe_page = [
                    library().when_mounted(self._refresh),
                    library().when_asked_to_pin(self._pin_strip),
                ]
            self._recompiles = inspect.watch_recompiles()
            for name, hook in self._hooks():
                self._shell.events.register(name, hook)

    def watch_running_cell(self) -> None:
        """Watch the rest of the running cell too, whose start the hooks have missed; do nothing between cells."""
        running = getattr(self._shell.displayhook, "exec_result", None)
        if self._on and self._cell is None and running is not None and not running.info.silent:
            self._on_pre_run_cell(running.info)

    def pin(self) -> None:
        """Show one panel that follows the cells that run from now on, which show no panels of their own.

        It stands beside the notebook where the page can dock it, otherwise below the running cell. A terminal cannot
        show a panel; it prints the full text after each cell instead. A panel that is docked already stays as it is.
        """
        if self._pinned is not None and self._pinned.is_docked:
            self._pinned.pin()
            return
        self.on(opened=True)
        if has_widgets(self._shell):
            self._pinned = PinnedPanel(self._shell, self._idle_work)
            self._pinned.begin(self._history)
            self._pinned.pin()
            if self._cell is not None:
                self._cell.show_in(self._pinned)

    def _pin_strip(self, uid: str) -> None:
        """Dock a panel that shows what the strip with this uid shows, and follows the cells; "" ends that."""
        if not uid:
            self.on()
            return
        strip = next((strip for strip in (*self._recent, *self._strips.values()) if strip.uid == uid), None)
        if strip is None or not library().docks:
            return
        self.on(opened=True)
        self._pinned = PinnedPanel(self._shell, self._idle_work)
        strip.mirror_in(self._pinned)
        self._pinned.dock()

    def _unpin(self) -> None:
        if self._pinned is not None:
            self._pinned.close()
            self._pinned = None

    def off(self) -> None:
        """Stop watching, including the running cell."""
        self._unpin()
        if self._on:
            self._on = False
            for unsubscribe in self._unsubscribe_page:
                unsubscribe()
            self._unsubscribe_page = []
            if self._recompiles is not None:
                self._recompiles.close()
            for name, hook in self._hooks():
                self._shell.events.unregister(name, hook)
            self._finish_cell(None)
            self._idle_work.flush()

    def _hooks(self) -> tuple[tuple[str, Callable[..., Any]], ...]:
        return ("pre_run_cell", self._on_pre_run_cell), ("post_run_cell", self._on_post_run_cell)

    def _on_pre_run_cell(self, info: ExecutionInfo) -> None:
        self._depth += 1
        if self._depth > 1:  # a magic runs a cell within the cell
            return
        self._idle_work.begin_cell()
        try:
            self._cell = self._make_cell(info)
            if self._cell is not None:
                self._cell.start()
        except Exception:
            _log.exception("xlascope cannot watch this cell")

    def _make_cell(self, info: ExecutionInfo) -> WatchedCell | None:
        """Return the watcher of a cell that is about to run, None if it is not watched."""
        return WatchedCell(self._shell, self._record_cache, self._new_view(info), self.opened)

    def _on_post_run_cell(self, result: ExecutionResult) -> None:
        if self._depth > 1:
            self._depth -= 1
            return
        self._finish_cell(result)

    def _finish_cell(self, result: ExecutionResult | None) -> None:
        cell, self._cell, self._depth = self._cell, None, 0
        self._idle_work.end_cell()
        try:
            if cell is not None:
                cell.finish(result)
                if not cell.is_question:
                    self.time_account = cell.time_account
        except Exception:
            _log.exception("xlascope cannot show this cell")

    def _new_view(self, info: ExecutionInfo) -> Strip | SummaryLine:
        """Return the view for a cell that is about to run: the pinned panel, or that of the cell's previous run."""
        if not has_widgets(self._shell):
            return SummaryLine()
        number = getattr(info, "cell_id", None)
        self._history = CellHistory() if number is None else self._histories.setdefault(number, CellHistory())
        view = (
            self._pinned
            or (self._strips.get(number) if number is not None else None)
            or Strip(self._shell, self._idle_work)
        )
        view.begin(self._history)
        if self._pinned is None:
            self._recent = (view, *(strip for strip in self._recent[:1] if strip is not view))
            if number is not None:
                self._strips[number] = view
        return view

    def _refresh(self) -> None:
        """Publish the strips again; called when a page reports that it can mount panels."""
        for view in (*list(self._strips.values()), self._pinned):
            if isinstance(view, Strip):
                view.refresh()
