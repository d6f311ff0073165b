"""Compiled linear algebra, Fourier transforms and random numbers: how long a call runs, on both sides.

Both sides live side by side, a process each, and are asked in turn, so that what disturbs the machine meets both.
``python -m bench.libraries`` prints the table.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .sides import side

_SIZES = {
    "cholesky": (16, 128, 512),
    "svd": (16, 64, 256),
    "eigh": (16, 64, 256),
    "fft": (1024, 2**16, 2**20),
    "normal": (1000, 10**5, 10**6),
}
CASES = [f"{name} {size}" for name, sizes in _SIZES.items() for size in sizes]
#: For so long the calls of one answer run.
_SECONDS = 0.1
_GOAL = "0.95-1.05"


def _call(name: str, case: str) -> Callable[[], Any]:
    """A compiled call of a case on a side."""
    of = side(name)
    what, size = case.split()[0], int(case.split()[1])
    jnp, random = of.jnp, of.xs.random
    matrix = np.random.default_rng(0).normal(size=(size, size) if what in ("cholesky", "svd", "eigh") else size)
    definite = matrix @ matrix.T + size * np.eye(size) if matrix.ndim == 2 else matrix
    function, x = {
        "cholesky": (lambda x: jnp.linalg.cholesky(x), definite),
        "svd": (lambda x: jnp.linalg.svd(x, full_matrices=False), matrix),
        "eigh": (lambda x: jnp.linalg.eigh(x), definite),
        "fft": (lambda x: jnp.fft.fft(x), matrix),
        "normal": (lambda key: random.normal(key, (size,)), None),
    }[what]
    operand = random.key(0) if x is None else jnp.asarray(np.asarray(x, "float32"))
    compiled, wait = of.xs.jit(function), of.xs.block_until_ready
    return lambda: wait(compiled(operand))


def serve(name: str) -> None:
    """Answer cases, a line each, with seconds for a call: the shortest of those that fit into a tenth of a second."""
    known: dict[str, Callable[[], Any]] = {}
    for line in sys.stdin:
        case = line.strip()
        if case not in known:
            known[case] = _call(name, case)
            known[case]()
        seconds, end = [], time.perf_counter() + _SECONDS
        while len(seconds) < 5 or time.perf_counter() < end:
            began = time.perf_counter()
            known[case]()
            seconds.append(time.perf_counter() - began)
        print(min(seconds), flush=True)


def table(rounds: int = 15) -> list[str]:
    """The table of all cases, a row each."""
    # LAPACK on one thread: those of two processes would wait for each other, a hundred times as long as they work.
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "bench.libraries"]
    sides = [
        subprocess.Popen([*command, name], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("xlascope", "jax")
    ]
    rows = ["| a compiled call of | xlascope | jax | ratio | its quartiles | goal |", "|---|---|---|---|---|---|"]
    try:
        for case in CASES:
            found = [_round(sides, case, turned=bool(number % 2)) for number in range(rounds + 1)][1:]
            ours, theirs = (statistics.median(times) for times in zip(*found, strict=True))
            low, ratio, high = statistics.quantiles([a / b for a, b in found], n=4)
            times = f"{ours * 1e3:.3g} ms | {theirs * 1e3:.3g} ms"
            rows.append(f"| {case} | {times} | **{ratio:.3f}** | {low:.3f}-{high:.3f} | {_GOAL} |")
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


if __name__ == "__main__":
    if sys.argv[1:]:
        serve(sys.argv[1])
    else:
        print("\n".join(table()))
