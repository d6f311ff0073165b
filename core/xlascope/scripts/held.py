"""What is remembered of one program of a script."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..records.events import Ceilings, Compiled, Executed, Failure, Lowered, Missed, Record, Traced
from ..records.programs import Jaxpr
from ..records.script import Share
from ..records.stages import Stages

#: Compilations of one program, for other devices or placements; failures, and kinds of slow calls of one program.
MOST_COMPILED, MOST_FAILED, MOST_MISSED = 8, 3, 8


class Held:
    """The records of one program: the first of its trace and of each compilation, the latest of what moves."""

    def __init__(self, number: int, function: str) -> None:
        self.number = number
        self.function = function
        self.stages = Stages()
        self.failures: list[Failure] = []
        self.missed: dict[str, Missed] = {}
        self.made = 0.0
        #: Whether the program itself is still remembered, and not only its times.
        self.whole = True

    def receive(self, record: Record) -> bool:
        """Take in a record; True for one of a stage that took time and was not told before."""
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
        """Whether a stage was not told before: who begins to watch is told of what was made earlier."""
        if isinstance(record, Compiled) and (record.target or len(self.stages.compilations) >= MOST_COMPILED):
            return False
        return self.stages.same(record) is None

    def forget(self) -> None:
        """Remember its times and reasons alone."""
        self.whole = False
        self.stages = Stages.of(map(_light, self.stages.records()))

    @property
    def running(self) -> float:
        """Seconds of all of its calls that were measured."""
        return self.stages.executed.running if self.stages.executed is not None else 0.0

    @property
    def seconds(self) -> float:
        """What it took of the run: making and running it."""
        return self.made + self.running

    @property
    def size(self) -> int:
        """Characters of what is remembered, roughly."""
        told = len(self.stages.traced.text) * 8 if self.stages.traced is not None else 0
        return told + sum(len(record.hlo) * 2 for record in self.stages.compilations.values())

    @property
    def is_told_again(self) -> bool:
        """Whether there is something to say beside times: it failed, or need not have been traced."""
        return bool(self.failures or self.missed or (self.stages.traced is not None and self.stages.traced.fix))

    def share(self, kept: bool) -> Share:
        """Its line in the table of programs."""
        calls = self.stages.executed.calls if self.stages.executed is not None else 0
        return Share(self.number, self.function, calls, self.running, self.made, kept=kept)

    def records(self) -> Iterator[Record]:
        """What is remembered, in the order of stages."""
        yield from self.stages.records()
        yield from self.missed.values()
        yield from self.failures


def _light(record: Record) -> Record:
    """A trace without its program, a compilation without what it led to; other records as they are."""
    if isinstance(record, Traced):
        nothing = Jaxpr(record.jaxpr.name, (), (), (), {}, ())
        return dataclasses.replace(record, jaxpr=nothing, text="", sources=())
    return dataclasses.replace(record, kernels=(), hlo="", memory=None) if isinstance(record, Compiled) else record
