"""Records of a cell that several processes run, joined for one strip."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from xlascope.analysis.job.join import join_processes
from xlascope.analysis.job.process_records import ProcessRecords
from xlascope.records import Failure, JobProcess, JobReport, Record, ScriptRun, SharedCalls, TimeAccount, Traced
from xlascope.records.subscriptions import next_program
from xlascope.xla.processes.key_value_store import format_processes

from .messages import JSON, replacement_key

_log = logging.getLogger(__name__)
#: Records that are joined.
_OF_WHOLE_PROCESSES = Failure | JobProcess | ScriptRun | SharedCalls


@dataclass
class ProcessCell:
    """What one process has sent of a cell: its records by :func:`replacement_key`, and how the cell ended there (None while it runs)."""

    process: int
    latest: dict[object, Record] = field(default_factory=dict)
    messages: int = 0
    ended: JSON | None = None
    numbers: dict[int, int] = field(default_factory=dict)

    @property
    def records(self) -> list[Record]:
        """Return the records; of those that replace earlier ones the latest."""
        return list(self.latest.values())

    @property
    def traces(self) -> set[tuple[str, str]]:
        """Return what identifies the programs that were traced or called: function and jaxpr."""
        return {(record.function, record.text) for record in self.records if isinstance(record, Traced)}


class JoinedCell:
    """Records of a cell that ``processes`` run, as those of one cell, which ``emit`` receives.

    The records of the first process are passed on as they come, programs that only others have when all have ended.
    Programs get numbers of this process.
    """

    def __init__(self, processes: list[int], emit: Callable[[Record], None]) -> None:
        self._emit = emit
        self.cells = {process: ProcessCell(process) for process in processes}
        self._first = min(processes)

    def receive(self, process: int, content: JSON, records: tuple[Record, ...]) -> None:
        """Add a message of a process."""
        cell = self.cells[process]
        cell.messages += 1
        cell.latest |= {replacement_key(record): record for record in records}
        if content.get("ended"):
            cell.ended = content
        if process == self._first:
            for record in records:
                if not isinstance(record, _OF_WHOLE_PROCESSES):
                    self._emit(_renumber(record, cell))

    def finish(self) -> None:
        """Pass on what only some of the processes have: programs, and failures."""
        first = self.cells[self._first].traces
        for cell in self.cells.values():
            if cell.process != self._first:
                self._emit_programs_apart(cell, first)
                first |= cell.traces
        for failure in self._joined_failures():
            self._emit(failure)
        report = self.join()
        if report is not None:
            self._emit(report)

    def join(self) -> JobReport | None:
        """Return the report that joins the processes, None where fewer than two have told what they did."""
        processes = []
        for cell in self.cells.values():
            try:
                processes.append(ProcessRecords.of(cell.records))
            except ValueError:
                _log.debug("process %d has not ended the cell", cell.process)
        try:
            return join_processes(processes) if len(processes) > 1 else None
        except ValueError:
            _log.exception("the records of the processes could not be joined")
            return None

    def _emit_programs_apart(self, cell: ProcessCell, shared: set[tuple[str, str]]) -> None:
        """Pass on the programs of a process that have none of these functions and jaxprs."""
        apart = {
            record.program: f"{record.function} (process {cell.process})"
            for record in cell.records
            if isinstance(record, Traced) and (record.function, record.text) not in shared
        }
        for record in cell.records:
            if record.program in apart and not isinstance(record, Failure):
                self._emit(dataclasses.replace(_renumber(record, cell), function=apart[record.program]))

    def _joined_failures(self) -> list[Failure]:
        """Return the failures of all processes, each once, with the processes in which it was raised."""
        by_error: dict[tuple[str, str], tuple[Failure, list[int]]] = {}
        for cell in self.cells.values():
            for record in cell.records:
                if isinstance(record, Failure):
                    _, where = by_error.setdefault((record.error, record.message), (record, []))
                    where.append(cell.process)
        return [
            dataclasses.replace(record, program=None, function=f"{record.function} in {format_processes(where)}")
            for record, where in by_error.values()
        ]


def _renumber(record: Any, cell: ProcessCell) -> Any:
    """Return a record with a number of this process for its program."""
    if record.program is None:
        return record
    number = cell.numbers.setdefault(record.program, 0) or next_program()
    cell.numbers[record.program] = number
    if isinstance(record, TimeAccount):
        return record
    return dataclasses.replace(record, program=number)
