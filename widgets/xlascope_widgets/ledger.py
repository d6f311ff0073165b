"""The latest record of each stage of each program: what every picture and text is made from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xlascope.records import Compiled, Executed, Failure, Lowered, Record, Started, Traced


@dataclass
class Program:
    """What is known of one program so far."""

    number: int
    function: str
    active: Started | None = None
    traced: Traced | None = None
    lowered: Lowered | None = None
    compiled: Compiled | None = None
    executed: Executed | None = None
    failure: Failure | None = None
    traces: int = 0
    equations: int = 0

    def receive(self, record: Record) -> bool:
        """Take in a record; True when it changes what is drawn rather than only its numbers."""
        match record:
            case Started():
                self.active = record
                return False
            case Traced():
                self.traced, self.equations = record, sum(1 for _ in record.jaxpr.walk())
                self.function = record.function
            case Lowered():
                self.lowered = record
            case Compiled():
                self.compiled = record
            case Executed():
                self.executed = record
            case Failure():
                self.failure = record
        if self.active is not None and not (isinstance(record, Executed) and self.active.stage != "run"):
            self.active = None
        return isinstance(record, Traced | Compiled)

    @property
    def is_operation(self) -> bool:
        """Whether this is a single operation run outside of jit, which nobody traced."""
        return self.traced is not None and self.traced.seconds == 0

    @property
    def weight(self) -> tuple[bool, float, int]:
        """How much there is to see: a function or an operation, seconds measured making and running it, equations."""
        ran = self.executed.step * self.executed.calls if self.executed else 0.0
        made = sum(stage.seconds for stage in (self.traced, self.lowered, self.compiled) if stage is not None)
        return not self.is_operation, ran + made, self.equations


@dataclass
class Ledger:
    """All programs of a cell, in order of appearance, and failures that belong to none."""

    programs: dict[int, Program] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    @classmethod
    def of(cls, records: Iterable[Record]) -> Ledger:
        """The ledger of these records."""
        ledger = cls()
        for record in records:
            ledger.receive(record)
        return ledger

    def receive(self, record: Record) -> bool:
        """Take in a record; True when it changes what is drawn rather than only its numbers."""
        if record.program is None:
            self.failures.append(record)
            return False
        program = self.programs.get(record.program)
        if program is None:
            program = self.programs[record.program] = Program(record.program, record.function)
        changed = program.receive(record)
        if isinstance(record, Traced) and not program.is_operation:
            namesakes = (p for p in self.programs.values() if p.function == program.function)
            program.traces = sum(p.traced is not None for p in namesakes)
        return changed

    def by_weight(self) -> list[Program]:
        """The programs, those with most to see first."""
        return sorted(self.programs.values(), key=lambda program: program.weight, reverse=True)

    @property
    def main(self) -> Program | None:
        """The program shown unless the user picks another."""
        return next(iter(self.by_weight()), None)
