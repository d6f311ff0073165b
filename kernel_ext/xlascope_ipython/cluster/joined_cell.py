"""Records of a cell that several processes run, joined for one strip."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from xlascope.analysis.job.join import join_processes
from xlascope.analysis.job.process_records import ProcessRecords
from xlascope.records import (
    Compiled,
    Executed,
    Failure,
    JobProcess,
    JobReport,
    Record,
    ScriptRun,
    SharedCalls,
    SharedProgram,
    TimeAccount,
    Traced,
)
from xlascope.records.subscriptions import next_program
from xlascope.xla.processes.key_value_store import format_processes

from .joined_lanes import join_runs, name_devices, name_own_devices
from .messages import JSON, replacement_key

#: The minimum time between two joins while a cell runs.
JOIN_INTERVAL_SECONDS = 2.0
_log = logging.getLogger(__name__)
#: Records that are joined.
_SHOWN = Compiled | Executed | Failure | Traced
_OF_WHOLE_PROCESSES = Failure | JobProcess | ScriptRun | SharedCalls


@dataclass
class ProcessCell:
    """Records that one process has sent of a cell by :func:`replacement_key`; ``ended`` is None while it runs there."""

    process: int
    latest: dict[object, Record] = field(default_factory=dict)
    messages: int = 0
    ended: JSON | None = None
    numbers: dict[int, int] = field(default_factory=dict)

    @property
    def records(self) -> list[Record]:
        """Return the records; of those that replace earlier ones the latest."""
        return list(self.latest.values())

    def find_run(self, program: int) -> Executed | None:
        """Return the latest measurement of a program."""
        record = self.latest.get((Executed, program))
        return record if isinstance(record, Executed) else None

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
        #: The shared programs of the latest report.
        self._programs: tuple[SharedProgram, ...] = ()
        self._next_join = time.monotonic() + JOIN_INTERVAL_SECONDS

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
                    self._pass_on(record, cell)
            if time.monotonic() > self._next_join:
                self._emit_report()

    def _pass_on(self, record: Record, cell: ProcessCell) -> None:
        """Pass on a record of the first process; runs on devices of several processes wait for the end."""
        if isinstance(record, Compiled):
            record = name_devices(record)
        if isinstance(record, Executed):
            compiled = self._find_compiled(cell, record.program)
            record = record if compiled is None else self._join_run(record, compiled)
        self._emit(_renumber(record, cell))

    def _join_run(self, record: Executed, compiled: Compiled) -> Executed:
        """Return a run of the first process with the devices of all processes, as far as that is known."""
        program = next((item for item in self._programs if item.programs[0] == record.program), None)
        if program is None:
            return name_own_devices(record, compiled)
        runs = {
            process: run
            for process, number in zip(program.processes, program.programs, strict=True)
            if number is not None and (run := self.cells[process].find_run(number)) is not None
        }
        is_known = len(runs) == len(program.processes) and self._first in runs
        joined = join_runs(runs | {self._first: record}, compiled, program, self._first) if is_known else None
        return name_own_devices(record, compiled) if joined is None else joined

    def _find_compiled(self, cell: ProcessCell, program: int | None) -> Compiled | None:
        """Return the latest compilation of a program for devices that are here."""
        records = (item for item in cell.records if isinstance(item, Compiled) and item.program == program)
        return next((item for item in reversed([*records]) if not item.target), None)

    def finish(self) -> None:
        """Pass on what only some of the processes have, programs and failures, and what joins them."""
        if not any(isinstance(record, _SHOWN) for cell in self.cells.values() for record in cell.records):
            return
        first = self.cells[self._first].traces
        for cell in self.cells.values():
            if cell.process != self._first:
                self._emit_programs_apart(cell, first)
                first |= cell.traces
        for failure in self._joined_failures():
            self._emit(failure)
        self._emit_report()

    def _emit_report(self) -> None:
        """Join what the processes have told so far, and pass it on: the report, and runs with all devices."""
        self._next_join = time.monotonic() + JOIN_INTERVAL_SECONDS
        report = self.join()
        if report is None:
            return
        cell = self.cells[self._first]
        self._programs = tuple(item for item in report.programs if item.processes[0] == self._first)
        for program in self._programs:
            run = None if program.programs[0] is None else cell.find_run(program.programs[0])
            if run is not None:
                self._pass_on(run, cell)
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
            return self._with_titles(join_processes(processes)) if len(processes) > 1 else None
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

    def _with_titles(self, report: JobReport) -> JobReport:
        """Return a report whose lines are in cells by their titles instead of files."""
        sources = [
            text
            for cell in self.cells.values()
            for item in cell.records
            if isinstance(item, Traced)
            for text in item.sources
        ]
        titles = {text.file: text.title for text in sources if text.title}
        programs = tuple(
            dataclasses.replace(item, collectives=tuple(_retitle(entry, titles) for entry in item.collectives))
            for item in report.programs
        )
        differences = tuple(_retitle(entry, titles) for entry in report.differences)
        return dataclasses.replace(report, programs=programs, differences=differences)


def _retitle(entry: Any, titles: Mapping[str, str]) -> Any:
    """Return a record whose source is in a cell by its title."""
    if entry.source is None or entry.source.file not in titles:
        return entry
    source = dataclasses.replace(entry.source, file=titles[entry.source.file])
    return dataclasses.replace(entry, source=source)


def _renumber(record: Any, cell: ProcessCell) -> Any:
    """Return a record with a number of this process for its program."""
    if record.program is None:
        return record
    number = cell.numbers.setdefault(record.program, 0) or next_program()
    cell.numbers[record.program] = number
    if isinstance(record, TimeAccount):
        return record
    return dataclasses.replace(record, program=number)
