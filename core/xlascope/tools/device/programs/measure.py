"""Run a program on one engine: its numbers, the first call, the time of a step, the time to dispatch one."""

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

from .engine import Engine, Program
from .table import PROGRAMS

#: Rounds that are timed, about the seconds of one, and the seconds after which there are no more rounds.
MAX_ROUNDS, ROUND_SECONDS, MAX_SECONDS = 25, 0.02, 1.5
#: Calls in a burst that is dispatched without waiting, and bursts.
BURST_CALLS, BURSTS = 10, 7
#: Numbers of each result that are kept for comparison.
DIGEST_NUMBERS = 6


def measure(engine: Engine, device: Any, name: str, size: str) -> dict[str, Any]:
    """Measure one program on a device."""
    program = PROGRAMS[name](engine, size)
    function, arguments = engine.xs.jit(program.function), place(engine, device, program.arguments)
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
    assert all(np.isfinite(each["norm"]) for each in numbers), f"a result is not finite; {words}"
    return {"words": words, **facts}


def place(engine: Engine, device: Any, arguments: Any) -> Any:
    """Put the arguments on a device, where they are when this returns."""
    return engine.xs.block_until_ready(engine.xs.device_put(arguments, device))


def repeat(engine: Engine, function: Callable[..., Any], arguments: Any, updates: bool) -> Callable[[int], None]:
    """Return a function that makes so many calls and waits for the last; a training step goes on from its result."""
    first, *rest = arguments
    state = [first]

    def call(count: int) -> None:
        out: Any = None
        for _ in range(count):
            out = function(state[0], *rest)
            if updates:
                state[0] = out[0]
        engine.xs.block_until_ready(out)

    return call


def time_rounds(call: Callable[[int], None]) -> list[float]:
    """Return the seconds of a call in each of several rounds."""
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


def time_dispatch(engine: Engine, function: Callable[..., Any], arguments: Any) -> float:
    """Return the median time in which a call comes back, before its results are there, of bursts that start idle."""
    seconds = []
    for _ in range(BURSTS):
        began = time.perf_counter()
        for _ in range(BURST_CALLS):
            out = function(*arguments)
        seconds.append((time.perf_counter() - began) / BURST_CALLS)
        engine.xs.block_until_ready(out)
    return statistics.median(seconds)


def digest(engine: Engine, out: Any) -> list[dict[str, Any]]:
    """Return of each of the first results its norm, its sum, its largest number and its first numbers."""
    found = []
    for leaf in engine.xs.tree_util.tree_leaves(out)[-12:]:
        numbers = np.asarray(leaf).astype(np.float64).ravel()
        facts = {"norm": np.linalg.norm(numbers), "largest": np.max(np.abs(numbers), initial=0.0)}
        shown = [float(each) for each in numbers[:DIGEST_NUMBERS]]
        found.append({name: float(value) for name, value in facts.items()} | {"first": shown})
    return found


def save_profile(engine: Engine, device: Any, name: str, size: str, folder: str) -> str:
    """Save what ``profiler.trace`` of the engine writes of five steps."""
    program: Program = PROGRAMS[name](engine, size)
    call = repeat(engine, engine.xs.jit(program.function), place(engine, device, program.arguments), program.updates)
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
