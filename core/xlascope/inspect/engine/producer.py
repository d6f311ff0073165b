"""Calls of our own engine as programs: the one place where they become such."""

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
    """The producer of all programs that no other producer has: it traces any function of arrays."""

    def __init__(self) -> None:
        register_runs(EngineRuns())

    def program(self, asked: Asked) -> Program:
        """The program of a call; an earlier trace of a call like it is used again."""
        return as_program(*traced_call(*asked), asked)

    def find(self, number: int) -> Program | None:
        """The program of a number, from what its function keeps; None when the function or the trace is gone."""
        known = known_call(number)
        return None if known is None else self.program(Asked(*known.remade()))

    def plan(self, asked: Asked, mesh: Mapping[str, int | None], specs: Any, growing: Sequence[str]) -> Plan:
        """How a call is to lie on devices that are not here."""
        return Plan(asked, mesh, specs, growing)


def as_program(call: Call, traced: records.Traced, asked: Asked) -> Program:
    """A traced call as a program: lowered when somebody asks, with each platform's rules."""

    def lowered(platform: str) -> Source:
        return lowered_for(call, platform)

    return Program(lowered, traced, options=call.jitted.options.compile.flags, host=CallHost(call, traced, asked))


class CallHost(Host):
    """What this process can do with a call: compile it as it runs here, run it, and change it."""

    def __init__(self, call: Call, traced: records.Traced, asked: Asked) -> None:
        super().__init__(call.traced.program.derived, (call.donated, call.jitted.options.compile.keep_unused))
        self.call, self.traced, self.asked = call, traced, asked

    def compiled(self) -> list[records.Record]:
        """Compiled as the function itself runs it, now if it was not before."""
        with inspection():
            return compiled_records(self.call, self.traced)

    def keeps_nothing(self) -> str:
        """As the function or the settings say."""
        return "keep is 'off'" if asked_for(self.call.jitted.options.compile.keep) == "off" else ""

    def running(self) -> str:
        """The optimized HLO of the first executable; one that never ran has none."""
        ran = executables_of(self.call.traced.program)
        return ran[0].compilation.text() if ran else ""

    def measured(self, compiled: records.Compiled) -> list[records.Record]:
        """Inside profiler windows."""
        with inspection():
            executed = measure(caller(self.call), compiled)
            return [executed, ceilings(self.call, executed)]

    def copied(self) -> Copied | None:
        """As the user makes the call, but for the function: one that is not jitted is compiled as it is elsewhere."""
        labels = [self.traced.jaxpr.variables[name].label for name in self.traced.jaxpr.inputs]
        names = [label or f"argument {number}" for number, label in enumerate(labels)]
        with inspection():
            return copied(self.call, names, lambda: self.call.function(*self.asked.args, **self.asked.kwargs))

    def numbers(self) -> frozenset[int]:
        """Those of the function's traces."""
        return frozenset(traced.number for traced in traces_of(self.call.function))

    def check_callable(self) -> None:
        """It is a call."""

    def unmeasured(self) -> str:
        """A call of types has no values to run with."""
        shapes = any(isinstance(x, ShapeDtypeStruct) for x in self.call.arguments.operands)
        return "there are shapes and no values among the arguments" if shapes else ""

    def runner(self) -> Callable[[], None]:
        """The call itself, its arguments on the device already."""
        return runner(self.call, self.call.executable())

    def changed(self, change: Mapping[str, Any], platform: str) -> Variant:
        """The call with one thing changed, traced again."""
        plan = changed(self.asked, change)
        with inspection(), plan.setting, _complaining(change):
            call, traced = traced_call(*plan.asked)
            if plan.rewrite is not None:
                call, traced = plan.rewrite(call, platform or call.place.device.platform)
        program = as_program(call, traced, plan.asked)
        return Variant(program, plan.words, plan.unmeasured, plan.on_cpu, _complaining(change))


@contextmanager
def _complaining(change: Mapping[str, Any]) -> Iterator[None]:
    """XLA's word against one of its options is one against the change."""
    try:
        yield
    except JaxRuntimeError as error:
        if "options" not in change:
            raise
        raise ChangeError(str(error)) from None
