"""A recorder of a script's programs with bounded memory: times of every program, details of the largest."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from ..records.events import Compiled, Failure, Lowered, Record, Started, Traced
from ..records.script import Share
from ..records.stages import Stages
from ..records.store import text_of
from .held import Held
from .stretches import Stretches

#: The maximum number of programs with individual times, and the maximum number and total characters of those with
#: details. Beyond it, programs that took the least time are evicted or reduced.
MOST_PROGRAMS, MOST_WHOLE, MOST_SIZE = 2_000, 200, 400_000_000
#: The maximum number and total characters of programs written with details.
MOST_KEPT, MOST_TEXT = 40, 150_000_000
#: The maximum number of rows in the table, and of programs whose findings are stored.
MOST_SHARES, MOST_TOLD = 60, 150
#: The number of newest programs that are never evicted, because they have hardly run yet.
NEWEST = 50
MOST_FAILURES = 20


class Seen:
    """The programs of a script by number; safe to use from any thread and from signal handlers."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._programs: dict[int, Held] = {}
        self._forgotten: set[int] = set()
        self._gone = Share(None, "", 0, 0.0, 0.0, programs=0, kept=False)
        self._making = Stretches()
        self._failures: list[Failure] = []
        self._texts: dict[int, tuple[Record, str]] = {}
        self._active: dict[int, Started] = {}

    def receive(self, record: Record) -> None:
        """Add a record."""
        with self._lock:
            number = record.program
            if number is None:
                if isinstance(record, Failure) and len(self._failures) < MOST_FAILURES:
                    self._failures.append(record)
                return
            if isinstance(record, Started):
                self._active[threading.get_ident()] = record
                return
            self._active.pop(threading.get_ident(), None)
            if number in self._forgotten:
                return
            program = self._programs.setdefault(number, Held(number, record.function))
            if program.receive(record) and isinstance(record, Traced | Lowered | Compiled):
                self._making.add(record.time, record.seconds)
            if isinstance(record, Traced | Compiled):
                self._forget()

    def _forget(self) -> None:
        complete = [program for program in self._programs.values() if program.whole]
        if len(complete) > MOST_WHOLE or sum(program.size for program in complete) > MOST_SIZE:
            for program in _least(complete):
                program.forget()
        if len(self._programs) > MOST_PROGRAMS:
            for program in _least([candidate for candidate in self._programs.values() if not candidate.is_told_again]):
                self._forgotten.add(program.number)
                self._gone = _with(self._gone, self._programs.pop(program.number))

    # Results ----------------------------------------------------------------------------------------------------------

    @property
    def programs(self) -> int:
        """Return the number of programs."""
        return len(self._programs) + len(self._forgotten)

    @property
    def making(self) -> float:
        """Return the seconds during which anything was traced, lowered or compiled."""
        with self._lock:
            return self._making.seconds

    @property
    def failed(self) -> frozenset[str]:
        """Return the names of the exceptions that have been recorded."""
        with self._lock:
            of_programs = (failure for program in self._programs.values() for failure in program.failures)
            return frozenset(item.error for item in (*of_programs, *self._failures))

    @property
    def active(self) -> Started | None:
        """Return the stage that is running, the one that started last."""
        with self._lock:
            return max(self._active.values(), key=lambda started: started.time, default=None)

    @property
    def main(self) -> Held | None:
        """Return the program that took the most time."""
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

    def told_again(self) -> list[Record]:
        """Return the records, without jaxprs and kernels, of programs that failed or were traced again."""
        with self._lock:
            return [
                record for program in self._programs.values() if program.is_told_again for record in _reasons(program)
            ]

    def written(self) -> tuple[tuple[Share, ...], list[str]]:
        """Return the table of programs, and the JSON texts of the records to store."""
        with self._lock:
            ranked = sorted(self._programs.values(), key=lambda program: program.seconds, reverse=True)
            stored, texts = self._kept(ranked)
            summed = self._gone
            for program in ranked[MOST_SHARES:]:
                summed = _with(summed, program)
            shares = [program.share(program.number in stored) for program in ranked[:MOST_SHARES]]
            return (*shares, *([summed] if summed.programs else [])), texts

    def _kept(self, ranked: list[Held]) -> tuple[set[int], list[str]]:
        """Return the numbers of the programs stored completely, and the texts of all records to store."""
        stored: set[int] = set()
        by_number: dict[int, list[str]] = {}
        size = 0
        for program in [candidate for candidate in ranked if candidate.whole][:MOST_KEPT]:
            texts = [self._text(record) for record in program.records()]
            size += sum(map(len, texts))
            if size > MOST_TEXT and stored:
                break
            stored.add(program.number)
            by_number[program.number] = texts
        with_findings = [program for program in ranked if program.is_told_again and program.number not in stored]
        for program in with_findings[:MOST_TOLD]:
            by_number[program.number] = [text_of(record) for record in _reasons(program)]
        # In order of appearance, because a trace is compared with earlier ones.
        texts = [text for number in self._programs for text in by_number.get(number, ())]
        self._texts = {key: value for key, value in self._texts.items() if value[0].program in stored}
        return stored, [*texts, *map(text_of, self._failures)]

    def _text(self, record: Record) -> str:
        """Return the JSON text of a record, cached for large records that do not change."""
        if not isinstance(record, Traced | Compiled):
            return text_of(record)
        cached = self._texts.get(id(record))
        if cached is None or cached[0] is not record:
            cached = self._texts[id(record)] = record, text_of(record)
        return cached[1]


def _least(programs: list[Held]) -> list[Held]:
    """Return the half of the programs that took the least time, except the newest ones."""
    newest = {program.number for program in programs[-NEWEST:]}
    ranked = sorted(programs, key=lambda program: program.seconds)
    return [program for program in ranked[: len(ranked) // 2] if program.number not in newest]


def _with(total: Share, program: Held) -> Share:
    """Return the summary row of many small programs with one more added."""
    addition = program.share(kept=False)
    return Share(
        None,
        "",
        total.calls + addition.calls,
        total.running + addition.running,
        total.made + addition.made,
        total.programs + 1,
        kept=False,
    )


def _reasons(program: Held) -> Iterator[Record]:
    """Return the findings of a program that is not stored completely."""
    reduced = Held(program.number, program.function)
    stage_records = (record for record in program.stages.records() if isinstance(record, Traced | Lowered | Compiled))
    reduced.stages = Stages.of(stage_records)
    reduced.missed, reduced.failures = program.missed, program.failures
    reduced.forget()
    return reduced.records()
