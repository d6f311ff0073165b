"""The records kept of one program of a script."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..records.events import Ceilings, Compiled, Executed, Failure, Lowered, Missed, Record, Traced
from ..records.programs import Jaxpr
from ..records.script import Share
from ..records.stages import Stages
from ..records.value_history import ValueHistory
from ..records.values import ValueReport

#: The maximum number of compilations of one program (for several devices or shardings), of failures, and of reasons for
#: slow calls.
MAX_COMPILATIONS, MAX_FAILURES, MAX_MISSES = 8, 3, 8


class ProgramRecords:
    """Records of one program: the first of its trace and of each compilation, the latest of its runs.

    ``misses`` has, by reason, calls that missed the call cache. ``build_seconds`` are those of tracing, lowering and
    compiling.
    """

    def __init__(self, number: int, function: str) -> None:
        self.number = number
        self.function = function
        self.stages = Stages()
        self.failures: list[Failure] = []
        self.misses: dict[str, Missed] = {}
        self.build_seconds = 0.0
        #: Whether the program itself is stored, not only its times.
        self.is_complete = True

    def receive(self, record: Record) -> bool:
        """Add a record; return whether it is a new trace, lowering or compilation."""
        match record:
            case Executed() | Ceilings() | ValueHistory() | ValueReport():
                self.stages.receive(record)
            case Failure() if len(self.failures) < MAX_FAILURES:
                self.failures.append(record)
            case Missed() if len(self.misses) < MAX_MISSES:
                self.misses.setdefault(record.reason, record)
            case Traced() | Lowered() | Compiled() if self._is_new(record):
                self.function = record.function if isinstance(record, Traced) else self.function
                self.build_seconds += record.seconds
                self.stages.receive(record if self.is_complete else _without_details(record))
                return True
        return False

    def _is_new(self, record: Traced | Lowered | Compiled) -> bool:
        """Return whether a stage was not recorded yet: new subscribers also receive records of earlier programs."""
        if isinstance(record, Compiled) and (record.target or len(self.stages.compilations) >= MAX_COMPILATIONS):
            return False
        return self.stages.same(record) is None

    def drop_details(self) -> None:
        """Drop jaxprs and kernels; times and the reasons of retraces stay."""
        self.is_complete = False
        self.stages = Stages.of(map(_without_details, self.stages.records()))

    @property
    def run_seconds(self) -> float:
        """Return the seconds of all measured calls."""
        return self.stages.executed.running if self.stages.executed is not None else 0.0

    @property
    def seconds(self) -> float:
        """Return the total seconds of building and running the program."""
        return self.build_seconds + self.run_seconds

    @property
    def char_count(self) -> int:
        """Return the approximate number of characters of its records."""
        trace_chars = len(self.stages.traced.text) * 8 if self.stages.traced is not None else 0
        return trace_chars + sum(len(record.hlo) * 2 for record in self.stages.compilations.values())

    @property
    def has_findings(self) -> bool:
        """Return whether it has findings: failures, or retraces that could have been avoided."""
        return bool(self.failures or self.misses or (self.stages.traced is not None and self.stages.traced.fix))

    def to_share(self, is_stored: bool) -> Share:
        """Return the program's row in the table of programs; ``is_stored`` says whether its records are written."""
        calls = self.stages.executed.calls if self.stages.executed is not None else 0
        return Share(self.number, self.function, calls, self.run_seconds, self.build_seconds, kept=is_stored)

    def records(self) -> Iterator[Record]:
        """Yield its records in the order of stages."""
        yield from self.stages.records()
        yield from self.misses.values()
        yield from self.failures


def _without_details(record: Record) -> Record:
    """Return a trace without its jaxpr, a compilation without its kernels, or any other record unchanged."""
    if isinstance(record, Traced):
        empty = Jaxpr(record.jaxpr.name, (), (), (), {}, ())
        return dataclasses.replace(record, jaxpr=empty, text="", sources=())
    return dataclasses.replace(record, kernels=(), hlo="", memory=None) if isinstance(record, Compiled) else record
