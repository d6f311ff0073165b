"""The part ``profiles``: raw profiles with their programs and records, and the sampler at work.

A profile is saved before it is parsed, so that one that cannot be parsed is in the report all the same.
"""

from __future__ import annotations

import functools
import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from ... import inspect, records
from ...api import block_until_ready, device_put, jit
from ...inspect.running.profile_sampler import Sampler
from ...readers.profiles import read_profile
from ...xla.profiling.measured_ceilings import measure_ceilings
from ...xla.profiling.profiler_windows import Window
from .context import Context
from .pages import profiles_of
from .programs.engine import BenchmarkProgram, load_engine
from .programs.journal import FAILS, WORKS, Item
from .programs.measure import repeat
from .programs.table import PROGRAMS

PROFILED_PROGRAMS = ("mlp", "transformer")
#: Steps in a raw profile, and steps that run while the sampler watches; rounds in turn with and without it.
PROFILED_STEP_COUNT, WATCHED_STEP_COUNT, ROUND_COUNT = 5, 300, 5
#: The approximate minimum time of one round, and the maximum number of steps to reach it.
ROUND_SECONDS, MAX_STEPS = 0.6, 20_000


def items(context: Context) -> Iterator[Item]:
    """Yield the checks: the raw profile of each program first, then its timings, then the sampler on it."""
    for name in PROFILED_PROGRAMS:
        yield Item(f"raw profile of {name}", functools.partial(_save_raw_profile, name, context))
    for name in PROFILED_PROGRAMS:
        yield Item(f"timings of {name}", functools.partial(_save_timings, name, context))
    for name in PROFILED_PROGRAMS:
        yield Item(f"sampler on {name}", functools.partial(_watch_live, name, context))
    yield Item("ceilings", functools.partial(_measure_ceilings, context))


@functools.lru_cache(maxsize=4)
def prepare(name: str, context: Context) -> tuple[BenchmarkProgram, Any, Callable[[int], None]]:
    """Return a benchmark program, its jitted function with arguments on the device, and a function that makes n calls.

    They are cached, so a program is compiled once per process. ``name`` is a key of ``PROGRAMS``.
    """
    engine = load_engine("xlascope")
    program = PROGRAMS[name](engine, context.size)
    function, arguments = jit(program.function), block_until_ready(device_put(program.arguments, context.device))
    return program, (function, arguments), repeat(engine, function, arguments, program.updates)


def _save_raw_profile(name: str, context: Context) -> dict[str, Any]:
    """Save a raw profile of a program with its HLO, and check that it contains whole calls and their kernels."""
    _, (function, arguments), call = prepare(name, context)
    call(3)
    with Window() as window:
        call(PROFILED_STEP_COUNT)
    context.save(f"profiles/{name}.xplane.pb", window.data)
    described = inspect.fusions(function, *arguments).records
    records.save(described, context.path(f"records/{name}_compiled.json"))
    compiled = [record for record in described if isinstance(record, records.Compiled)][-1]
    context.save(f"hlo/{name}.txt", compiled.hlo)
    words = f"{len(window.data) / 1e6:.2f} MB"
    facts = [_profile_facts(profile) for profile in profiles_of(compiled, window.data)]
    if not facts:
        other_modules = ", ".join(sorted({profile.module for profile in read_profile(window.data)}))
        return {
            "result": FAILS,
            "words": f"{words}: no kernel of {compiled.module}; modules: {other_modules or 'none'}",
        }
    first = facts[0]
    missing = sorted(first["kernels"].keys() - {kernel.name for kernel in compiled.kernels})
    words += f", {first['calls']} whole calls of {len(first['kernels'])} kernels, {first['step'] * 1e3:.3f} ms each"
    result = WORKS if first["calls"] else FAILS
    words += f"; {len(missing)} kernels that the HLO does not name"
    return {"result": result, "words": words, **first, "missing": missing}


def _profile_facts(profile: Any) -> dict[str, Any]:
    """Return the calls, the step time and the seconds of each kernel in the profile of a module."""
    kernels: dict[str, float] = {}
    for device in profile.devices:
        for kernel in device.kernels:
            kernels[kernel.kernel] = kernels.get(kernel.kernel, 0.0) + kernel.seconds
    return {
        "module": profile.module,
        "calls": profile.observed_calls,
        "step": profile.step,
        "devices": [device.device for device in profile.devices],
        "kernel_seconds": sum(kernels.values()),
        "kernels": kernels,
    }


