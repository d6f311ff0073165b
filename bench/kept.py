"""What it does to programs of many kinds that values are kept: jax, ours with ``keep="off"`` and with ``keep="auto"``.

``python -m bench.kept`` makes the table anew, in REPORTS.md too, where it leaves the others alone;
``python -m bench.kept mixer`` prints one row. All three live at once, a process each, and are asked in turn, so that
what disturbs the machine meets all. What they give is compared with the same program in numbers of twice the width.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .kinds import KINDS
from .programs import Program
from .results import replace_table
from .sides import Side, side

#: For so long a call is repeated in a round, and at least so often.
_SECONDS, _LEAST = 0.12, 2
ROUNDS = 9
#: Whose random numbers are others in other widths.
RANDOM = {"hamiltonian", "autoencoder"}
HEAD = [
    "| program | compile: jax | off | auto | auto / jax | run: jax | off | auto | auto / jax | auto / off | "
    "memory, auto / jax | kernels: jax, off, auto | instructions: jax, off, auto | kept | error: jax, off, auto |",
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
]
_ENVIRONMENT = {"JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1"}
SIDES: dict[str, dict[str, str]] = {
    "jax": {},
    "off": {"XLASCOPE_KEEP": "off"},
    "auto": {"XLASCOPE_KEEP": "auto"},
    "wide": {"XLASCOPE_KEEP": "off", "XLASCOPE_ENABLE_X64": "1"},
}


class Compiled(NamedTuple):
    """One compilation: seconds to lower and to compile, bytes of temporaries and results, and what became of it."""

    seconds: float
    bytes: int
    kernels: int
    instructions: int
    kept: int


# A side, in a process of its own --------------------------------------------------------------------------------------


def serve(name: str, kinds: Mapping[str, Callable[[Side], Program]]) -> None:
    """Answer requests, a line each: ``compile PROGRAM``, ``run PROGRAM``, ``save PROGRAM FILE``."""
    library = "jax" if name == "jax" else "xlascope"
    for each in ("experimental.ode", "scipy.linalg", "scipy.stats"):
        importlib.import_module(f"{library}.{each}")
    mine = side(library)
    runs: dict[str, tuple[Any, Any]] = {}
    for line in sys.stdin:
        request, program, *rest = line.split()
        if request == "compile":
            runs[program], found = _compile(mine, kinds[program], wide=name == "wide")
            print(json.dumps(found), flush=True)
        elif request == "run":
            print(_seconds(mine, *runs[program]), flush=True)
        else:
            call, arguments = runs[program]
            leaves = mine.xs.tree_util.tree_leaves(call(*arguments))
            np.savez(rest[0], *map(np.asarray, leaves))
            print(flush=True)


def _compile(mine: Side, make: Callable[[Side], Program], wide: bool) -> tuple[tuple[Any, Any], Compiled]:
    """A program compiled anew, with its arguments on the device."""
    made = make(mine)
    arguments = mine.xs.tree_util.tree_map(_widened, made.arguments) if wide else made.arguments
    traced = made.function.trace(*arguments)
    began = time.perf_counter()
    lowered = traced.lower()
    compiled = lowered.compile()
    seconds = time.perf_counter() - began
    memory = compiled.memory_analysis()
    text = compiled.as_text()
    kept = len(lowered._lowered.materialization.names) if mine.name == "xlascope" else 0
    size = memory.temp_size_in_bytes + memory.output_size_in_bytes
    found = Compiled(seconds, size, kernels_in(text), text.count(" = "), kept)
    return (compiled, mine.xs.tree_util.tree_map(mine.jnp.asarray, arguments)), found


def _widened(x: Any) -> Any:
    return np.asarray(x, np.float64) if np.asarray(x).dtype == np.float32 else x


def _seconds(mine: Side, call: Any, arguments: Any) -> float:
    """The shortest of the calls of a round."""
    seconds, end = [], time.perf_counter() + _SECONDS
    while len(seconds) < _LEAST or time.perf_counter() < end:
        began = time.perf_counter()
        mine.xs.block_until_ready(call(*arguments))
        seconds.append(time.perf_counter() - began)
    return min(seconds)


_NO_KERNEL = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "opt-barrier"}


def kernels_in(text: str) -> int:
    """The instructions of a program that do something, in computations that are no part of an instruction."""
    count = 0
    for part in re.split(r"\n\n", text):
        head = part.lstrip().split("\n", 1)[0]
        if "fused_computation" in head or "region" in head.split("(")[0]:
            continue
        found = re.findall(r" = (?:\([^=]*?\)|\S+) ([a-z][a-z0-9-]*)\(", part)
        count += sum(each not in _NO_KERNEL for each in found)
    return count


# The table ------------------------------------------------------------------------------------------------------------


@contextmanager
def started(module: str, sides: Mapping[str, Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    """The sides, a process each, by what is said in their environments."""
    made = {
        name: subprocess.Popen(
            [sys.executable, "-m", module, "--serve", name],
            env={**os.environ, **_ENVIRONMENT, **more},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, more in sides.items()
    }
    try:
        yield made
    finally:
        for process in made.values():
            process.communicate()


def _ask(process: Any, request: str) -> Any:
    process.stdin.write(request + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    return json.loads(answer) if answer.strip() else None


def measure(
    sides: dict[str, Any], name: str, compared: Sequence[str] = ("jax", "off", "auto"), rounds: int = ROUNDS
) -> dict[str, Any]:
    """What one program comes to on all sides."""
    compiled: dict[str, list[Compiled]] = {each: [] for each in compared}
    for turn in range(3):
        for each in _turned(compared, turn):
            compiled[each].append(Compiled(*_ask(sides[each], f"compile {name}")))
        if max(found[0].seconds for found in compiled.values()) > 10:
            break
    seconds: dict[str, list[float]] = {each: [] for each in compared}
    for turn in range(rounds + 1):
        for each in _turned(compared, turn):
            seconds[each].append(_ask(sides[each], f"run {name}"))
    _ask(sides["wide"], f"compile {name}")
    found = {
        each: {
            **compiled[each][0]._asdict(),
            "seconds": min(x.seconds for x in compiled[each]),
            "run": seconds[each][1:],
        }
        for each in compared
    }
    for each, error in zip(compared, _errors(sides, name, compared), strict=True):
        found[each]["error"] = error
    return found


def _turned(names: Sequence[str], turn: int) -> Sequence[str]:
    shift = turn % len(names)
    return [*names[shift:], *names[:shift]]


def _errors(sides: dict[str, Any], name: str, compared: Sequence[str]) -> list[float]:
    """How far each side is from numbers of twice the width, in parts of the largest number of each result."""
    with tempfile.TemporaryDirectory() as folder:
        results = {}
        for each in (*compared, "wide"):
            file = pathlib.Path(folder, f"{each}.npz")
            _ask(sides[each], f"save {name} {file}")
            with np.load(file) as saved:
                results[each] = [saved[key].astype(np.float64) for key in saved.files]
    truth = results["jax" if name in RANDOM else "wide"]
    return [max(map(_difference, results[each], truth)) for each in compared]


def _difference(found: Any, wanted: Any) -> float:
    size = float(np.max(np.abs(wanted), initial=0.0))
    return float(np.max(np.abs(found - wanted), initial=0.0)) / (size or 1.0)


def row(name: str, found: dict[str, Any]) -> str:
    """A program's row."""
    jax, off, auto = found["jax"], found["off"], found["auto"]
    compiles = " | ".join(f"{each['seconds']:.2f} s" for each in (jax, off, auto))
    runs = " | ".join(f"{statistics.median(each['run']) * 1e3:.3g} ms" for each in (jax, off, auto))
    to_jax, to_off = ratio(auto, jax), ratio(auto, off)
    memory = auto["bytes"] / max(jax["bytes"], 1)
    kernels, instructions = (
        ", ".join(f"{each[what]:,}" for each in (jax, off, auto)) for what in ("kernels", "instructions")
    )
    errors = ", ".join(f"{each['error']:.0e}" for each in (jax, off, auto))
    return (
        f"| {name} | {compiles} | **{auto['seconds'] / jax['seconds']:.2f}** | {runs} | **{to_jax:.3f}** "
        f"| {to_off:.3f} | {memory:.2f} | {kernels} | {instructions} | {auto['kept']} | {errors} |"
    )


