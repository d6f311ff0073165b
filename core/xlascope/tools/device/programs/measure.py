"""Measurement of a program on one engine: its results, the first call, the step time and the dispatch time."""

from __future__ import annotations

import glob
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .engine import BenchmarkProgram, EngineModules
from .table import PROGRAMS

#: The maximum number of timed rounds, the approximate duration of one, and the time after which no round starts.
MAX_ROUNDS, ROUND_SECONDS, MAX_SECONDS = 25, 0.02, 1.5
#: The number of calls in a burst dispatched without waiting, and the number of bursts.
CALLS_PER_BURST, BURST_COUNT = 10, 7
#: The number of leading numbers of each result stored for comparison.
DIGEST_ELEMENT_COUNT = 6


def measure(engine: EngineModules, device: Any, name: str, size: str) -> dict[str, Any]:
    """Measure one program on a device and return the facts: first call, step time, dispatch time, digests of results.

    ``name`` is a key of ``PROGRAMS``, ``size`` is ``"small"`` or ``"large"``. Raises AssertionError for results that
    are not finite.
    """
    program = PROGRAMS[name](engine, size)
    function, arguments = engine.xs.jit(program.function), put_arguments(engine, device, program.arguments)
    began = time.perf_counter()
    out = engine.xs.block_until_ready(function(*arguments))
    first = time.perf_counter() - began
    numbers = digest(engine, out)
    call = repeat(engine, function, arguments, program.updates)
    rounds = time_rounds(call)
    median = statistics.median(rounds)
    facts = {
        "first_call_s": first,
        "step_ms": median * 1e3,
        "step_ms_low": min(rounds) * 1e3,
        "step_ms_high": max(rounds) * 1e3,
        "rounds": len(rounds),
        "dispatch_us": time_dispatch(engine, function, arguments) * 1e6,
        "numbers": numbers,
        "tolerance": program.tolerance,
        "device": str(device.device_kind),
    }
    low, high, dispatch = facts["step_ms_low"], facts["step_ms_high"], facts["dispatch_us"]
    words = f"first {first:.2f} s, step {median * 1e3:.3f} ms ({low:.3f} to {high:.3f}), dispatch {dispatch:.0f} µs"
    assert all(np.isfinite(result["norm"]) for result in numbers), f"a result is not finite; {words}"
    return {"words": words, **facts}


def put_arguments(engine: EngineModules, device: Any, arguments: Any) -> Any:
    """Return the arguments on a device; waits for the transfer."""
    return engine.xs.block_until_ready(engine.xs.device_put(arguments, device))


def repeat(engine: EngineModules, function: Callable[..., Any], arguments: Any, updates: bool) -> Callable[[int], None]:
    """Return a function that makes ``count`` calls and waits for the last one.

    With ``updates`` the first result of each call replaces the first argument of the next, as in training.
    """
    first, *other_arguments = arguments
    state = [first]

    def call(count: int) -> None:
        out: Any = None
        for _ in range(count):
            out = function(state[0], *other_arguments)
            if updates:
                state[0] = out[0]
        engine.xs.block_until_ready(out)

    return call


def time_rounds(call: Callable[[int], None]) -> list[float]:
    """Return the seconds of a call in each of several rounds; ``call(n)`` makes n calls and waits for the last."""
    call(2)
    began = time.perf_counter()
    call(2)
    calls = max(1, int(ROUND_SECONDS / max((time.perf_counter() - began) / 2, 1e-7)))
    rounds: list[float] = []
    started = time.perf_counter()
    while len(rounds) < MAX_ROUNDS and (len(rounds) < 3 or time.perf_counter() - started < MAX_SECONDS):
        began = time.perf_counter()
        call(calls)
        rounds.append((time.perf_counter() - began) / calls)
    return rounds


def time_dispatch(engine: EngineModules, function: Callable[..., Any], arguments: Any) -> float:
    """Return the median dispatch time of a call, measured over bursts that start on an idle device."""
    seconds = []
    for _ in range(BURST_COUNT):
        began = time.perf_counter()
        for _ in range(CALLS_PER_BURST):
            out = function(*arguments)
        seconds.append((time.perf_counter() - began) / CALLS_PER_BURST)
        engine.xs.block_until_ready(out)
    return statistics.median(seconds)


def digest(engine: EngineModules, out: Any) -> list[dict[str, Any]]:
    """Return the norm, the largest number and the first numbers of each result, of at most the last twelve."""
    digests = []
    for leaf in engine.xs.tree_util.tree_leaves(out)[-12:]:
        numbers = np.asarray(leaf).astype(np.float64).ravel()
        facts = {"norm": np.linalg.norm(numbers), "largest": np.max(np.abs(numbers), initial=0.0)}
        shown = [float(number) for number in numbers[:DIGEST_ELEMENT_COUNT]]
        digests.append({name: float(value) for name, value in facts.items()} | {"first": shown})
    return digests


def save_profile(engine: EngineModules, device: Any, name: str, size: str, folder: str) -> str:
    """Save a profile of five steps, as the engine's ``profiler.start_trace`` writes it; return its size as text.

    ``name`` is a key of ``PROGRAMS``, ``folder`` is the report's.
    """
    program: BenchmarkProgram = PROGRAMS[name](engine, size)
    call = repeat(
        engine, engine.xs.jit(program.function), put_arguments(engine, device, program.arguments), program.updates
    )
    call(3)
    with tempfile.TemporaryDirectory() as where:
        engine.xs.profiler.start_trace(where)
        try:
            call(5)
        finally:
            engine.xs.profiler.stop_trace()
        (path,) = glob.glob(os.path.join(where, "**", "*.xplane.pb"), recursive=True)
        target = os.path.join(folder, "profiles", f"{engine.name}_trace_of_{name}.xplane.pb")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(path, target)
        return f"{os.path.getsize(path) / 1e6:.2f} MB"
