"""The latest record of each stage of each program: the data of every picture and text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from xlascope.analysis.cell_runs import CellRun
from xlascope.analysis.costs.call_times import (
    CallTimes,
    DeviceCall,
    EquationLocations,
    compute_profiled_times,
    equation_locations,
    scale_call_times,
)
from xlascope.analysis.costs.equation_work import KernelCosts, estimate_kernel_costs
from xlascope.analysis.costs.roofline import HotKernel, kernel_flops, rank_kernels
from xlascope.analysis.diff import Diff
from xlascope.analysis.folded_products import add_folded_products
from xlascope.analysis.retraces import Retraces
from xlascope.records import (
    Ceilings,
    Compiled,
    Diagnosis,
    Executed,
    Failure,
    JobProcess,
    JobReport,
    Record,
    Scaled,
    ScriptRun,
    SharedCalls,
    TimeAccount,
    Traced,
)
from xlascope.records.stages import Stages

from .compared_programs import AFTER, records_of_both
from .identity_cache import IdentityCache

#: The maximum number of stored programs; a cell with ten thousand single operations has as many.
MAX_PROGRAMS = 1_000
#: The maximum number of functions that are compared with the next run of a cell.
MAX_COMPARED_FUNCTIONS = 8
#: The number of programs whose profile is added up once for all of its reports: as many as a panel shows.
MAX_PROFILED_PROGRAMS = 40
#: What names of internal functions on keys of random numbers begin with.
_INTERNAL_NAMES = re.compile("^_?(threefry|rbg|unsafe_rbg)_(?=split|fold_in|seed)")


def are_identical(first: Iterable[Record | None], second: Iterable[Record | None]) -> bool:
    """Return whether two series of equal length consist of the same objects; comparing records by value is slow."""
    return all(a is b for a, b in zip(first, second, strict=True))


class StaticCosts(NamedTuple):
    """Lines of a program's equations, operations of its kernels, and estimated costs of the equations in these."""

    locations: EquationLocations
    flops: Mapping[str, float]
    kernels: KernelCosts


_STATIC_COSTS: IdentityCache[StaticCosts] = IdentityCache()
_PROFILED_TIMES: IdentityCache[CallTimes] = IdentityCache(MAX_PROFILED_PROGRAMS)
_LOCATIONS: IdentityCache[EquationLocations] = IdentityCache()
_WITH_PRODUCTS: IdentityCache[Compiled] = IdentityCache()
_EQUATION_COUNTS: IdentityCache[int] = IdentityCache()


def _add_products(compiled: Compiled, traced: Traced | None) -> Compiled:
    """Return a compilation with the transposes that are folded into products; the same object for the same records."""
    if traced is None:
        return compiled
    parts = (compiled, traced.jaxpr, traced.traits)
    return _WITH_PRODUCTS.get_or_compute(parts, (), lambda: add_folded_products(compiled, traced))


def _locate(traced: Traced) -> EquationLocations:
    """Return the lines of a program's equations."""
    return _LOCATIONS.get_or_compute((traced.jaxpr,), (), lambda: equation_locations(traced))


def _count_equations(traced: Traced) -> int:
    """Return the number of a program's equations, those of bodies included."""
    return _EQUATION_COUNTS.get_or_compute((traced.jaxpr,), (), lambda: sum(1 for _ in traced.jaxpr.walk()))


