"""Runs of twins of a call's program: what was measured of each value, and how the results compare."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from ... import records
from ...control.jit.jit_function import jit_function
from ...ir.effects import calls_python, is_io
from ...key_types import is_key
from ...records import ProbedValue, ValueStatistics
from ...records.values import Health
from ...xla.arrays.key_array import KeyArray
from ...xla.execution.executables import Executable
from ...xla.materialization import BARRIER_EXPANDER_PASS, LOOP_HOISTING_PASS, disable_passes
from ..program import ComparedOutputs, ProbedRun
from .traced_calls import InspectedCall
from .value_probes import (
    COUNTS,
    INFINITY_BITS,
    MAGNITUDE_MASK,
    MIN_EXPONENT,
    NEVER,
    RAN,
    Magnitudes,
    Statistics,
    is_probed,
)
from .value_twin import Selection, Site, Twin, twin_of

#: Maximum bytes of results that are compared with those of the program itself.
MAX_COMPARED_BYTES = 1 << 26
#: Number of runs whose shortest time counts; no run starts after this many seconds of them.
MAX_RUNS, MAX_REPEATED_SECONDS = 3, 1.0


def run_first_pass(call: InspectedCall, selection: Selection) -> ProbedRun:
    """Run the twin that finds the range of each value; ``selection`` are the equations, None for all."""
    twin = twin_of(call.traced.program, Magnitudes(), selection)
    seconds, outputs, state = _run(call, twin)
    if not twin.sites:
        return ProbedRun([], seconds, outputs)
    codes = np.asarray(state[0])
    iterations = np.asarray(state[1]) if twin.depth else np.zeros((len(codes), 2, 0), np.int32)
    values = [_describe_code(*row) for row in zip(twin.sites, codes, iterations, strict=True)]
    return ProbedRun(_in_order(_join_devices(values)), seconds, outputs)


def run_statistics(call: InspectedCall, selection: Selection, until: str) -> ProbedRun:
    """Run the twin with full statistics of the chosen equations; ``until`` is as for :class:`Statistics`."""
    twin = twin_of(call.traced.program, Statistics(until), selection)
    seconds, outputs, state = _run(call, twin)
    rows = [np.asarray(array) for array in state[:4]] if twin.sites else [np.zeros((0, 0))] * 4
    groups: dict[Site, list[tuple[Any, ...]]] = {}
    for site, *row in zip(twin.sites, *rows, strict=True):
        groups.setdefault(site._replace(devices=()), []).append(tuple(row))
    return ProbedRun(_in_order(_describe_rows(site, rows) for site, rows in groups.items()), seconds, outputs)


def _in_order(values: Iterable[ProbedValue]) -> list[ProbedValue]:
    """Return values in the order of the program: arguments first, outputs last."""
    return sorted(values, key=lambda value: (value.position == "output", value.path))


def _run_original(call: InspectedCall, most: int) -> tuple[float, list[Any]]:
    """Run the program itself on copies of donated arguments, at most so often; return its seconds and results."""
    executable = call.executable()
    operands = call.put_operands(executable)
    is_donated = call.donated_operands or (False,) * len(operands)

    def run() -> list[Any]:
        return executable(
            [copy(x) if donated else x for x, donated in zip(operands, is_donated, strict=True)], call.avals
        )

    return _time_runs(run, most)


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
        note = "the program calls Python for input or output (io_callback), which ran once more for each answer here"
        return ComparedOutputs(0.0, 0, None, (note,))
    if calls_python(effects):
        note = "the program prints or calls Python: that was left out here, and the program itself was not run again"
        return ComparedOutputs(0.0, 0, None, (note,))
    seconds, expected = _run_original(call, MAX_RUNS)
    equal, difference, note = compare_outputs(expected, outputs)
    return ComparedOutputs(seconds, equal, difference, (note,) if note else ())


def compare_outputs(expected: Sequence[Any], outputs: Sequence[Any]) -> tuple[int, float | None, str]:
    """Compare results; return the number of equal ones, the largest relative difference of the others, and a note."""
    pairs = [
        (x, y) for x, y in zip(expected, outputs, strict=True) if not isinstance(x, KeyArray) and not is_key(x.dtype)
    ]
    if sum(x.nbytes for x, _ in pairs) > MAX_COMPARED_BYTES:
        return 0, None, f"results of more than {MAX_COMPARED_BYTES >> 20} MiB are not compared with the program's own"
    equal, difference = 0, 0.0
    for x, y in pairs:
        first, second = np.asarray(x), np.asarray(y)
        if first.tobytes() == second.tobytes():
            equal += 1
        elif first.dtype.kind not in "biu":
            difference = max(difference, _relative_difference(first, second))
        else:
            difference = float("inf")
    return equal, difference if pairs else None, ""


def _relative_difference(first: Any, second: Any) -> float:
    """Return the largest difference of finite elements, relative to the largest magnitude; inf if others differ."""
    kind = np.complex128 if first.dtype.kind == "c" else np.float64
    first, second = first.astype(kind), second.astype(kind)
    finite = np.isfinite(first)
    if not np.array_equal(finite, np.isfinite(second)):
        return float("inf")
    if not finite.any():
        return 0.0
    scale = float(np.abs(first[finite]).max())
    return float(np.abs(first[finite] - second[finite]).max()) / scale if scale else float(np.abs(second).max() > 0)


def _run(call: InspectedCall, twin: Twin) -> tuple[float, list[Any], list[Any]]:
    """Run a twin once or, if that is short and has no effects, twice; return seconds, results and state."""
    executable = twin_executable(call, twin)
    operands = call.put_operands(executable)
    runs = 1 if calls_python(call.traced.program.effects) else MAX_RUNS
    seconds, results = _time_runs(lambda: executable(operands, call.avals), runs)
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


def _time_runs(run: Callable[[], list[Any]], most: int) -> tuple[float, list[Any]]:
    """Run once, or if that is short up to ``most`` times; return the shortest seconds and the last results."""
    best, total, results = float("inf"), 0.0, list[Any]()
    for _ in range(most):
        results.clear()  # before the next ones need memory
        began = time.perf_counter()
        results = list(run())
        for result in results:
            result.block_until_ready()
        seconds = time.perf_counter() - began
        best, total = min(best, seconds), total + seconds
        if total > MAX_REPEATED_SECONDS:
            break
    return best, results


def _describe_code(site: Site, code: Any, iterations: Any) -> tuple[Site, ProbedValue]:
    bits = np.uint32(code) & MAGNITUDE_MASK
    first = [tuple(map(int, row[: site.depth])) for row in iterations]
    is_nan, is_bad = bits > INFINITY_BITS, bits >= INFINITY_BITS
    ran = bool(np.uint32(code) & RAN)
    return site, ProbedValue(
        path=site.path,
        position=site.position,
        index=site.number,
        name="",
        shape=(),
        dtype="",
        health="nan" if is_nan else "inf" if is_bad else "finite" if ran else "not run",
        largest=None if is_bad or not ran else float(bits.view(np.float32)),
        first_nan=first[0] if is_nan and NEVER not in first[0] else None,
        first_inf=first[1] if is_bad and NEVER not in first[1] else None,
    )


_ORDER = {"nan": 3, "inf": 2, "finite": 1, "not run": 0}


def _join_devices(described: Sequence[tuple[Site, ProbedValue]]) -> list[ProbedValue]:
    """Return one value for the same site on all devices of a ``shard_map``: the worst, and the earliest events."""
    groups: dict[Site, list[ProbedValue]] = {}
    for site, value in described:
        groups.setdefault(site._replace(devices=()), []).append(value)
    joined = []
    for values in groups.values():
        worst = max(values, key=lambda value: (_ORDER[value.health], value.largest or 0.0))
        if len(values) > 1:
            worst = replace(
                worst,
                first_nan=min((v.first_nan for v in values if v.first_nan is not None), default=None),
                first_inf=min((v.first_inf for v in values if v.first_inf is not None), default=None),
                devices=tuple(value.health for value in values),
            )
        joined.append(worst)
    return joined


def _describe_rows(site: Site, rows: Sequence[tuple[Any, ...]]) -> ProbedValue:
    """Return the statistics of one site, of all devices together."""
    sums, histogram = (np.sum([row[index] for row in rows], axis=0) for index in (0, 1))
    low, high = min(row[2] for row in rows), max(row[3] for row in rows)
    counts = dict(zip(COUNTS, map(int, sums), strict=False))
    total, squares = sums[len(COUNTS) :]
    finite = counts["elements"] - counts["nans"] - counts["infs"]
    statistics = ValueStatistics(
        **counts,
        minimum=float(low) if finite else None,
        maximum=float(high) if finite else None,
        mean=float(total / finite) if finite else None,
        root_mean_square=float(np.sqrt(squares / finite)) if finite else None,
        exponents=tuple((MIN_EXPONENT + int(i), int(histogram[i])) for i in np.flatnonzero(histogram)),
    )
    health: Health = (
        "nan" if counts["nans"] else "inf" if counts["infs"] else "finite" if counts["elements"] else "not run"
    )
    largest = max(abs(low), abs(high)) if health == "finite" and finite else None
    return ProbedValue(
        site.path,
        site.position,
        site.number,
        "",
        (),
        "",
        health,
        largest,
        statistics=statistics,
    )
