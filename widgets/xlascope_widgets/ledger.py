"""The latest record of each stage of each program: the data of every picture and text."""

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

#: The maximum number of stored programs; a cell with ten thousand single operations has as many.
MOST_PROGRAMS = 1_000
#: The maximum number of functions that are compared with the next run of a cell.
MOST_COMPARED = 8


def same(first: Iterable[Record | None], second: Iterable[Record | None]) -> bool:
    """Return whether two series consist of the same objects; comparing large records by value is slow."""
    return all(a is b for a, b in zip(first, second, strict=True))


@dataclass
class Program(Stages):
    """The current state of one program."""

    number: int = 0
    function: str = ""
    traces: int = 0
    equations: int = 0
    #: The number of answers to questions about it, each of which requires sending the heavy state again.
    answers: int = 0
    #: A trace and its encoded form (`wire.py`).
    packed: tuple[Traced, dict[str, Any]] | None = field(default=None, repr=False, compare=False)
    #: The records that the doctor examined, and the diagnosis (`wire_doctor.py`).
    examined: tuple[tuple[object, ...], Diagnosis | None] | None = field(default=None, repr=False, compare=False)
    #: The records of a measured run and their encoded form.
    measured: tuple[tuple[Record | None, ...], dict[str, Any]] | None = field(default=None, repr=False, compare=False)
    _account: tuple[tuple[Record | None, ...], CallTimes] | None = field(default=None, repr=False, compare=False)
    _known: tuple[tuple[Record | None, ...], tuple[Places, Mapping[str, float]]] | None = field(
        default=None, repr=False, compare=False
    )

    def receive(self, record: Record) -> bool:
        """Add a record; return whether it changes what is drawn, not only numbers."""
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
        """Return the breakdown of a call's time, used by all views and cached per set of records."""
        if self.executed is None:
            return None
        made_of = (self.executed, self.compiled, self.traced)
        if self._account is None or not same(self._account[0], made_of):
            self._account = made_of, call_times(self.executed, self.compiled, self._fixed()[0])
        return self._account[1]

    def hottest(self, ceilings: Ceilings | None) -> tuple[HotKernel, ...]:
        """Return the kernels of a call by decreasing time, with the ceilings of their device."""
        if self.account is None or self.account.whole is None:
            return ()
        return hottest(self.account.whole, self.compiled, self._fixed()[1], ceilings)

    def _fixed(self) -> tuple[Places, Mapping[str, float]]:
        """Return the lines of equations and the operations of kernels, which do not change while a program runs."""
        made_of = (self.traced, self.compiled)
        if self._known is None or not same(self._known[0], made_of):
            places = places_of(self.traced) if self.traced is not None else {}
            both = self.traced is not None and self.compiled is not None
            flops = self._flops() if both else {}
            self._known = made_of, (places, flops)
        return self._known[1]

    def _flops(self) -> dict[str, float]:
        """Return the floating-point operations of the program's kernels, as far as they can be estimated."""
        assert self.traced is not None and self.compiled is not None
        return kernel_flops(self.compiled.kernels, self.traced.jaxpr, len(self.compiled.devices))

    @property
    def standing(self) -> Program:
        """Return the program as static pictures show it: if compiled only for other targets, as for the first one."""
        elsewhere = next((record for record in self.asked.values() if isinstance(record, Compiled)), None)
        return self if self.compiled is not None or elsewhere is None else replace(self, compiled=elsewhere)

    @property
    def quick(self) -> Compiled | None:
        """Return the quick compilation that serves the first calls, if there is one."""
        return next((compilation for compilation in self.compilations.values() if compilation.quick), None)

    @property
    def run(self) -> Run:
        """Return what a later run of the same cell is compared with."""
        return Run(self.traced, self.compiled, self.executed)

    @property
    def is_operation(self) -> bool:
        """Return whether this is a single operation run outside of jit, of xlascope or of jax."""
        return self.traced is not None and self.traced.is_operation

    @property
    def weight(self) -> tuple[bool, float, int]:
        """Return the sort key of importance: function or operation, measured seconds, number of equations."""
        run_seconds = self.executed.running if self.executed else 0.0
        build_seconds = sum(stage.seconds for stage in (self.traced, self.lowered, self.compiled) if stage is not None)
        return not self.is_operation, run_seconds + build_seconds, self.equations


@dataclass
class Ledger:
    """All programs of a cell in order of appearance, and failures that belong to none of them."""

    programs: dict[int, Program] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    retraces: Retraces = field(default_factory=Retraces)
    #: Numbers of evicted programs, mostly single operations.
    forgotten: set[int] = field(default_factory=set)
    _traces: Counter[str] = field(default_factory=Counter)
    diff: Diff | None = None
    #: Answers to scaling questions.
    scaled: list[Scaled] = field(default_factory=list)
    #: The watched script that ran these programs, if any.
    script: ScriptRun | None = None

    @classmethod
    def of(cls, shown: Iterable[Record] | Diff) -> Ledger:
        """Build the store of these records, or of both programs of a comparison."""
        store = cls(diff=shown if isinstance(shown, Diff) else None)
        for record in both_sides(shown) if isinstance(shown, Diff) else shown:
            store.receive(record)
        return store

    def receive(self, record: Record) -> bool:
        """Add a record; return whether it changes what is drawn, not only numbers."""
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
        """Evict about half of the programs, the least important ones; the latest always stay."""
        latest = set(list(self.programs)[-MOST_PROGRAMS // 10 :])
        for program in self.by_weight()[MOST_PROGRAMS // 2 :]:
            if program.number not in latest:
                self.forgotten.add(program.number)
                del self.programs[program.number]

    def by_weight(self) -> list[Program]:
        """Return the programs by decreasing importance."""
        return sorted(self.programs.values(), key=lambda program: program.weight, reverse=True)

    def shown(self, most: int) -> list[Program]:
        """Return at most ``most`` programs to show; of a script, those stored in full, in its own order."""
        if self.script is None:
            return self.by_weight()[:most]
        retained = (self.programs.get(item.program or 0) for item in self.script.shares if item.kept)
        return sorted((item for item in retained if item is not None), key=lambda item: item.is_operation)[:most]

    @property
    def runs(self) -> dict[str, Run]:
        """Return what a later run of the same cell is compared with, by function.

        Of several programs of one function name, the most important one is used.
        """
        shown = [program for program in self.by_weight() if program.traced is not None and not program.is_operation]
        return {program.function: program.run for program in reversed(shown[:MOST_COMPARED])}

    @property
    def main(self) -> Program | None:
        """Return the program that is selected by default."""
        if self.diff is not None:
            return self.programs.get(AFTER)
        return next(iter(self.shown(1)), None)
