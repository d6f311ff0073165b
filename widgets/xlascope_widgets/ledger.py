"""The latest record of each stage of each program: what every picture and text is made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from xlascope.analysis.costs.call_times import CallTimes, Places, call_times, places_of
from xlascope.analysis.costs.roofline import HotKernel, hottest, kernel_flops
from xlascope.analysis.diff import Diff
from xlascope.analysis.earlier_run import Run
from xlascope.analysis.folded_products import with_folded
from xlascope.analysis.retraces import Retraces
from xlascope.records import (
    Ceilings,
    Compiled,
    Diagnosis,
    Failure,
    Record,
    Scaled,
    ScriptRun,
    Traced,
)
from xlascope.records.stages import Stages

from .compared_programs import AFTER, both_sides

#: Programs held at once. A cell of ten thousand single operations makes as many.
MOST_PROGRAMS = 1_000
#: Functions that the next run of a cell is compared with.
MOST_COMPARED = 8


def same(one: Iterable[Record | None], other: Iterable[Record | None]) -> bool:
    """Whether these are the same records, not only equal ones: comparing large ones takes long."""
    return all(a is b for a, b in zip(one, other, strict=True))


@dataclass
class Program(Stages):
    """What is known of one program so far."""

    number: int = 0
    function: str = ""
    traces: int = 0
    equations: int = 0
    #: How often something came that is sent once: what was asked about it.
    answers: int = 0
    #: A trace and what is sent of it (`wire.py`).
    packed: tuple[Traced, dict[str, Any]] | None = field(default=None, repr=False, compare=False)
    #: What the doctor finds in it, and what that was made of (`wire_doctor.py`).
    examined: tuple[tuple[object, ...], Diagnosis | None] | None = field(default=None, repr=False, compare=False)
    #: What is sent of what was measured, and what it was made of.
    measured: tuple[tuple[Record | None, ...], dict[str, Any]] | None = field(default=None, repr=False, compare=False)
    _account: tuple[tuple[Record | None, ...], CallTimes] | None = field(default=None, repr=False, compare=False)
    _known: tuple[tuple[Record | None, ...], tuple[Places, Mapping[str, float]]] | None = field(
        default=None, repr=False, compare=False
    )

    def receive(self, record: Record) -> bool:
        """Take in a record; True when it changes what is drawn rather than only its numbers."""
        if isinstance(record, Traced):
            self.function, self.equations = record.function, sum(1 for _ in record.jaxpr.walk())
        if isinstance(record, Compiled) and not record.target:
            record = with_folded(record, self.traced)
        changed = super().receive(record)
        if changed and self.asked:
            self.answers += 1
        return changed

    @property
    def account(self) -> CallTimes | None:
        """Where the time of a call went: what every view of it reads. Made once for what is known of the program."""
        if self.executed is None:
            return None
        made_of = (self.executed, self.compiled, self.traced)
        if self._account is None or not same(self._account[0], made_of):
            self._account = made_of, call_times(self.executed, self.compiled, self._fixed()[0])
        return self._account[1]

    def hottest(self, ceilings: Ceilings | None) -> tuple[HotKernel, ...]:
        """The kernels of a call, the one with most time first, under the ceilings of the device that ran them."""
        if self.account is None or self.account.whole is None:
            return ()
        return hottest(self.account.whole, self.compiled, self._fixed()[1], ceilings)

    def _fixed(self) -> tuple[Places, Mapping[str, float]]:
        """The lines of equations and the work of kernels: what does not move while a program runs."""
        made_of = (self.traced, self.compiled)
        if self._known is None or not same(self._known[0], made_of):
            places = places_of(self.traced) if self.traced is not None else {}
            both = self.traced is not None and self.compiled is not None
            flops = self._flops() if both else {}
            self._known = made_of, (places, flops)
        return self._known[1]

    def _flops(self) -> dict[str, float]:
        """What the kernels of the program compute, as far as that can be told."""
        assert self.traced is not None and self.compiled is not None
        return kernel_flops(self.compiled.kernels, self.traced.jaxpr, len(self.compiled.devices))

    @property
    def standing(self) -> Program:
        """The program as a picture that stands still shows it: compiled only elsewhere, as the first target's."""
        elsewhere = next((each for each in self.asked.values() if isinstance(each, Compiled)), None)
        return self if self.compiled is not None or elsewhere is None else replace(self, compiled=elsewhere)

    @property
    def quick(self) -> Compiled | None:
        """The version that was compiled quickly, to answer the first calls."""
        return next((each for each in self.compilations.values() if each.quick), None)

    @property
    def run(self) -> Run:
        """What a later run of the same cell is compared with."""
        return Run(self.traced, self.compiled, self.executed)

    @property
    def is_operation(self) -> bool:
        """Whether this is a single operation run outside of jit: nobody traced it, or jax a function of its own."""
        return self.traced is not None and self.traced.is_operation

    @property
    def weight(self) -> tuple[bool, float, int]:
        """How much there is to see: a function or an operation, seconds measured making and running it, equations."""
        ran = self.executed.running if self.executed else 0.0
        made = sum(stage.seconds for stage in (self.traced, self.lowered, self.compiled) if stage is not None)
        return not self.is_operation, ran + made, self.equations


