"""Watching of the cells that an engine runs: what the watcher of a kernel records goes to the notebook."""

from __future__ import annotations

import logging
import time
from typing import Any

from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

from xlascope.inspect.running.shared_calls import SharedCallRecorder
from xlascope.records import Record, ScriptRun, SharedCalls
from xlascope.xla.processes.coordinated_interrupt import InterruptCoordinator, coordinate_interrupts
from xlascope.xla.processes.job import current_membership
from xlascope_ipython import load_on_engine

from ..cell import WatchedCell
from ..cell_titles import cell_number
from ..scope import Scope
from .messages import JSON, METADATA_KEY, RECORDS_TYPE
from .record_sender import RecordSender

_log = logging.getLogger(__name__)


class EngineScope(Scope):
    """Watcher of an engine's cells: it sends their records to the notebook that asks for it, and shows nothing.

    A cell has the number of the notebook's cell that sent it, so that titles and tracebacks name that one.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._sender: RecordSender | None = None
        self._began = 0.0
        self._shared_calls = SharedCallRecorder()
        self._number: int | None = None
        self._coordinator: InterruptCoordinator | None = None
        self._name_cells_as_the_notebook()

    def _name_cells_as_the_notebook(self) -> None:
        """Let titles of cells and tracebacks have the number of the notebook's cell."""
        compiler = self._shell.compile
        compiler._filename_map.clear()
        cache = compiler.cache

        def cache_with_number(transformed_code: str, number: int = 0, raw_code: str | None = None) -> str:
            name = cache(transformed_code, number if self._number is None else self._number, raw_code)
            compiler._filename_map[name] = compiler._filename_map.pop(name)  # the latest is the last
            return name

        compiler.cache = cache_with_number  # type: ignore[method-assign]

    def _make_cell(self, info: ExecutionInfo) -> WatchedCell | None:
        kernel: Any = getattr(self._shell, "kernel", None)
        parent = kernel.get_parent("shell")
        request = parent.get("metadata", {}).get(METADATA_KEY)
        if not isinstance(request, dict):
            return None  # a request of another client
        self._number = request.get("cell")
        membership = current_membership()
        if membership is not None:
            self._coordinator = coordinate_interrupts(membership)
            self._coordinator.begin_run(str(request["run"]), request["processes"])
        if not request.get("watch"):
            return None

        def send(content: JSON, data: bytes) -> None:
            ident = kernel._topic(RECORDS_TYPE)
            kernel.session.send(
                kernel.iopub_socket, RECORDS_TYPE, content=content, parent=parent, ident=ident, buffers=[data]
            )

        is_first = membership is None or membership.process_id == min(request["processes"])
        self._sender, self._began = RecordSender(send, self._report_calls, sends_hlo=is_first), time.time()
        self._shared_calls = SharedCallRecorder()
        self._shared_calls.start()
        self._shared_calls.introduce(self._record_cache.programs())
        return WatchedCell(self._shell, self._record_cache, self._sender, opened=False)

    def _finish_cell(self, result: ExecutionResult | None) -> None:
        coordinator, self._coordinator = self._coordinator, None
        if coordinator is not None:
            coordinator.end_run()
        super()._finish_cell(result)
        sender, self._sender = self._sender, None
        if sender is not None:
            error = (result.error_before_exec or result.error_in_exec) if result is not None else None
            name = "" if error is None else type(error).__name__
            self._send_process(sender, name)
            sender.end({"error": name})

    def _send_process(self, sender: RecordSender, error: str) -> None:
        """Send what is known of this process as a whole: its share in the cell, and its calls of shared programs."""
        seconds = time.time() - self._began
        try:
            self._shared_calls.stop()
            for record in self._report_calls():
                sender.receive(record)
        except Exception:
            _log.exception("calls that processes share are not known")
        title = f"In[{cell_number(self._shell)}]"
        making = sender.build_seconds
        sender.receive(
            ScriptRun(None, title, self._began, seconds, (), "", error or "ended", making, (), process=self._rank)
        )

    def _report_calls(self) -> list[Record]:
        """Return the records of this process and of its calls of shared programs so far."""
        records = self._shared_calls.build_records(f"In[{cell_number(self._shell)}]")
        return [record for record in records if not isinstance(record, SharedCalls) or record.calls]

    @property
    def _rank(self) -> str:
        membership = current_membership()
        return "" if membership is None else f"{membership.process_id} of {membership.num_processes}"


def watch_engine(shell: Any) -> None:
    """Watch the cells of an engine from now on; calling it again has no further effect."""
    load_on_engine(shell, EngineScope)
