"""Stages of one program: the latest record of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .decisions import Explained, Passes
from .events import Ceilings, Compiled, Continued, Executed, Failure, Lowered, Missed, Record, Started, Traced
from .findings import Diagnosis


@dataclass
class Stages:
    """Collected records of one program.

    ``compiled`` is the compilation that was measured, or else the latest one. A program is compiled again for
    other devices or placements, as another module: ``compilations`` has all of them, by module. ``asked`` has
    the records that were made on request (compilations for other targets, fusion decisions, passes), by
    class, target and module, and the latest record of each class that has no attribute here.

    >>> from xlascope.records import Started
    >>> stages = Stages.of([Started(1, "f", "trace", 0.0), Started(1, "f", "lower", 0.5)])
    >>> stages.active.stage, stages.traced
    ('lower', None)
    """

    #: The stage that began last, until a record of another one comes.
    active: Started | None = None
    traced: Traced | None = None
    lowered: Lowered | None = None
    compiled: Compiled | None = None
    compilations: dict[str, Compiled] = field(default_factory=dict)
    executed: Executed | None = None
    failure: Failure | None = None
    ceilings: Ceilings | None = None
    #: It is compiled in the background, for a call that was interrupted.
    continued: Continued | None = None
    #: The doctor's diagnosis, if requested.
    diagnosis: Diagnosis | None = None
    asked: dict[tuple[type, str, str], Record] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[Record]) -> Stages:
        """Return the collection of these records, which are all of one program."""
        stages = cls()
        for record in records:
            stages.receive(record)
        return stages

    def receive(self, record: Record) -> bool:
        """Store a record; return whether it changes more than times and measurements."""
        match record:
            case Started():
                self.active = record
                return False
            case Continued():
                self.continued = record if record.seconds is None else None
            case Traced():
                self.traced = record
            case Lowered():
                self.lowered = record
            case Compiled() if record.target:
                self.asked[Compiled, record.target, ""] = record
            case Explained() | Passes():
                self.asked[type(record), record.target, record.module] = record
            case Compiled():
                self.compiled = self.compilations[record.module] = record
                self.continued = None
            case Ceilings():
                self.ceilings = record
            case Executed():
                return self._run(record)
            case Failure():
                self.failure = record
            case Diagnosis():
                self.diagnosis = record
            case Missed():
                return False
            case _:
                self.asked[type(record), "", ""] = record
        self.active = None
        return not isinstance(record, Lowered | Ceilings | Failure | Diagnosis)

    def _run(self, record: Executed) -> bool:
        before = self.compiled
        self.executed = record
        self.compiled = self.compilations.get(record.module, self.compiled)
        if self.active is not None and self.active.stage == "run":
            self.active = None
        return self.compiled is not before

    def same(self, record: Record) -> Record | None:
        """Return the stored record that ``record`` would replace: the trace, or a compilation of the same module.

        None if there is none, and for records of other classes.
        """
        match record:
            case Traced():
                return self.traced
            case Compiled() if not record.target:
                return self.compilations.get(record.module)
        return None

    def records(self) -> Iterator[Record]:
        """Yield the stored records, in the order of stages."""
        compiling = (self.traced, self.lowered, *self.compilations.values())
        later = (self.ceilings, self.executed, self.diagnosis, self.failure)
        yield from (record for record in (*compiling, *self.asked.values(), *later) if record is not None)
