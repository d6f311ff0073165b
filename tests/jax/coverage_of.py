"""How much of a run is known: of the devices' time what has an equation, of the equations what has a line."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

from xlascope.readers.profile_events import read_events
from xlascope.records import Compiled, Traced

#: The most events of a window that are read here.
_MOST = 5_000_000
#: How many of what is not known are named.
_TOLD = 12


def coverage(found: list[Any], profile: bytes, program: str) -> dict[str, Any]:
    """The shares, and what of both is not known, most first."""
    return {**_of_time(found, profile), **_of_equations(found, program)}


def _of_time(found: list[Any], profile: bytes) -> dict[str, Any]:
    modules = {each.module: each for each in found if isinstance(each, Compiled)}
    kernels = {name: {each.name: each for each in module.kernels} for name, module in modules.items()}
    known = moved = total = 0.0
    unknown: dict[str, float] = {}
    for (module, name), seconds in _seconds(profile).items():
        kernel = kernels.get(module, {}).get(name)
        total += seconds
        if kernel is not None and kernel.equations:
            known += seconds
            continue
        if kernel is not None and kernel.moves:
            moved += seconds
        kind = "of no kernel" if kernel is None else kernel.kind if not kernel.moves else "copies"
        unknown[f"{module} {name} ({kind})"] = seconds
    most = sorted(unknown.items(), key=lambda item: -item[1])[:_TOLD]
    return {
        "time": known / total if total else 1.0,
        "copies": moved / total if total else 0.0,
        "seconds": total,
        "without equation": {name: seconds / total for name, seconds in most},
    }


def _seconds(profile: bytes) -> dict[tuple[str, str], float]:
    """The seconds of each kernel: its runs at their median, as others on the machine stop now one, now another."""
    runs: dict[tuple[str, str], list[float]] = defaultdict(list)
    for event in read_events(profile, _MOST).kernels:
        runs[f"{event.module}.{event.program_id}", event.kernel].append(event.self_seconds)
    return {key: statistics.median(seconds) * len(seconds) for key, seconds in runs.items()}


def _of_equations(found: list[Any], program: str) -> dict[str, Any]:
    equations = [(each.function, eqn) for each in found if isinstance(each, Traced) for eqn in each.jaxpr.walk()]
    placed = [each.source for _, each in equations if each.source is not None]
    without: dict[str, int] = defaultdict(int)
    for function, each in equations:
        if each.source is None:
            without[f"{function}: {each.path} {each.operation}"] += 1
    count = max(len(equations), 1)
    return {
        "equations": len(equations),
        "lines": len(placed) / count if equations else 1.0,
        "own lines": sum(each.file == program for each in placed) / count,
        "without line": list(without)[:_TOLD],
    }