def _save_timings(name: str, context: Context) -> dict[str, Any]:
    _, (function, arguments), _ = prepare(name, context)
    inspection = inspect.timings(function, *arguments)
    context.save(f"records/{name}_timings.json", json.dumps(inspection.to_json()))
    context.save(f"text/{name}_timings.txt", inspection.text)
    return equation_share(inspection.records)


def equation_share(run_records: Any) -> dict[str, Any]:
    """Return the outcome of a measurement: the share of the kernels' time that is attributed to equations.

    ``run_records`` contain an ``Executed`` and the ``Compiled`` of its program. It fails below one half.
    """
    run = [item for item in run_records if isinstance(item, records.Executed)][-1]
    compiled = [item for item in run_records if isinstance(item, records.Compiled) and item.program == run.program][-1]
    attributed = {kernel.name for kernel in compiled.kernels if kernel.equations or kernel.moves or kernel.copies}
    times = {(lane.device, item.kernel): item.seconds for lane in run.devices for item in lane.kernels}
    total = sum(times.values())
    share = sum(seconds for (_, kernel), seconds in times.items() if kernel in attributed) / total if total else 0.0
    unknown = sorted({kernel for _, kernel in times if kernel not in attributed})
    words = f"{run.step * 1e3:.3f} ms a call ({run.clock or 'no clock'}), {run.observed_calls} whole calls seen, "
    words += f"{share:.0%} of the kernels' time has an equation" if total else "no kernel's time"
    result = WORKS if run.observed_calls and share > 0.5 else FAILS
    facts = {"step": run.step, "share": share, "unknown": unknown[:40], "notes": list(run.notes)}
    return {"result": result, "words": "; ".join([words, *run.notes]), **facts}


def _watch_live(name: str, context: Context) -> dict[str, Any]:
    """Time the same steps alternately with and without the sampler, and save the records that it publishes."""
    _, _, call = prepare(name, context)
    call(5)
    began = time.perf_counter()
    call(20)
    steps = min(max(WATCHED_STEP_COUNT, int(ROUND_SECONDS * 20 / (time.perf_counter() - began))), MAX_STEPS)
    emitted: list[Any] = []
    ratios, unwatched_steps = [], []
    for _ in range(ROUND_COUNT):
        without = _time_calls(call, steps)
        with Sampler(emit=emitted.append):
            watched = _time_calls(call, steps)
        ratios.append(watched / without)
        unwatched_steps.append(without / steps)
    records.save(_latest_records(emitted), context.path(f"records/{name}_sampled.json"))
    facts = equation_share(emitted)
    cost = statistics.median(ratios) - 1
    wall = statistics.median(unwatched_steps)
    words = f"{steps} steps, costs {cost:+.1%} ({min(ratios) - 1:+.1%} to {max(ratios) - 1:+.1%}), "
    words += f"{wall * 1e3:.3f} ms a step unwatched by the wall clock; {facts['words']}"
    return {**facts, "words": words, "cost": cost, "ratios": ratios, "wall": wall, "steps": steps}


def _time_calls(call: Callable[[int], None], steps: int) -> float:
    began = time.perf_counter()
    call(steps)
    return time.perf_counter() - began


def _latest_records(emitted: list[Any]) -> list[Any]:
    """Return the records with only the last of each program's run records, which replaces the earlier ones."""
    runs = {record.program: record for record in emitted if isinstance(record, records.Executed)}
    return [record for record in emitted if not isinstance(record, records.Executed)] + list(runs.values())


def _measure_ceilings(context: Context) -> dict[str, Any]:
    peaks = measure_ceilings(context.device)
    words = f"{peaks.flops / 1e12:.3g} TFLOP/s in float32, {peaks.bytes_per_second / 1e9:.4g} GB/s ({peaks.source})"
    return {"words": words, "flops": peaks.flops, "bytes_per_second": peaks.bytes_per_second}
