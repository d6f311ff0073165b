"""``%%px``, watched: a cell runs in all processes, and one strip shows what they did."""

from __future__ import annotations

import secrets
import sys
import time
from contextlib import nullcontext
from typing import Any

from ipyparallel import error
from ipyparallel.client.magics import ParallelMagics
from IPython.core.interactiveshell import InteractiveShell

from xlascope.errors import PeerLostError
from xlascope.records import Record
from xlascope.xla.processes.key_value_store import format_processes
from xlascope_ipython import find_scope

from ..cell import WatchedCell
from ..cell_titles import cell_number
from .joined_cell import JoinedCell
from .messages import JSON, RECORDS_TYPE, decode_records
from .requests import MAX_LATE_SECONDS, EngineMessage, EngineRequest
from .session import START_AGAIN, Cluster

_POLL_SECONDS = 0.1
#: When some processes have ended a cell by an error for so long, those that have not are said to wait.
MAX_SILENT_SECONDS = 5.0
#: When a process has said that the job has failed, the others have this long to end the cell.
MAX_LOST_SECONDS = 15.0
#: Interrupted processes have this long to end the cell, and as long again after a second signal.
MAX_INTERRUPT_SECONDS = 6.0


class WatchedParallelMagics(ParallelMagics):  # type: ignore[misc]
    """Magics of ipyparallel (``%px``, ``%%px``, ``%autopx``) for a cluster whose cells are watched."""

    def __init__(self, shell: InteractiveShell, cluster: Cluster) -> None:
        view = cluster.client.direct_view("all")
        view.block = True
        super().__init__(shell, view)
        self._cluster = cluster

    def parallel_execute(
        self,
        cell: str,
        block: bool | None = None,
        groupby: str = "type",
        save_name: str | None = None,
        stream_output: bool | None = None,
        progress_after: float | None = None,
        signal_on_interrupt: str | int | None = None,
    ) -> Any:
        """Run a cell in the processes, and show its records; the arguments are those of ``%%px``."""
        self._cluster.require_healthy()
        self._cluster.require_free()
        block = self.view.block if block is None else block
        streams = self.stream_output if stream_output is None else stream_output
        signal = self.signal_on_interrupt if signal_on_interrupt is None else signal_on_interrupt
        _, engines = self.view.client._build_targets(self.view.targets)
        run = PxRun(self._cluster, self.shell, cell, engines, is_watched=block)
        result = self.last_result = run.request.result
        if save_name:
            self.shell.user_ns[save_name] = result
        if not block:
            return result
        try:
            with result.stream_output() if streams else nullcontext():
                try:
                    run.wait(signal)
                finally:
                    run.finish()
        finally:
            if not streams:
                result.display_outputs(groupby)
        run.raise_errors(streams)
        return None