@dataclass
class Ledger:
    """All programs of a cell, in order of appearance, and failures that belong to none."""

    programs: dict[int, Program] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    retraces: Retraces = field(default_factory=Retraces)
    #: Programs that are told no more, with more of them than anybody looks at: single operations, mostly.
    forgotten: set[int] = field(default_factory=set)
    _traces: Counter[str] = field(default_factory=Counter)
    diff: Diff | None = None
    #: How programs scale, if somebody asked.
    scaled: list[Scaled] = field(default_factory=list)
    #: The script that these are the programs of, where one was watched.
    script: ScriptRun | None = None

    @classmethod
    def of(cls, shown: Iterable[Record] | Diff) -> Ledger:
        """The ledger of these records, or of both programs of a comparison."""
        ledger = cls(diff=shown if isinstance(shown, Diff) else None)
        for record in both_sides(shown) if isinstance(shown, Diff) else shown:
            ledger.receive(record)
        return ledger

    def receive(self, record: Record) -> bool:
        """Take in a record; True when it changes what is drawn rather than only its numbers."""
        if isinstance(record, ScriptRun):
            self.script = record
            return True
        if record.program is None:
            self.failures.append(record)
            return False
        if isinstance(record, Scaled):
            self.scaled.append(record)
            return True
        if record.program in self.forgotten:
            return False
        self.retraces.receive(record)
        program = self.programs.get(record.program)
        if program is None:
            program = self.programs[record.program] = Program(number=record.program, function=record.function)
        changed = program.receive(record)
        if isinstance(record, Traced) and not program.is_operation:
            self._traces[program.function] += 1
            program.traces = self._traces[program.function]
        if len(self.programs) > MOST_PROGRAMS:
            self._forget()
        return changed

    def _forget(self) -> None:
        """Forget about half of the programs, those with least to see; the latest stay, whatever they are."""
        latest = set(list(self.programs)[-MOST_PROGRAMS // 10 :])
        for program in self.by_weight()[MOST_PROGRAMS // 2 :]:
            if program.number not in latest:
                self.forgotten.add(program.number)
                del self.programs[program.number]

    def by_weight(self) -> list[Program]:
        """The programs, those with most to see first."""
        return sorted(self.programs.values(), key=lambda program: program.weight, reverse=True)

    def shown(self, most: int) -> list[Program]:
        """The programs that are shown, at most so many; of a script those that were kept whole, in its own order."""
        if self.script is None:
            return self.by_weight()[:most]
        kept = (self.programs.get(each.program or 0) for each in self.script.shares if each.kept)
        return sorted((each for each in kept if each is not None), key=lambda each: each.is_operation)[:most]

    @property
    def runs(self) -> dict[str, Run]:
        """What a later run of the same cell is compared with, by function: of several of one name, the one with most
        to see.
        """
        shown = [each for each in self.by_weight() if each.traced is not None and not each.is_operation]
        return {each.function: each.run for each in reversed(shown[:MOST_COMPARED])}

    @property
    def main(self) -> Program | None:
        """The program shown unless the user picks another."""
        if self.diff is not None:
            return self.programs.get(AFTER)
        return next(iter(self.shown(1)), None)
