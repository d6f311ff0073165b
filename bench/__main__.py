"""``python -m bench``: all cases on both sides in turn, and what watching costs; prints them and writes RESULTS.md."""

from __future__ import annotations

import argparse
import atexit
import datetime
import functools
import importlib.metadata
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from . import devices, everyday, first_result, libraries, watched_jax
from .cases import CASES, MODEL_CASES
from .explorer import explorer
from .functions import functions
from .jury import __main__ as jury
from .newton import table as newton_table
from .results import PATH
from .steps import table
from .watched import costs, short_cells_table, watched

_GOALS = {
    "import": "≤ 0.7",
    "trace": "≤ 1/20 = 0.05",
    "grad_trace": "≤ 1/20 = 0.05",
    "vmap_grad_trace": "≤ 1/20 = 0.05",
    "lower": "≤ 1/8 = 0.125",
    "jit_dispatch": "≤ 1.0",
    "compiled_call": "≤ 1.05",
    "tree_map": "≤ 1.0",
    "eager_sin": "≤ 1.0",
    "eager_sum": "≤ 1.0",
    "eager_grad": "≤ 0.1",
    "eager_index": "≤ 0.2",
    "eager_slice": "≤ 0.2",
    "eager_gather": "≤ 0.3",
    "eager_set": "≤ 0.3",
    "asarray_numpy": "≤ 0.5",
    "first_result_cold": "≤ 1/3 = 0.333",
    "first_result_warm": "≤ 1/3 = 0.333",
    "transformer_step": "≤ 0.75",
} | {case: "≤ 1/8 = 0.125" if case.endswith("lower") else "≤ 1/12 = 0.083" for case in MODEL_CASES}
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


class Measured(NamedTuple):
    """Seconds of one case on one side, and the equations of its program where that says something."""

    seconds: float
    equations: int | None = None


def _measure(name: str, case: str) -> Measured:
    """One case on one side, in a fresh process."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    if case == "import":
        # Names are found on first use: what a program asks for first is part of it.
        program = f"import {name}, {name}.numpy as jnp; {name}.grad, {name}.jit, jnp.sin, jnp.mean, jnp.dot"
        command = [sys.executable, "-c", program]
        # As for users: both sides' modules are compiled to bytecode once. Where Python is told to write none, only what
        # pip installed would have it.
        environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(_bytecode())}
        subprocess.run(command, check=True, env=environment)
        began = time.perf_counter()
        subprocess.run(command, check=True, env=environment)
        return Measured(time.perf_counter() - began - _bare())
    command = [sys.executable, "-m", "bench.one", name, case]
    done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    seconds, *equations = done.stdout.splitlines()[-1].split()
    return Measured(float(seconds), int(equations[0]) if equations else None)


@functools.cache
def _bytecode() -> pathlib.Path:
    """A folder for bytecode, which lives as long as this process."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return pathlib.Path(folder.name)


def _bare() -> float:
    """Seconds for a Python that imports NumPy and nothing else, which both sides need."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import numpy"], check=True)
    return time.perf_counter() - began


def _text(seconds: float) -> str:
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _row(case: str, rounds: int, seconds: dict[str, float]) -> str:
    pairs = [(_measure("xlascope", case), _measure("jax", case)) for _ in range(rounds)]
    ours, theirs = (statistics.median(each.seconds for each in side) for side in zip(*pairs, strict=True))
    seconds[case] = ours
    ratio = statistics.median(a.seconds / b.seconds for a, b in pairs)
    counts = " : ".join(f"{each.equations:,}" for each in pairs[0] if each.equations is not None)
    row = f"| {case} | {counts} | {_text(ours)} | {_text(theirs)} | **{ratio:.3f}** | {_GOALS.get(case, '')} |"
    print(row, flush=True)
    return row


def _machine() -> str:
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("xlascope", "jaxlib", "jax", "numpy")
    )
    return (
        f"{datetime.date.today().isoformat()} · Python {platform.python_version()} · {versions} · "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each pair is measured (default 5)")
    parser.add_argument("--only", nargs="*", help="cases to run; nothing is written then")
    chosen = parser.parse_args()
    every = [
        "import",
        *CASES,
        "first_result",
        "libraries",
        "devices",
        "everyday",
        "watched",
        "watched_jax",
        "jury",
        "steps",
        "functions",
        "newton",
        "explorer",
    ]
    cases = chosen.only if chosen.only is not None else every
    lines = ["| case | equations | xlascope | jax | ratio | goal |", "|---|---|---|---|---|---|"]
    print("\n".join(lines))
    seconds: dict[str, float] = {}
    lines += [_row(case, chosen.rounds, seconds) for case in cases if case in ("import", *CASES)]
    if {"first_call_cold", "first_call_warm"} <= seconds.keys():
        times = seconds["first_call_cold"] / seconds["first_call_warm"]
        lines += [
            "",
            f"With the program kept on disk, xlascope's first call is {times:.1f} times as fast (cold / warm).",
        ]
        print(lines[-1])
    if "first_result" in cases:
        told = first_result.table()
        print("\n".join(told))
        lines += ["", *told]
    if "libraries" in cases:
        ran = libraries.table()
        print("\n".join(ran))
        lines += ["", *ran]
    if "devices" in cases:
        shared = devices.table()
        print("\n".join(shared))
        lines += ["", *shared]
    if "everyday" in cases:
        for made in everyday.tables():
            print("\n".join(made))
            lines += ["", *made]
    if "watched" in cases:
        found = costs(watched())
        goals = {"strip": ("the strip", "< 1 %"), "panel": ("the panel open", "< 2 %")}
        rows = [
            f"| {name} | {found[mode][1] * 100:.2f} % | {found[mode][0] * 100:+.2f} % | {goal} |"
            for mode, (name, goal) in goals.items()
        ]
        print("\n".join(rows))
        head = "| watching the training loop | threads that watch | loop's time (noise: some %) | goal |"
        lines += ["", head, "|---|---|---|---|", *rows]
        short = short_cells_table()
        print("\n".join(short))
        lines += ["", *short]
    if "watched_jax" in cases:
        told = watched_jax.table()
        print("\n".join(told))
        lines += ["", *told]
    if "jury" in cases:
        judged = jury.every_table()
        print("\n".join(judged))
        lines += ["", *judged]
    if "steps" in cases:
        told = table()
        print("\n".join(told))
        lines += ["", *told]
    if "functions" in cases:
        told = functions()
        print("\n".join(told))
        lines += ["", *told]
    if "newton" in cases:
        compared = newton_table()
        print("\n".join(compared))
        lines += ["", *compared]
    if "explorer" in cases:
        drawn = [f"| {what} | {number} | {goal} |" for what, number, goal in explorer()]
        print("\n".join(drawn))
        lines += ["", "| the graph explorer, in headless Chromium | | goal |", "|---|---|---|", *drawn]
    if chosen.only is None:
        _write(lines)


def _write(lines: list[str]) -> None:
    head = [
        "# Results",
        "",
        "Made by `make bench`: both sides in turn in one run, each measurement in a process of its own; the ratio is "
        "the median of the ratios of the pairs (below 1: xlascope is faster). Watching is measured in a real kernel, "
        "the modes in turn, "
        "against `%scope off`.",
        "",
        _machine(),
        "",
    ]
    PATH.write_text("\n".join([*head, *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
