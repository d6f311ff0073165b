"""The records kept of one program of a script."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..records.events import Ceilings, Compiled, Executed, Failure, Lowered, Missed, Record, Traced
from ..records.programs import Jaxpr
from ..records.script import Share
from ..records.stages import Stages

#: The maximum number of compilations of one program (for several devices or shardings), of failures, and of reasons for
#: slow calls.
MOST_COMPILED, MOST_FAILED, MOST_MISSED = 8, 3, 8


class Held:
    """The records of one program: the first of its trace and of each compilation, the latest of its runs."""

    def __init__(self, number: int, function: str) -> None:
        self.number = number
        self.function = function
        self.stages = Stages()
        self.failures: list[Failure] = []
        self.missed: dict[str, Missed] = {}
        self.made = 0.0
        #: Whether the program itself is stored, not only its times.
        self.whole = True

    def receive(self, record: Record) -> bool:
        """Add a record; return True for a new stage that took time."""
        match record:
            case Executed() | Ceilings():
                self.stages.receive(record)
            case Failure() if len(self.failures) < MOST_FAILED:
                self.failures.append(record)
            case Missed() if len(self.missed) < MOST_MISSED:
                self.missed.setdefault(record.reason, record)
            case Traced() | Lowered() | Compiled() if self._is_new(record):
                self.function = record.function if isinstance(record, Traced) else self.function
                self.made += record.seconds
                self.stages.receive(record if self.whole else _light(record))
                return True
        return False

    def _is_new(self, record: Traced | Lowered | Compiled) -> bool:
        """Return whether a stage is new: a new subscriber also receives records of earlier programs."""
        if isinstance(record, Compiled) and (record.target or len(self.stages.compilations) >= MOST_COMPILED):
            return False
        return self.stages.same(record) is None

    def forget(self) -> None:
        """Drop everything except times and retrace reasons."""
        self.whole = False
        self.stages = Stages.of(map(_light, self.stages.records()))

    @property
    def running(self) -> float:
        """Return the seconds of all measured calls."""
        return self.stages.executed.running if self.stages.executed is not None else 0.0

    @property
    def seconds(self) -> float:
        """Return the total seconds of building and running the program."""
        return self.made + self.running

    @property
    def size(self) -> int:
        """Return the approximate number of characters of its records."""
        trace_chars = len(self.stages.traced.text) * 8 if self.stages.traced is not None else 0
        return trace_chars + sum(len(record.hlo) * 2 for record in self.stages.compilations.values())

    @property
    def is_told_again(self) -> bool:
        """Return whether it has findings: failures, or retraces that could have been avoided."""
        return bool(self.failures or self.missed or (self.stages.traced is not None and self.stages.traced.fix))

    def share(self, is_stored: bool) -> Share:
        """Return its row in the table of programs."""
        calls = self.stages.executed.calls if self.stages.executed is not None else 0
        return Share(self.number, self.function, calls, self.running, self.made, kept=is_stored)

    def records(self) -> Iterator[Record]:
        """Yield its records in the order of stages."""
        yield from self.stages.records()
        yield from self.missed.values()
        yield from self.failures


def _light(record: Record) -> Record:
    """Return a trace without its jaxpr, a compilation without its kernels, or any other record unchanged."""
    if isinstance(record, Traced):
        empty = Jaxpr(record.jaxpr.name, (), (), (), {}, ())
        return dataclasses.replace(record, jaxpr=empty, text="", sources=())
    return dataclasses.replace(record, kernels=(), hlo="", memory=None) if isinstance(record, Compiled) else record
