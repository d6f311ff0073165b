"""What is remembered of one program of a script."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..records.events import Ceilings, Compiled, Executed, Failure, Lowered, Missed, Record, Traced
from ..records.programs import Jaxpr
from ..records.script import Share

#: Compilations of one program, for other devices or placements; failures, and kinds of slow calls of one program.
MOST_COMPILED, MOST_FAILED, MOST_MISSED = 8, 3, 8


class Held:
    """The records of one program: the first of its trace and of each compilation, the latest of what moves."""

    def __init__(self, number: int, function: str) -> None:
        self.number = number
        self.function = function
        self.traced: Traced | None = None
        self.lowered: Lowered | None = None
        self.compiled: dict[str, Compiled] = {}
        self.executed: Executed | None = None
        self.ceilings: Ceilings | None = None
        self.failures: list[Failure] = []
        self.missed: dict[str, Missed] = {}
        self.made = 0.0
        #: Whether the program itself is still remembered, and not only its times.
        self.whole = True

    def receive(self, record: Record) -> bool:
        """Take in a record; True for one of a stage that took time and was not told before."""
        match record:
            case Traced() if self.traced is None:
                self.traced, self.function = record, record.function
                self.made += record.seconds
                return True
            case Lowered():
                self.lowered = record
                self.made += record.seconds
                return True
            case Compiled(target="") if record.module not in self.compiled and len(self.compiled) < MOST_COMPILED:
                self.compiled[record.module] = record if self.whole else _told(record)
                self.made += record.seconds
                return True
            case Executed():
                self.executed = record
            case Ceilings():
                self.ceilings = record
            case Failure() if len(self.failures) < MOST_FAILED:
                self.failures.append(record)
            case Missed() if len(self.missed) < MOST_MISSED:
                self.missed.setdefault(record.reason, record)
        return False

    def forget(self) -> None:
        """Remember its times and reasons alone."""
        self.whole = False
        self.traced = _light(self.traced) if self.traced is not None else None
        self.compiled = {module: _told(record) for module, record in self.compiled.items()}

    @property
    def running(self) -> float:
        """Seconds of all of its calls that were measured."""
        return self.executed.running if self.executed is not None else 0.0

    @property
    def seconds(self) -> float:
        """What it took of the run: making and running it."""
        return self.made + self.running

    @property
    def size(self) -> int:
        """Characters of what is remembered, roughly."""
        told = len(self.traced.text) * 8 if self.traced is not None else 0
        return told + sum(len(record.hlo) * 2 for record in self.compiled.values())

    @property
    def is_told_again(self) -> bool:
        """Whether there is something to say beside times: it failed, or need not have been traced."""
        return bool(self.failures or self.missed or (self.traced is not None and self.traced.fix))

    def share(self, kept: bool) -> Share:
        """Its line in the table of programs."""
        calls = self.executed.calls if self.executed is not None else 0
        return Share(self.number, self.function, calls, self.running, self.made, kept=kept)

    def records(self) -> Iterator[Record]:
        """What is remembered, in the order of stages."""
        stages = (self.traced, self.lowered, *self.compiled.values(), self.ceilings, self.executed)
        yield from (each for each in stages if each is not None)
        yield from self.missed.values()
        yield from self.failures


def _light(record: Traced) -> Traced:
    """A trace without its program."""
    return dataclasses.replace(record, jaxpr=Jaxpr(record.jaxpr.name, (), (), (), {}, ()), text="", sources=())


def _told(record: Compiled) -> Compiled:
    """A compilation without what it led to."""
    return dataclasses.replace(record, kernels=(), hlo="", memory=None)
