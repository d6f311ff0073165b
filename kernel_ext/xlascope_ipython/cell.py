"""One cell while it runs: it subscribes to records and shows a strip as soon as there is one."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Protocol

from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

from xlascope import records
from xlascope.inspect.quiet import inspecting
from xlascope.inspect.running.live import Sampler
from xlascope.records import Continued, Failure, Record, Started, Traced

from .memory import Memory
from .titles import cell_number, titled

_log = logging.getLogger(__name__)


class View(Protocol):
    """Where a cell's records are shown."""

    def show(self, opened: bool) -> None:
        """Appear; called once, on the thread that runs the cell."""

    def receive(self, record: Record) -> None:
        """Take in a record, from any thread."""

    def finish(self) -> None:
        """The cell has ended; called on the thread that runs it, after :meth:`show`."""


class Cell:
    """Watches one cell, from :meth:`start` to :meth:`finish`; shows nothing if nothing is traced, compiled or run."""

    def __init__(self, shell: InteractiveShell, memory: Memory, view: View, opened: bool) -> None:
        self.opened = opened
        self._shell = shell
        self._memory = memory
        self._view = view
        self._thread = threading.get_ident()
        self._shown = self._received = False
        self._introduced: set[int | None] = set()
        self._failed: set[str] = set()
        self._sampler = Sampler(first=self._called)
        self._subscription: records.Subscription | None = None

    def start(self) -> None:
        """Watch from now on."""
        self._subscription = records.watch(self._receive)
        self._sampler.start()

    def show_in(self, view: View) -> None:
        """Show the cell elsewhere than planned, if it does not show already."""
        if not self._shown:
            self._view = view

    def finish(self, result: ExecutionResult | None = None) -> None:
        """Watch no more; show the last state, and the cell's error when it raised one."""
        self._sampler.stop()
        if self._subscription is not None:
            self._subscription.close()
        if not self._received:
            return
        error = (result.error_before_exec or result.error_in_exec) if result is not None else None
        if error is not None and type(error).__name__ not in self._failed:
            self._view.receive(_failure(error, f"In[{cell_number(self._shell)}]"))
        self._show()
        self._view.finish()

    def _called(self, function: Any) -> None:
        """A jitted function is called for the first time in this cell, perhaps in C++ and without a record."""
        self._received = True
        self._show_if_here()

    def _receive(self, record: Record) -> None:
        record = self._memory.first(record)
        self._memory.keep(record)
        if inspecting() or (isinstance(record, Continued) and not self._received):
            return  # what an earlier cell left behind is no reason to show this one
        self._received = True
        self._show_if_here()
        if isinstance(record, Failure):
            self._failed.add(record.error)
        self._introduce(record)
        self._view.receive(titled(record, self._shell))

    def _introduce(self, record: Record) -> None:
        """Before the first record of a program that was made in an earlier cell: how it was made."""
        if record.program in self._introduced or isinstance(record, Traced):
            self._introduced.add(record.program)
        elif isinstance(record, Started) and record.program is not None:
            self._introduced.add(record.program)
            for known in self._memory.known(record):
                self._view.receive(known)

    def _show_if_here(self) -> None:
        # Only the thread that runs the cell may display: on others the output would go to another cell.
        if not self._shown and threading.get_ident() == self._thread:
            self._show()

    def _show(self) -> None:
        """Show the view, once. A failure is not tried again; an interrupt in the middle is made good at the end."""
        if self._shown:
            return
        try:
            self._view.show(self.opened)
        except Exception:
            _log.exception("xlascope cannot show this cell")
        self._shown = True


def _failure(error: BaseException, title: str) -> Failure:
    message = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
    return Failure(None, title, "run", time.time(), type(error).__name__, message)
