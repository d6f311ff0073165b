"""A recorder of a script's programs with bounded memory: times of every program, details of the largest."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from ..records.events import Compiled, Executed, Failure, Lowered, Record, Started, Traced
from ..records.script import Share
from ..records.stages import Stages
from ..records.store import text_of
from .intervals import IntervalUnion
from .program_records import ProgramRecords

#: The maximum number of programs with individual times, and the maximum number and total characters of those with
#: details. Beyond it, programs that took the least time are evicted or reduced.
MAX_PROGRAMS, MAX_COMPLETE_PROGRAMS, MAX_COMPLETE_CHARS = 2_000, 200, 400_000_000
#: The maximum number and total characters of programs written with details.
MAX_STORED_PROGRAMS, MAX_STORED_CHARS = 40, 150_000_000
#: The maximum number of rows in the table, and of programs whose findings are stored.
MAX_SHARES, MAX_FINDING_PROGRAMS = 60, 150
#: The number of newest programs that are never evicted, because they have hardly run yet.
PROTECTED_PROGRAM_COUNT = 50
MAX_FAILURES = 20


class ScriptRecorder:
    """Recorder of a script's programs by number; safe to use from any thread and from signal handlers.

    Its memory is bounded: programs that took the least time lose their details first, and are then summed in one row.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._programs: dict[int, ProgramRecords] = {}
        self._evicted: set[int] = set()
        self._evicted_share = Share(None, "", 0, 0.0, 0.0, programs=0, kept=False)
        self._build_time = IntervalUnion()
        self._failures: list[Failure] = []
        self._texts: dict[int, tuple[Record, str]] = {}
        self._active: dict[int, Started] = {}

    def receive(self, record: Record) -> None:
        """Add a record of a program or a failure; records of evicted programs are ignored."""
        with self._lock:
            number = record.program
            if number is None:
                if isinstance(record, Failure) and len(self._failures) < MAX_FAILURES:
                    self._failures.append(record)
                return
            if isinstance(record, Started):
                self._active[threading.get_ident()] = record
                return
            self._active.pop(threading.get_ident(), None)
            if number in self._evicted:
                return
            program = self._programs.setdefault(number, ProgramRecords(number, record.function))
            if program.receive(record) and isinstance(record, Traced | Lowered | Compiled):
                self._build_time.add(record.time, record.seconds)
            if isinstance(record, Traced | Compiled):
                self._evict()

    def _evict(self) -> None:
        """Drop details and programs, those that took the least time, if there are more than the limits allow."""
        complete = [program for program in self._programs.values() if program.is_complete]
        if (
            len(complete) > MAX_COMPLETE_PROGRAMS
            or sum(program.char_count for program in complete) > MAX_COMPLETE_CHARS
        ):
            for program in _least_important(complete):
                program.drop_details()
        if len(self._programs) > MAX_PROGRAMS:
            for program in _least_important(
                [candidate for candidate in self._programs.values() if not candidate.has_findings]
            ):
                self._evicted.add(program.number)
                self._evicted_share = _add_to_share(self._evicted_share, self._programs.pop(program.number))

    # Results ----------------------------------------------------------------------------------------------------------

    @property
    def program_count(self) -> int:
        """Return the number of programs."""
        return len(self._programs) + len(self._evicted)

    @property
    def build_seconds(self) -> float:
        """Return the seconds during which anything was traced, lowered or compiled."""
        with self._lock:
            return self._build_time.seconds

    @property
    def error_names(self) -> frozenset[str]:
        """Return the names of the exceptions that have been recorded."""
        with self._lock:
            of_programs = (failure for program in self._programs.values() for failure in program.failures)
            return frozenset(item.error for item in (*of_programs, *self._failures))

    @property
    def active_stage(self) -> Started | None:
        """Return the stage that is running, of several the one that started last; None if none is."""
        with self._lock:
            return max(self._active.values(), key=lambda started: started.time, default=None)

    @property
    def main_program(self) -> ProgramRecords | None:
        """Return the program that took the most time, None without programs."""
        with self._lock:
            return max(self._programs.values(), key=lambda program: program.seconds, default=None)

    @property
    def devices(self) -> tuple[str, ...]:
        """Return the devices that programs were compiled for."""
        with self._lock:
            compiled = (
                record for program in self._programs.values() for record in program.stages.compilations.values()
            )
            return tuple(dict.fromkeys(device for record in compiled for device in record.devices))

    def executed_records(self) -> list[Executed]:
        """Return the measurements of all programs that ran."""
        with self._lock:
            runs = [program.stages.executed for program in self._programs.values()]
            return [run for run in runs if run is not None]

    def finding_records(self) -> list[Record]:
        """Return the records, without jaxprs and kernels, of programs that failed or were traced again."""
        with self._lock:
            return [
                record
                for program in self._programs.values()
                if program.has_findings
                for record in _iter_findings(program)
            ]

    def snapshot(self) -> tuple[tuple[Share, ...], list[str]]:
        """Return the rows of the table of programs, longest time first, and the JSON texts of records to write."""
        with self._lock:
            ranked = sorted(self._programs.values(), key=lambda program: program.seconds, reverse=True)
            stored, texts = self._select_stored(ranked)
            summed = self._evicted_share
            for program in ranked[MAX_SHARES:]:
                summed = _add_to_share(summed, program)
            shares = [program.to_share(program.number in stored) for program in ranked[:MAX_SHARES]]
            return (*shares, *([summed] if summed.programs else [])), texts

    def _select_stored(self, ranked: list[ProgramRecords]) -> tuple[set[int], list[str]]:
        """Return the numbers of the programs written with all details, and the JSON texts of all records to write.

        ``ranked`` are the programs by time, largest first.
        """
        stored: set[int] = set()
        by_number: dict[int, list[str]] = {}
        size = 0
        for program in [candidate for candidate in ranked if candidate.is_complete][:MAX_STORED_PROGRAMS]:
            texts = [self._record_text(record) for record in program.records()]
            size += sum(map(len, texts))
            if size > MAX_STORED_CHARS and stored:
                break
            stored.add(program.number)
            by_number[program.number] = texts
        with_findings = [program for program in ranked if program.has_findings and program.number not in stored]
        for program in with_findings[:MAX_FINDING_PROGRAMS]:
            by_number[program.number] = [text_of(record) for record in _iter_findings(program)]
        # In order of appearance, because a trace is compared with earlier ones.
        texts = [text for number in self._programs for text in by_number.get(number, ())]
        self._texts = {key: value for key, value in self._texts.items() if value[0].program in stored}
        return stored, [*texts, *map(text_of, self._failures)]

    def _record_text(self, record: Record) -> str:
        """Return the JSON text of a record, cached for large records that do not change."""
        if not isinstance(record, Traced | Compiled):
            return text_of(record)
        cached = self._texts.get(id(record))
        if cached is None or cached[0] is not record:
            cached = self._texts[id(record)] = record, text_of(record)
        return cached[1]


def _least_important(programs: list[ProgramRecords]) -> list[ProgramRecords]:
    """Return the half of the programs that took the least time, except the newest ones."""
    newest = {program.number for program in programs[-PROTECTED_PROGRAM_COUNT:]}
    ranked = sorted(programs, key=lambda program: program.seconds)
    return [program for program in ranked[: len(ranked) // 2] if program.number not in newest]


def _add_to_share(total: Share, program: ProgramRecords) -> Share:
    """Return the summary row of many small programs with one more added."""
    addition = program.to_share(is_stored=False)
    return Share(
        None,
        "",
        total.calls + addition.calls,
        total.running + addition.running,
        total.made + addition.made,
        total.programs + 1,
        kept=False,
    )


def _iter_findings(program: ProgramRecords) -> Iterator[Record]:
    """Yield the records about failures and retraces of a program, without jaxprs and kernels."""
    reduced = ProgramRecords(program.number, program.function)
    stage_records = (record for record in program.stages.records() if isinstance(record, Traced | Lowered | Compiled))
    reduced.stages = Stages.of(stage_records)
    reduced.misses, reduced.failures = program.misses, program.failures
    reduced.drop_details()
    return reduced.records()