@dataclass
class ProgramState(Stages):
    """Latest records of one program, with data derived from them that is cached until the records change."""

    number: int = 0
    function: str = ""
    traces: int = 0
    equations: int = 0
    #: The number of answers to questions about it, each of which requires sending the heavy state again.
    answer_count: int = 0
    #: A trace and its encoded form (`wire.py`).
    encoded_trace: tuple[Traced, dict[str, Any]] | None = field(default=None, repr=False, compare=False)
    #: The records that the doctor examined, and the diagnosis (`wire_doctor.py`).
    diagnosis_cache: tuple[tuple[object, ...], Diagnosis | None] | None = field(default=None, repr=False, compare=False)
    #: The records of a measured run and their encoded form.
    encoded_run: tuple[tuple[Record | None, ...], dict[str, Any]] | None = field(
        default=None, repr=False, compare=False
    )
    #: The same without what follows from the profile alone.
    encoded_numbers: tuple[tuple[Record | None, ...], dict[str, Any]] | None = field(
        default=None, repr=False, compare=False
    )
    _account_cache: tuple[tuple[Record | None, ...], CallTimes] | None = field(default=None, repr=False, compare=False)
    _static_cache: tuple[tuple[Record | None, ...], StaticCosts] | None = field(default=None, repr=False, compare=False)

    def receive(self, record: Record) -> bool:
        """Add a record; return whether it changes what is drawn, not only numbers."""
        if isinstance(record, Traced):
            self.function, self.equations = record.function, _count_equations(record)
        if isinstance(record, Compiled) and not record.target:
            record = _add_products(record, self.traced)
        changed = super().receive(record)
        if changed and self.asked:
            self.answer_count += 1
        return changed

    @property
    def account(self) -> CallTimes | None:
        """Return the breakdown of a call's time, used by all views and cached per set of records."""
        if self.executed is None:
            return None
        made_of = (self.executed, self.compiled, self.traced)
        if self._account_cache is None or not are_identical(self._account_cache[0], made_of):
            self._account_cache = made_of, scale_call_times(self.profiled_times(self.executed), self.executed)
        return self._account_cache[1]

    def profiled_times(self, run: Executed) -> CallTimes:
        """Return the breakdown of a call by the profiler's own times; the same object until there is another profile.

        A program reports its calls several times between two profiles, and a short cell that runs again begins with
        the last one.
        """
        costs = self._static_costs()
        parts = (*run.devices, self.compiled, costs.locations, costs.kernels)
        return _PROFILED_TIMES.get_or_compute(
            parts,
            (run.observed_calls,),
            lambda: compute_profiled_times(run, self.compiled, costs.locations, costs.kernels),
        )

    def hottest(self, ceilings: Ceilings | None) -> tuple[HotKernel, ...]:
        """Return the kernels of a call by decreasing time; ``ceilings`` are those of their device, None if unknown."""
        if self.account is None or self.account.mean is None:
            return ()
        return self.rank_kernels(self.account.mean, ceilings)

    def rank_kernels(self, device: DeviceCall, ceilings: Ceilings | None) -> tuple[HotKernel, ...]:
        """Return the kernels in one call of a device, which :meth:`hottest` returns of the mean over devices."""
        return rank_kernels(device, self.compiled, self._static_costs().flops, ceilings)

    def _static_costs(self) -> StaticCosts:
        """Return what follows from a program's trace and compilation, cached until it is compiled again."""
        made_of = (self.traced, self.compiled)
        if self._static_cache is None or not are_identical(self._static_cache[0], made_of):
            places = _locate(self.traced) if self.traced is not None else {}
            self._static_cache = made_of, StaticCosts(places, {}, {})
            if self.traced is not None and self.compiled is not None:
                parts = (self.traced.jaxpr, self.traced.traits, self.compiled)
                self._static_cache = made_of, _STATIC_COSTS.get_or_compute(parts, (), lambda: self._estimate(places))
        return self._static_cache[1]

    def _estimate(self, places: EquationLocations) -> StaticCosts:
        """Return the costs of a program that is traced and compiled; ``places`` are the lines of its equations."""
        assert self.traced is not None and self.compiled is not None
        return StaticCosts(places, self._kernel_flops(), estimate_kernel_costs(self.traced, self.compiled))

    def _kernel_flops(self) -> dict[str, float]:
        """Return the floating-point operations of the program's kernels, as far as they can be estimated."""
        assert self.traced is not None and self.compiled is not None
        return kernel_flops(self.compiled.kernels, self.traced.jaxpr, len(self.compiled.devices))

    @property
    def static_view(self) -> ProgramState:
        """Return the program as pictures show it: compiled for the first of its targets if not for this machine."""
        elsewhere = next((record for record in self.asked.values() if isinstance(record, Compiled)), None)
        return self if self.compiled is not None or elsewhere is None else replace(self, compiled=elsewhere)

    @property
    def quick_compilation(self) -> Compiled | None:
        """Return the quick compilation that serves the first calls, if there is one."""
        return next((compilation for compilation in self.compilations.values() if compilation.quick), None)

    @property
    def as_run(self) -> CellRun:
        """Return the records that a later run of the same cell is compared with."""
        return CellRun(self.traced, self.compiled, self.executed)

    @property
    def has_content(self) -> bool:
        """Return whether there is more of it than a stage that began or failed."""
        return self.traced is not None or self.compiled is not None or self.executed is not None or bool(self.asked)

    @property
    def is_operation(self) -> bool:
        """Return whether this is an operation or a library function run outside of jit, of xlascope or of jax."""
        return self.traced is not None and self.traced.is_operation

    @property
    def title(self) -> str:
        """Return the name to display: of an operation as its user called it: ``random.split``."""
        return _INTERNAL_NAMES.sub("random.", self.function).lstrip("_") if self.is_operation else self.function

    @property
    def weight(self) -> tuple[bool, float, int]:
        """Return the sort key of importance: function or operation, measured seconds, number of equations."""
        run_seconds = self.executed.running if self.executed else 0.0
        build_seconds = sum(stage.seconds for stage in (self.traced, self.lowered, self.compiled) if stage is not None)
        return not self.is_operation, run_seconds + build_seconds, self.equations


