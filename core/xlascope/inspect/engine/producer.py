"""Producer of programs from calls of xlascope's own engine."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from ... import records, tree
from ...analysis.doctor import Copied, Narrowed
from ...control.jit.jitted import Jitted
from ...control.jit.program_calls import find_program_call
from ...ir.avals import ShapeDtypeStruct
from ...records.values import Position
from ...runtime.boot import enable_x64
from ...runtime.errors import JaxRuntimeError
from ...xla.devices.backend import ArrayImpl
from ...xla.materialization.policy import resolve_policy
from ..inspection_scope import inspection
from ..narrowed_arguments import find_narrowed
from ..producers import Query
from ..program import DELETED, CapturedValue, ChangeError, ComparedOutputs, Host, ProbedRun, Program, Source, Variant
from ..running.engines import register_engine
from ..running.measurement import measure
from ..written_call import WrittenCall
from .call_measurement import make_runner, make_user_call, measure_argument_copies, measure_device_ceilings
from .changes import apply_change
from .execution import JitExecutionEngine
from .lowering import lower_for
from .scaling_plan import ScalingPlan
from .step_watcher import StepWatcher
from .traced_calls import InspectedCall, compile_with_records, executables_of, jitted_of, trace_with_record, traces_of
from .value_capture import capture
from .value_runs import compare_with_original, has_bad_results, run_first_pass, run_statistics


class EngineProducer:
    """Producer for all functions that no other producer accepts: it traces any function of arrays."""

    def __init__(self) -> None:
        register_engine(JitExecutionEngine())

    def program(self, query: Query) -> Program:
        """Return the program of a call; an earlier trace of an equal call is used again."""
        return as_program(*trace_with_record(*query), query)

    def find(self, number: int) -> Program | None:
        """Return the program with a number from its function's traces; None when function or trace is gone."""
        recorded = find_program_call(number)
        return None if recorded is None else self.program(Query(*recorded.rebuild()))

    def written_call(self, query: Query) -> WrittenCall | Literal["jitted"]:
        """Return the call as its user wrote it, or that its function is jitted."""
        return "jitted" if jitted_of(query.function) else WrittenCall(*query, tree.map, tree.leaves)

    def step_watcher(
        self,
        step: Any,
        every: int,
        probe: Callable[[Any, tuple[Any, ...], dict[str, Any]], records.ValueReport],
        changed: Callable[[], None],
    ) -> StepWatcher | None:
        """Return a watcher of a jitted function, which is not started; None for any other function.

        ``step`` may also be the Python side of a jitted function, a method that is one, or a partial of one.
        The other parameters are as for :class:`.StepWatcher`.
        """
        while isinstance(step, (functools.partial, types.MethodType)):
            step = step.func if isinstance(step, functools.partial) else step.__func__
        jitted = step if isinstance(step, Jitted) else jitted_of(step)
        if jitted is None:
            return None
        return StepWatcher(jitted, every, probe, changed, None if step is jitted else step)

    def plan(self, query: Query, mesh: Mapping[str, int | None], specs: Any, growing: Sequence[str]) -> ScalingPlan:
        """Return the plan of a call on devices that are not present; see :class:`ScalingPlan` for the parameters."""
        return ScalingPlan(query, mesh, specs, growing)


def as_program(call: InspectedCall, traced: records.Traced, query: Query) -> Program:
    """Return a traced call as a program, which is lowered on demand, with each platform's rules.

    ``traced`` is the record of its trace.
    """

    def lower(platform: str) -> Source:
        return lower_for(call, platform)

    return Program(lower, traced, options=call.jitted.options.compile.flags, host=EngineCallHost(call, traced, query))


