"""A cell while it runs: it subscribes to records and shows a strip as soon as there is one."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

from xlascope import records
from xlascope.inspect.inspection_scope import inspecting
from xlascope.inspect.running.profile_sampler import Sampler
from xlascope.inspect.time_account.accountant import TimeAccountant
from xlascope.inspect.watch_values import publish_latest_histories
from xlascope.records import Continued, Executed, Failure, Record, Started, TimeAccount, Traced

from .cell_titles import cell_number, with_cell_title
from .last_call import last_call
from .record_cache import RecordCache
from .replay import LATEST
from .result_health import check_results

_log = logging.getLogger(__name__)


class View(Protocol):
    """Display for the records of one cell: a panel, or text."""

    def show(self, opened: bool, answerable: bool = True) -> None:
        """Display the view, ``opened`` or collapsed to one line; called once, on the thread that runs the cell.

        Of programs that are not ``answerable``, which run in other processes, no questions can be asked here.
        """

    def receive(self, record: Record) -> None:
        """Receive a record, from any thread."""

    def finish(self) -> None:
        """Show the final state; called when the cell has ended, on the thread that runs it, after :meth:`show`."""


class WatchedCell:
    """One run of a cell, watched from :meth:`start` to :meth:`finish`; if nothing is traced or run, nothing is shown.

    ``record_cache`` has the records of earlier cells, ``view`` displays those of this one. ``opened`` says whether
    the panel is open under the strip.
    """

    def __init__(self, shell: InteractiveShell, record_cache: RecordCache, view: View, opened: bool) -> None:
        self.opened = opened
        self._shell = shell
        self._record_cache = record_cache
        self._view = view
        self._thread = threading.get_ident()
        self._shown = self._received = self._has_ended = False
        self._introduced: set[int | None] = set()
        self._failed: set[str] = set()
        self._sampler = Sampler(first=self._note_call, holds_arguments=True, earlier=record_cache.profiles)
        self._subscription: records.Subscription | None = None
        self._accountant: TimeAccountant
        self._executed: dict[int, Executed] = {}
        #: The account of the cell's time, once it has ended.
        self.time_account: TimeAccount | None = None
        #: Whether the cell asks for an account, so that it has none that is asked for.
        self.is_question = False
        #: Whether other processes run the cell, for which this one waits.
        self.is_elsewhere = False

    def start(self) -> None:
        """Start watching."""
        self._accountant = TimeAccountant(self._sampler.read_calls, on_progress=self._show_progress)
        self._subscription = records.watch(self._receive)
        self._sampler.start()
        self._accountant.start()

    def receive_from_process(self, record: Record) -> None:
        """Show a record of another process that runs the cell; called on the thread that runs it here.

        The time of the thread here is of no interest then.
        """
        self.is_elsewhere = self._received = True
        self._show_on_cell_thread()
        if isinstance(record, Failure):
            self._failed.add(record.error)
        self._view.receive(record)

    def show_in(self, view: View) -> None:
        """Use another view, if nothing has been shown yet."""
        if not self._shown:
            self._view = view

    def finish(self, result: ExecutionResult | None = None) -> None:
        """Stop watching; show the final state, and the cell's error if it raised one; ``result`` is IPython's."""
        self._has_ended = True
        _publish_watched_values()
        self._accountant.stop()
        self._sampler.stop()
        if self._subscription is not None:
            self._subscription.close()
        self.time_account = self._build_account(self._accountant.build_record)
        if not self._received:
            return
        error = (result.error_before_exec or result.error_in_exec) if result is not None else None
        if error is not None and type(error).__name__ not in self._failed and not (self.is_elsewhere and self._failed):
            self._view.receive(_make_failure(error, f"In[{cell_number(self._shell)}]"))
        if error is None and result is not None and not self.is_question:
            self._report_unhealthy_results(result)
        if self.time_account is not None and not self.is_elsewhere:
            self._view.receive(self.time_account)
        self._show()
        self._view.finish()

    def _report_unhealthy_results(self, result: ExecutionResult) -> None:
        """Send a record to the view if a small result of the cell holds NaN or infinity."""
        info = getattr(result, "info", None)
        source = str(getattr(info, "transformed_cell", None) or getattr(info, "raw_cell", ""))
        health = check_results(source, self._shell.user_ns, result.result)
        if health is not None:
            LATEST.store(*self._sampler.take_calls(), last_call(self._shell))
            self._view.receive(health)

    def _show_progress(self) -> None:
        """Send the account of the cell so far to the view, on a thread of the accountant's."""
        account = self._build_account(self._accountant.build_snapshot) if self._shown else None
        if account is not None and not self._has_ended:
            self._view.receive(account)

    def _build_account(self, build: Callable[[str, Iterable[Executed]], TimeAccount | None]) -> TimeAccount | None:
        try:
            account = build(f"In[{cell_number(self._shell)}]", list(self._executed.values()))
        except Exception:
            _log.exception("xlascope has no account of this cell's time")
            return None
        if account is None:
            return None
        titled = with_cell_title(account, self._shell)
        assert isinstance(titled, TimeAccount)
        return titled

    def _note_call(self, function: Any) -> None:
        """Note the first call of a jitted function in this cell, which may run in C++ without a record."""
        self._received = True
        with self._accountant.own_work():
            self._show_on_cell_thread()

    def _receive(self, record: Record) -> None:
        """Cache a record, and pass it to the view unless it comes from an inspection; called on any thread."""
        with self._accountant.own_work():
            self._pass_on(record)

    def _pass_on(self, record: Record) -> None:
        record = self._record_cache.canonical_record(record)
        self._record_cache.add(record)
        if inspecting() or (isinstance(record, Continued) and not self._received):
            return  # work continued from an earlier cell is no reason to show this one
        self._received = True
        if isinstance(record, Executed):
            self._executed[record.program] = record
        self._show_on_cell_thread()
        if isinstance(record, Failure):
            self._failed.add(record.error)
        self._replay_earlier_records(record)
        self._view.receive(with_cell_title(record, self._shell))

    def _replay_earlier_records(self, record: Record) -> None:
        """Send the earlier records of a program traced in a previous cell before its first record in this one."""
        if record.program in self._introduced or isinstance(record, Traced):
            self._introduced.add(record.program)
        elif isinstance(record, Started) and record.program is not None:
            self._introduced.add(record.program)
            for earlier in self._record_cache.records_before(record):
                self._view.receive(earlier)

    def _show_on_cell_thread(self) -> None:
        # Only the thread that runs the cell may display: on others the output would go to another cell.
        if not self._shown and threading.get_ident() == self._thread:
            self._show()

    def _show(self) -> None:
        """Show the view once; a failed attempt is not repeated, an interrupted one is completed at the end."""
        if self._shown:
            return
        try:
            self._view.show(self.opened, answerable=not self.is_elsewhere)
        except Exception:
            _log.exception("xlascope cannot show this cell")
        self._shown = True


def _publish_watched_values() -> None:
    """Publish what the watched steps have shown until now."""
    try:
        publish_latest_histories()
    except Exception:
        _log.exception("xlascope cannot show the values that it watches")


def _make_failure(error: BaseException, title: str) -> Failure:
    message = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
    return Failure(None, title, "run", time.time(), type(error).__name__, message)