class PxRun:
    """Run of a cell in the processes of a cluster, from its request to its end."""

    def __init__(
        self, cluster: Cluster, shell: InteractiveShell, code: str, engines: list[int], *, is_watched: bool
    ) -> None:
        self._cluster = cluster
        scope = find_scope(shell)
        self._cell: WatchedCell | None = scope.cell if scope is not None and is_watched else None
        self._processes = {item.engine: item.process for item in cluster.processes}
        metadata: JSON = {
            "run": secrets.token_hex(8),
            "cell": cell_number(shell),
            "processes": [self._processes[engine] for engine in engines],
            "watch": self._cell is not None,
        }
        self.request = EngineRequest(cluster.client, engines, code, metadata)
        self._joined = JoinedCell([self._processes[engine] for engine in engines], self._emit)
        self._waiting_since: float | None = None
        self._interrupted = self._has_warned = False

    def _emit(self, record: Record) -> None:
        if self._cell is not None:
            self._cell.receive_from_process(record)

    def wait(self, signal: str | int | None) -> None:
        """Wait until all processes have ended the cell; an interrupt sends them ``signal``, None lets them run."""
        while self.request.running_engines:
            try:
                self._step()
            except KeyboardInterrupt:
                if signal is None or self._interrupted:
                    raise
                self._interrupt(signal)

    def _step(self) -> None:
        message = self.request.next_message(_POLL_SECONDS)
        if message is not None:
            self._receive(message)
        self._warn_of_waits()

    def _receive(self, message: EngineMessage) -> None:
        if message.kind == RECORDS_TYPE and self._cell is not None:
            process = self._processes[message.engine]
            self._joined.receive(process, message.content, decode_records(message.data))

    def _warn_of_waits(self) -> None:
        """Say once that processes still run the cell while others have ended it by an error.

        Raises PeerLostError when a process has said a while ago that the job has failed.
        """
        failed = [engine for engine in self.request.engines if self.request.error_of(engine) is not None]
        if not failed or self._interrupted:
            return
        if self._waiting_since is None:
            self._waiting_since = time.monotonic()
        passed = time.monotonic() - self._waiting_since
        lost = next((error for engine in failed if (error := self._loss(engine))), "")
        if lost and passed > MAX_LOST_SECONDS and self.request.running_engines:
            self._cluster.stuck_request = self.request
            raise PeerLostError(f"{lost}\n{self._name(self.request.running_engines)} gives no answer. {START_AGAIN}")
        if not lost and passed > MAX_SILENT_SECONDS and not self._has_warned:
            self._has_warned = True
            print(self._explain_wait(failed), file=sys.stderr)

    def _loss(self, engine: int) -> str:
        """Return the message by which an engine says that the job has failed, "" if it does not."""
        error = self.request.error_of(engine)
        is_loss = getattr(error, "ename", "") in ("PeerLostError", "CoordinatorLostError")
        return str(getattr(error, "evalue", "")).split("\n")[0] if is_loss else ""

    def _explain_wait(self, failed: list[int]) -> str:
        errors = {getattr(self.request.error_of(engine), "ename", "an error") for engine in failed}
        running = self._name(self.request.running_engines)
        return (
            f"xlascope: {self._name(failed)} ended this cell by {' and '.join(sorted(errors))}; {running} still "
            f"run{'s' if len(self.request.running_engines) == 1 else ''} it.\nWhat waits there for the others, in a "
            "collective, waits for ever. Interrupt this cell; if a process does not end it then, "
            "xs.cluster.restart() starts all processes again."
        )

    def _name(self, engines: list[int]) -> str:
        return format_processes([self._processes[engine] for engine in engines])

    def _interrupt(self, signal: str | int) -> None:
        """Send a signal to the processes that still run the cell, a second one to those that do not stop."""
        self._interrupted = True
        for attempt in ("interrupting", "interrupting again"):
            engines = self.request.running_engines
            if not engines:
                return
            print(f"xlascope: {attempt} {self._name(engines)}", file=sys.stderr)
            self._cluster.client.send_signal(signal, targets=engines, block=False)
            deadline = time.monotonic() + MAX_INTERRUPT_SECONDS
            while self.request.running_engines and time.monotonic() < deadline:
                self._step()
        if self.request.running_engines:
            self._cluster.stuck_request = self.request
            self._cluster.require_free()

    def finish(self) -> None:
        """Receive what engines sent last, and show it."""
        if not self.request.running_engines:
            self.request.result.wait_for_output(MAX_LATE_SECONDS)
        if self._cell is None:
            return
        deadline = time.monotonic() + MAX_LATE_SECONDS
        living = set(self._cluster.client.ids) - set(self.request.running_engines)
        while any(
            self._joined.cells[self._processes[engine]].ended is None for engine in living & {*self.request.engines}
        ):
            message = self.request.next_message(_POLL_SECONDS)
            if message is not None:
                self._receive(message)
            if time.monotonic() > deadline:
                break
        self._joined.finish()

    def raise_errors(self, is_displayed: bool) -> None:
        """Raise the error of a process that has ended, or ipyparallel's error of all that failed."""
        ended = [item for item in self._cluster.find_ended() if item.engine in self.request.engines]
        if ended:
            raise PeerLostError(self._cluster.describe_ended(ended))
        try:
            self.request.result.get(0)
        except error.CompositeError as composite:
            if is_displayed and self.request.result.wait_for_output(1):
                raise error.AlreadyDisplayedError(composite) from None
            raise
