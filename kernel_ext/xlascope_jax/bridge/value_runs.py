"""Runs of twins of a call of jax: what was measured of each value, and how the results compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np

from xlascope.inspect.program import ComparedOutputs, ProbedRun, QuestionError
from xlascope.inspect.value_measurements import (
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
from xlascope.xla.materialization import BARRIER_EXPANDER_PASS, LOOP_HOISTING_PASS, disable_passes

from .bodies import open_jaxpr
from .jax_compat import consts_of
from .programs import ProgramEntry
from .stage_hooks import StageHooks
from .value_probes import Magnitudes, Probe, Statistics, is_probed
from .value_twin import CLOSED_OPERATIONS, TwinBuilder, find_operations

_PRINTS = frozenset({"debug_callback", "debug_print"})
_CALLBACKS = frozenset({"pure_callback", "io_callback"})


class ProbedCall(NamedTuple):
    """Call whose values are asked for: the jaxpr that jax lowers, its operands, and the options of its compilation.

    ``twins`` caches what was built for it, as long as the program lives.
    """

    program: Any
    operands: Sequence[Any]
    options: Mapping[str, Any]
    twins: dict[Any, Any]
    stages: StageHooks


class Twin(NamedTuple):
    """Jitted twin, and the builder that knows its sites once it was traced."""

    function: Any
    builder: TwinBuilder


def run_first_pass(call: ProbedCall, selection: Selection) -> ProbedRun:
    """Run the twin that finds the range of each value; ``selection`` are the equations, None for all."""
    seconds, outputs, state, builder = _run(call, Magnitudes(), selection)
    return ProbedRun(describe_ranges(builder.sites, builder.depth, state), seconds, outputs)


def run_statistics(call: ProbedCall, selection: Selection, until: str) -> ProbedRun:
    """Run the twin with full statistics of the chosen equations; ``until`` is as for :class:`Statistics`."""
    seconds, outputs, state, builder = _run(call, Statistics(until), selection)
    return ProbedRun(describe_statistics(builder.sites, state), seconds, outputs)


def find_probed_call(
    entry: ProgramEntry, captured: Sequence[tuple[Any, Sequence[Any]]], options: Mapping[str, Any], stages: StageHooks
) -> ProbedCall:
    """Return the call of a program, of whose operands those that jax drops as unused are left out.

    ``captured`` are jaxprs with operands, as :meth:`.StageHooks.capture_operands` collects them. Raises QuestionError
    if the program is not among them, or takes mutable arrays.
    """
    program, unpruned = entry.closed_ref(), entry.unpruned_ref()
    matching = [operands for jaxpr, operands in captured if unpruned is not None and jaxpr is unpruned]
    if program is None or not matching:
        raise QuestionError(
            f"the values of {entry.name} are not known: jax has dropped its trace, or holds its arguments"
        )
    used_variables = set(open_jaxpr(program).invars)
    variables = open_jaxpr(unpruned).invars
    operands = [x for variable, x in zip(variables, matching[-1], strict=True) if variable in used_variables]
    if len(operands) != len(used_variables):
        raise QuestionError(
            f"the values of {entry.name} are not known: it takes mutable arrays (jax.Ref); pass arrays and return the "
            "new ones instead"
        )
    avals = (variable.aval for variable in open_jaxpr(program).invars)
    return ProbedCall(
        program,
        [_as_operand(x, aval) for x, aval in zip(operands, avals, strict=True)],
        options,
        entry.answer_cache,
        stages,
    )


def _as_operand(x: Any, aval: Any) -> Any:
    """Return an argument as an array of the type with which it was traced: jax's settings are others for twins."""
    return x if isinstance(x, jax.Array) else jax.numpy.asarray(x, dtype=aval.dtype)


def calls_python(program: Any) -> bool:
    """Return whether a jaxpr prints or calls Python."""
    return bool(find_operations(open_jaxpr(program), _PRINTS | _CALLBACKS))