def ratio(one: dict[str, Any], other: dict[str, Any]) -> float:
    """The median of the ratios of the rounds."""
    return statistics.median(a / b for a, b in zip(one["run"], other["run"], strict=True))


def means(every: Sequence[dict[str, Any]]) -> str:
    """The geometric means of all programs, in words."""
    compiles = _mean([each["auto"]["seconds"] / each["jax"]["seconds"] for each in every])
    runs = _mean([ratio(each["auto"], each["jax"]) for each in every])
    off = _mean([ratio(each["auto"], each["off"]) for each in every])
    return (
        f"Geometric means of {len(every)} programs: compiling {compiles:.3f} of jax's time, running {runs:.3f} of "
        f"jax's and {off:.3f} of ours with nothing kept."
    )


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def main(names: Sequence[str]) -> None:
    """Print the rows of some programs; of all, and into REPORTS.md, when none is named."""
    lines, every = [*HEAD], []
    print("\n".join(lines), flush=True)
    with started("bench.kept", SIDES) as sides:
        for name in names or KINDS:
            found = measure(sides, name)
            every.append(found)
            lines.append(row(name, found))
            print(lines[-1], flush=True)
    lines += ["", means(every)]
    print(lines[-1])
    if not names:
        replace_table(lines[:-2])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], KINDS)
    else:
        main(sys.argv[1:])
