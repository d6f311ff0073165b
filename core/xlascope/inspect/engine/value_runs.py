"""Runs of twins of a call's program: what was measured of each value, and how the results compare."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from ... import records
from ...control.jit.jit_function import jit_function
from ...ir.effects import calls_python, is_io
from ...xla.execution.executables import Executable
from ...xla.materialization import BARRIER_EXPANDER_PASS, LOOP_HOISTING_PASS, disable_passes
from ..program import ComparedOutputs, ProbedRun
from ..value_measurements import (
    IO_NOTE,
    MAX_COMPARED_BYTES,
    MAX_RUNS,
    PYTHON_NOTE,
    Selection,
    compare_outputs,
    describe_ranges,
    describe_statistics,
    time_runs,
)
from .traced_calls import InspectedCall
from .value_probes import Magnitudes, Statistics, is_probed
from .value_twin import Twin, twin_of


def run_first_pass(call: InspectedCall, selection: Selection) -> ProbedRun:
    """Run the twin that finds the range of each value; ``selection`` are the equations, None for all."""
    twin = twin_of(call.traced.program, Magnitudes(), selection)
    seconds, outputs, state = _run(call, twin)
    return ProbedRun(describe_ranges(twin.sites, twin.depth, state), seconds, outputs)


def run_statistics(call: InspectedCall, selection: Selection, until: str) -> ProbedRun:
    """Run the twin with full statistics of the chosen equations; ``until`` is as for :class:`Statistics`."""
    twin = twin_of(call.traced.program, Statistics(until), selection)
    seconds, outputs, state = _run(call, twin)
    return ProbedRun(describe_statistics(twin.sites, state), seconds, outputs)


def _run_original(call: InspectedCall, most: int) -> tuple[float, list[Any]]:
    """Run the program itself on copies of donated arguments, at most so often; return its seconds and results."""
    executable = call.executable()
    operands = call.put_operands(executable)
    is_donated = call.donated_operands or (False,) * len(operands)

    def run() -> list[Any]:
        return executable(
            [copy(x) if donated else x for x, donated in zip(operands, is_donated, strict=True)], call.avals
        )

    return time_runs(run, most)


def has_bad_results(call: InspectedCall) -> bool | None:
    """Run the program itself and return whether a result holds NaN or infinity.

    None if the program calls Python, and if its results have more than :data:`MAX_COMPARED_BYTES`.
    """
    avals = call.traced.program.out_avals
    probed = [index for index, aval in enumerate(avals) if is_probed(aval)]
    size = sum(avals[index].size * avals[index].dtype.itemsize for index in probed)
    if size > MAX_COMPARED_BYTES or calls_python(call.traced.program.effects):
        return None
    results = _run_original(call, 1)[1]
    return any(not np.isfinite(np.asarray(results[index])).all() for index in probed)


def compare_with_original(call: InspectedCall, outputs: Sequence[Any]) -> ComparedOutputs:
    """Run the program itself and compare its results with those of a twin; it is not run if that has effects."""
    effects = call.traced.program.effects
    if is_io(effects):
        return ComparedOutputs(0.0, 0, None, (IO_NOTE,))
    if calls_python(effects):
        return ComparedOutputs(0.0, 0, None, (PYTHON_NOTE,))
    seconds, expected = _run_original(call, MAX_RUNS)
    equal, difference, note = compare_outputs(expected, outputs)
    return ComparedOutputs(seconds, equal, difference, (note,) if note else ())


def _run(call: InspectedCall, twin: Twin) -> tuple[float, list[Any], list[Any]]:
    """Run a twin once or, if that is short and has no effects, twice; return seconds, results and state."""
    executable = twin_executable(call, twin)
    operands = call.put_operands(executable)
    runs = 1 if calls_python(call.traced.program.effects) else MAX_RUNS
    seconds, results = time_runs(lambda: executable(operands, call.avals), runs)
    count = len(call.traced.program.jaxpr.outvars)
    return seconds, results[:count], results[count:]


def twin_executable(call: InspectedCall, twin: Twin) -> Executable:
    """Return the executable of a twin, compiled if necessary: it donates nothing and keeps its barriers."""
    traced = call.traced._replace(program=twin.program, number=records.next_program())
    options = call.jitted.options
    flags = options.compile.flags
    if call.place.device is None or call.place.device.platform == "cpu":
        flags = disable_passes(flags, (BARRIER_EXPANDER_PASS, LOOP_HOISTING_PASS))
    options = options._replace(donate_argnums=(), donate_argnames=(), out_shardings=None)
    options = options.with_compile_options(flags=flags, keep="off", reroll="off")
    twin_call = call._replace(traced=traced, jitted=jit_function(call.jitted.function, options)._jitted)
    return twin_call.executable()