def has_bad_results(results: Sequence[Any]) -> bool | None:
    """Return whether a result holds NaN or infinity; None if they have more than :data:`MAX_COMPARED_BYTES`."""
    probed = list(filter(is_probed, results))
    if sum(x.nbytes for x in probed) > MAX_COMPARED_BYTES:
        return None
    return any(not np.isfinite(_as_numpy(x)).all() for x in probed)


def compare_with_original(program: Any, run: Callable[[], list[Any]], outputs: Sequence[Any]) -> ComparedOutputs:
    """Compare results of a twin with those that ``run()`` returns, the user's call; it is not run if that has effects.

    Notes say into which equations the twin did not look.
    """
    jaxpr = open_jaxpr(program)
    notes = [
        f"{name}: what it computes inside was not looked at, its results were ({count} such)"
        for name, count in sorted(find_operations(jaxpr, CLOSED_OPERATIONS).items())
    ]
    if find_operations(jaxpr, frozenset({"io_callback"})):
        return ComparedOutputs(0.0, 0, None, (*notes, IO_NOTE))
    if calls_python(program):
        return ComparedOutputs(0.0, 0, None, (*notes, PYTHON_NOTE))
    seconds, expected = time_runs(run, MAX_RUNS)
    if [(x.shape, x.dtype) for x in expected] != [(x.shape, x.dtype) for x in outputs]:
        notes.append("the function returns its results in another form: they were not compared with the program's own")
        return ComparedOutputs(seconds, 0, None, tuple(notes))
    equal, difference, note = compare_outputs(expected, outputs)
    return ComparedOutputs(seconds, equal, difference, (*notes, note) if note else tuple(notes))


def _run(call: ProbedCall, probe: Probe, selection: Selection) -> tuple[float, list[Any], Sequence[Any], TwinBuilder]:
    """Run a twin once or, if that is short and has no effects, more often; return seconds, results, state and sites."""
    twin = get_twin(call, probe, selection)
    consts, operands = consts_of(call.program), call.operands
    with twin_settings(call.stages):
        if not twin.builder.is_traced:
            twin.function.lower(consts, operands).compile()  # so that the first run takes no time for it
        runs = 1 if calls_python(call.program) else MAX_RUNS
        states: list[Any] = []

        def run() -> list[Any]:
            states.clear()
            results, state = twin.function(consts, operands)
            states[:] = jax.block_until_ready(state)
            return list(results)

        seconds, outputs = time_runs(run, runs)
    return seconds, outputs, states, twin.builder


def get_twin(call: ProbedCall, probe: Probe, selection: Selection) -> Twin:
    """Return the jitted twin of a call's program, which jax compiles once for the types of its operands."""
    key = "value twin", probe, selection
    twin: Twin | None = call.twins.get(key)
    if twin is None:
        builder = TwinBuilder(call.program, probe, selection)
        twin = call.twins[key] = Twin(jit_twin(call, builder), builder)
    return twin


def jit_twin(call: ProbedCall, function: Callable[..., Any]) -> Any:
    """Jit a function of the constants and operands of a program; it is compiled as that is, and its barriers stay."""
    options = dict(call.options)
    if jax.default_backend() == "cpu":
        options = dict(disable_passes(tuple(options.items()), (BARRIER_EXPANDER_PASS, LOOP_HOISTING_PASS)))
    return jax.jit(function, compiler_options=options)


@contextmanager
def twin_settings(stages: StageHooks) -> Iterator[None]:
    """Return a context manager in which twins are traced and run: with 64 bits for statistics, unwatched, unchecked."""
    with ExitStack() as stack:
        for setting in (jax.enable_x64(True), jax.debug_nans(False), jax.debug_infs(False), jax.disable_jit(False)):
            stack.enter_context(setting)
        stack.enter_context(stages.pause())
        yield


def _as_numpy(x: Any) -> Any:
    array = np.asarray(x)
    return array if array.dtype.kind in "fc" else array.astype(np.float32)
