"""Producer of programs from calls of xlascope's own engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ... import records
from ...analysis.doctor import Copied
from ...control.jit.known_calls import known_call
from ...ir.avals import ShapeDtypeStruct
from ...runtime.errors import JaxRuntimeError
from ...xla.keeping.policy import asked_for
from ..producers import Asked
from ..program import ChangeError, Host, Program, Source, Variant
from ..quiet import inspection
from ..running.measure import measure
from ..running.runs import register_runs
from .calls import Call, compiled_records, executables_of, traced_call, traces_of
from .changes import changed
from .lowered import lowered_for
from .measured import caller, ceilings, copied, runner
from .planned import Plan
from .runs import EngineRuns


class Engine:
    """Producer for all functions that no other producer accepts: it traces any function of arrays."""

    def __init__(self) -> None:
        register_runs(EngineRuns())

    def program(self, asked: Asked) -> Program:
        """Return the program of a call; an earlier trace of an equal call is used again."""
        return as_program(*traced_call(*asked), asked)

    def find(self, number: int) -> Program | None:
        """Return the program with a number from its function's traces; None when function or trace is gone."""
        recorded = known_call(number)
        return None if recorded is None else self.program(Asked(*recorded.remade()))

    def plan(self, asked: Asked, mesh: Mapping[str, int | None], specs: Any, growing: Sequence[str]) -> Plan:
        """Return the plan of a call on devices that are not present."""
        return Plan(asked, mesh, specs, growing)


def as_program(call: Call, traced: records.Traced, asked: Asked) -> Program:
    """Return a traced call as a program, which is lowered on demand, with each platform's rules."""

    def lower(platform: str) -> Source:
        return lowered_for(call, platform)

    return Program(lower, traced, options=call.jitted.options.compile.flags, host=CallHost(call, traced, asked))


class CallHost(Host):
    """Operations of this process on a call: compile it as it runs here, run it, and change it."""

    def __init__(self, call: Call, traced: records.Traced, asked: Asked) -> None:
        super().__init__(call.traced.program.derived, (call.donated, call.jitted.options.compile.keep_unused))
        self.call, self.traced, self.asked = call, traced, asked

    def compiled(self) -> list[records.Record]:
        """Compile the call as the function itself runs it, if necessary, and return the records."""
        with inspection():
            return compiled_records(self.call, self.traced)

    def keeps_nothing(self) -> str:
        """Return the reason if the function or the settings say so."""
        return "keep is 'off'" if asked_for(self.call.jitted.options.compile.keep) == "off" else ""

    def running(self) -> str:
        """Return the optimized HLO of the first executable, ``""`` if the call never ran."""
        executables = executables_of(self.call.traced.program)
        return executables[0].compilation.text() if executables else ""

    def measured(self, compiled: records.Compiled) -> list[records.Record]:
        """Measure the call inside profiler windows."""
        with inspection():
            executed = measure(caller(self.call), compiled)
            return [executed, ceilings(self.call, executed)]

    def copied(self) -> Copied | None:
        """Measure the user's call, with its NumPy arguments; a function that is not jitted is jitted for it."""
        labels = [self.traced.jaxpr.variables[name].label for name in self.traced.jaxpr.inputs]
        names = [label or f"argument {number}" for number, label in enumerate(labels)]
        with inspection():
            return copied(self.call, names, lambda: self.call.function(*self.asked.args, **self.asked.kwargs))

    def numbers(self) -> frozenset[int]:
        """Return the numbers of the function's traces."""
        return frozenset(traced.number for traced in traces_of(self.call.function))

    def check_callable(self) -> None:
        """Accept every call."""

    def unmeasured(self) -> str:
        """Return the reason if the arguments are types without values."""
        shapes = any(isinstance(x, ShapeDtypeStruct) for x in self.call.arguments.operands)
        return "there are shapes and no values among the arguments" if shapes else ""

    def runner(self) -> Callable[[], None]:
        """Return a function that makes the call itself, with its arguments on the device already."""
        return runner(self.call, self.call.executable())

    def changed(self, change: Mapping[str, Any], platform: str) -> Variant:
        """Return the call with one thing changed, traced again."""
        modified = changed(self.asked, change)
        with inspection(), modified.setting, _complaining(change):
            call, traced = traced_call(*modified.asked)
            if modified.rewrite is not None:
                call, traced = modified.rewrite(call, platform or call.place.device.platform)
        program = as_program(call, traced, modified.asked)
        return Variant(program, modified.words, modified.unmeasured, modified.on_cpu, _complaining(change))


@contextmanager
def _complaining(change: Mapping[str, Any]) -> Iterator[None]:
    """Turn XLA's error about one of its options into a ChangeError."""
    try:
        yield
    except JaxRuntimeError as error:
        if "options" not in change:
            raise
        raise ChangeError(str(error)) from None
