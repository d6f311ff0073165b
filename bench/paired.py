"""Calls of which both sides live in one run, a process each, and are asked in turn.

So what disturbs the machine meets both.
A module of cases has ``_call(side, case)``, which makes the call, and runs :func:`serve` when it is given a side.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

#: For so long the calls of one answer run.
_SECONDS = 0.1


def serve(make: Callable[[str], Callable[[], Any]]) -> None:
    """Answer cases, a line each, with seconds for a call: the shortest of those that fit into a tenth of a second."""
    known: dict[str, Callable[[], Any]] = {}
    for line in sys.stdin:
        case = line.strip()
        if case not in known:
            known[case] = make(case)
            known[case]()
        seconds, end = [], time.perf_counter() + _SECONDS
        while len(seconds) < 5 or time.perf_counter() < end:
            began = time.perf_counter()
            known[case]()
            seconds.append(time.perf_counter() - began)
        print(min(seconds), flush=True)


def table(
    module: str, what: str, cases: Sequence[str], goal: str, environment: Mapping[str, str], rounds: int = 15
) -> list[str]:
    """The table of all cases, a row each."""
    command = [sys.executable, "-m", module]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", **environment}
    sides = [
        subprocess.Popen([*command, name], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("xlascope", "jax")
    ]
    rows = [f"| {what} | xlascope | jax | ratio | its quartiles | goal |", "|---|---|---|---|---|---|"]
    try:
        for case in cases:
            found = [_round(sides, case, turned=bool(number % 2)) for number in range(rounds + 1)][1:]
            ours, theirs = (statistics.median(times) for times in zip(*found, strict=True))
            low, ratio, high = statistics.quantiles([a / b for a, b in found], n=4)
            times = f"{ours * 1e3:.3g} ms | {theirs * 1e3:.3g} ms"
            rows.append(f"| {case} | {times} | **{ratio:.3f}** | {low:.3f}-{high:.3f} | {goal} |")
            print(rows[-1], file=sys.stderr, flush=True)
    finally:
        for process in sides:
            process.communicate()
    return rows


def _round(sides: list[Any], case: str, turned: bool) -> tuple[float, float]:
    """Seconds of a call on both sides, asked one after the other."""
    seconds = {}
    for number in (1, 0) if turned else (0, 1):
        process = sides[number]
        process.stdin.write(case + "\n")
        process.stdin.flush()
        seconds[number] = float(process.stdout.readline())
    return seconds[0], seconds[1]