class EngineCallHost(Host):
    """Operations of this process on a call: compile it as it runs here, run it, and change it."""

    def __init__(self, call: InspectedCall, traced: records.Traced, query: Query) -> None:
        super().__init__(call.traced.program.derived, (call.donated_operands, call.jitted.options.compile.keep_unused))
        self.call, self.traced, self.asked = call, traced, query

    def compiled(self) -> list[records.Record]:
        """Compile the call as the function itself runs it, if necessary, and return the records."""
        with inspection():
            return compile_with_records(self.call, self.traced)

    def keeps_nothing(self) -> str:
        """Return the reason if the function or the settings turn materialization off, ``""`` otherwise."""
        return "keep is 'off'" if resolve_policy(self.call.jitted.options.compile.keep) == "off" else ""

    def running(self) -> str:
        """Return the optimized HLO of the first executable, ``""`` if the call never ran."""
        executables = executables_of(self.call.traced.program)
        return executables[0].compilation.text() if executables else ""

    def measured(self, compiled: records.Compiled) -> list[records.Record]:
        """Measure the compiled call, in profiler windows and by the host's clock, and the device's peak rates."""
        with inspection():
            executed = measure(make_user_call(self.call), compiled)
            return [executed, measure_device_ceilings(self.call, executed)]

    def copied(self) -> Copied | None:
        """Measure what copying the call's NumPy arguments costs, in calls as the user makes them.

        A function that is not jitted is jitted for it. None if there are no large NumPy arguments, or if the calls
        cannot be compared.
        """
        with inspection():
            return measure_argument_copies(
                self.call, self._operand_names(), lambda: self.call.function(*self.asked.args, **self.asked.kwargs)
            )

    def compare_narrowed(self) -> Narrowed | None:
        """Return what narrowing does to the call's NumPy arrays in float64; None with x64."""
        if enable_x64.value:
            return None
        return find_narrowed(zip(self._operand_names(), self.call.arguments.operands, strict=True))

    def _operand_names(self) -> list[str]:
        labels = [self.traced.jaxpr.variables[name].label for name in self.traced.jaxpr.inputs]
        return [label or f"argument {number}" for number, label in enumerate(labels)]

    def numbers(self) -> frozenset[int]:
        """Return the program numbers of all traces of the function that is called."""
        return frozenset(traced.number for traced in traces_of(self.call.function))

    def check_callable(self) -> None:
        """Accept every call."""

    def unmeasured(self) -> str:
        """Return the reason if the arguments are types without values, or deleted arrays; ``""`` otherwise."""
        operands = self.call.arguments.operands
        if any(isinstance(x, ShapeDtypeStruct) for x in operands):
            return "there are shapes and no values among the arguments"
        deleted = (
            name
            for name, x in zip(self._operand_names(), operands, strict=True)
            if isinstance(x, ArrayImpl) and x.is_deleted()
        )
        return next((f"{name} {DELETED}" for name in deleted), "")

    def runner(self) -> Callable[[], None]:
        """Return a function that makes the call itself, with its arguments on the device already."""
        return make_runner(self.call, self.call.executable())

    def user_runner(self) -> Callable[[], None]:
        """Return a function that makes the call as its user does, repeated by jaxlib in C++ where that is possible."""
        return make_user_call(self.call)

    def argument_bytes(self) -> int:
        """Return the bytes of the arrays among the call's arguments; see :meth:`.Host.argument_bytes`."""
        return sum(int(getattr(operand, "nbytes", 0)) for operand in self.call.arguments.operands)

    def probed_ranges(self, selection: frozenset[records.EquationPath] | None) -> ProbedRun:
        """Run the call as a twin that finds the range of each value; see :meth:`.Host.probed_ranges`."""
        with inspection():
            return run_first_pass(self.call, selection)

    def probed_statistics(self, selection: frozenset[records.EquationPath] | None, until: str) -> ProbedRun:
        """Run the call as a twin with full statistics; see :meth:`.Host.probed_statistics`."""
        with inspection():
            return run_statistics(self.call, selection, until)

    def captured_value(
        self,
        path: records.EquationPath,
        position: Position,
        index: int,
        iterations: Sequence[int] = (),
        max_bytes: int = 1 << 30,
    ) -> CapturedValue:
        """Compute one value of the call again; see :meth:`.Host.captured_value`."""
        with inspection():
            return capture(self.call, path, position, index, iterations, max_bytes)

    def has_bad_results(self) -> bool | None:
        """Run the call once, unless that has effects, and return whether a result holds NaN or infinity."""
        with inspection():
            return has_bad_results(self.call)

    def compared_outputs(self, outputs: Sequence[Any]) -> ComparedOutputs:
        """Run the call itself, unless that has effects, and compare its results with those of a twin."""
        with inspection():
            return compare_with_original(self.call, outputs)

    def changed(self, change: Mapping[str, Any], platform: str) -> Variant:
        """Return the call with one thing changed, traced again; see :meth:`.Host.changed`."""
        modified = apply_change(self.asked, change)
        with inspection(), modified.setting, _as_change_error(change):
            call, traced = trace_with_record(*modified.asked)
            if modified.rewrite is not None:
                call, traced = modified.rewrite(call, platform or call.place.device.platform)
        program = as_program(call, traced, modified.asked)
        return Variant(program, modified.words, modified.unmeasured, modified.on_cpu, _as_change_error(change))


@contextmanager
def _as_change_error(change: Mapping[str, Any]) -> Iterator[None]:
    """Turn XLA's error about one of its options into a ChangeError if these are what was changed."""
    try:
        yield
    except JaxRuntimeError as error:
        if "options" not in change:
            raise
        raise ChangeError(str(error)) from None