@dataclass
class ProgramStore:
    """Programs of a cell by number, in order of appearance, and failures that belong to none of them.

    At most ``MAX_PROGRAMS`` are stored: beyond that the least important half is evicted, and its later records are
    ignored. ``diff`` is set if the two programs are those of a comparison.
    """

    programs: dict[int, ProgramState] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    retraces: Retraces = field(default_factory=Retraces)
    #: Numbers of evicted programs, mostly single operations.
    evicted: set[int] = field(default_factory=set)
    _traces: Counter[str] = field(default_factory=Counter)
    diff: Diff | None = None
    #: Answers to scaling questions.
    scaled: list[Scaled] = field(default_factory=list)
    #: The watched script that ran these programs, if any.
    script: ScriptRun | None = None
    #: The report of the job of several processes, if these records are one.
    job: JobReport | None = None
    #: The account of the time of the cell or script.
    time_account: TimeAccount | None = None

    @classmethod
    def of(cls, shown: Iterable[Record] | Diff) -> ProgramStore:
        """Build the store of these records, or of both programs of a comparison."""
        store = cls(diff=shown if isinstance(shown, Diff) else None)
        for record in records_of_both(shown) if isinstance(shown, Diff) else shown:
            store.receive(record)
        return store

    def receive(self, record: Record) -> bool:
        """Add a record; return whether it changes what is drawn, not only numbers."""
        if isinstance(record, ScriptRun):
            self.script = record
            return True
        if isinstance(record, TimeAccount):
            self.time_account = record
            return False
        if isinstance(record, JobReport):
            self.job = record
            return True
        if isinstance(record, JobProcess | SharedCalls):
            return False
        if record.program is None:
            self.failures.append(record)
            return False
        if isinstance(record, Scaled):
            self.scaled.append(record)
            return True
        if record.program in self.evicted:
            return False
        self.retraces.receive(record)
        program = self.programs.get(record.program)
        if program is None:
            program = self.programs[record.program] = ProgramState(number=record.program, function=record.function)
        changed = program.receive(record)
        if isinstance(record, Traced) and not program.is_operation:
            self._traces[program.function] += 1
            program.traces = self._traces[program.function]
        if len(self.programs) > MAX_PROGRAMS:
            self._evict()
        return changed

    def records(self) -> Iterator[Record]:
        """Yield the stored records, program by program."""
        for program in self.programs.values():
            yield from program.records()
            yield from (record for record in (program.active, program.continued) if record is not None)
        yield from self.failures
        yield from (record for record in (self.script, self.job, self.time_account) if record is not None)

    def _evict(self) -> None:
        """Evict about half of the programs, the least important ones; the latest always stay."""
        latest = set(list(self.programs)[-MAX_PROGRAMS // 10 :])
        for program in self.sorted_by_weight()[MAX_PROGRAMS // 2 :]:
            if program.number not in latest:
                self.evicted.add(program.number)
                del self.programs[program.number]

    def sorted_by_weight(self) -> list[ProgramState]:
        """Return the programs by decreasing importance."""
        return sorted(self.programs.values(), key=lambda program: program.weight, reverse=True)

    def select_shown(self, most: int) -> list[ProgramState]:
        """Return at most ``most`` programs to show; of a script, those stored in full, in its own order."""
        if self.script is None:
            return self.sorted_by_weight()[:most]
        retained = (self.programs.get(item.program or 0) for item in self.script.shares if item.kept)
        return sorted((item for item in retained if item is not None), key=lambda item: item.is_operation)[:most]

    @property
    def runs(self) -> dict[str, CellRun]:
        """Return by function the records that a later run of the same cell is compared with.

        Of several programs of one function name, the most important one is used.
        """
        shown = [
            program for program in self.sorted_by_weight() if program.traced is not None and not program.is_operation
        ]
        return {program.function: program.as_run for program in reversed(shown[:MAX_COMPARED_FUNCTIONS])}

    @property
    def main(self) -> ProgramState | None:
        """Return the program that is selected by default."""
        if self.diff is not None:
            return self.programs.get(AFTER)
        return next(iter(self.select_shown(1)), None)
