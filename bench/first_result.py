"""The first result of twelve transformer blocks, and the steps after it: jax, ours, and ``torch.compile``.

``python -m bench.first_result`` makes the table anew, in REPORTS.md too. Each number is of a process of its own, the
sides in turn. Torch may be installed elsewhere: ``XLASCOPE_BENCH_TORCH`` names the Python that has it.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

import numpy as np

from .kinds import transformer_12
from .results import replace_table
from .sides import side

ROUNDS, TORCH_ROUNDS = 5, 2
STEPS = 60
HEAD = [
    "| twelve transformer blocks, a training step | first result | from the disk cache | a step | first / jax "
    "| from disk / jax | step / jax |",
    "|---|---|---|---|---|---|---|",
]
CASES = ("first_result_cold", "first_result_warm", "transformer_step")
_ENVIRONMENT = {**os.environ, "JAX_PLATFORMS": "cpu"}
SIDES = {
    "jax": ("jax", {}),
    "xlascope, nothing kept": ("xlascope", {"XLASCOPE_KEEP": "off"}),
    "xlascope, what is worth it kept": ("xlascope", {"XLASCOPE_KEEP": "auto"}),
}
#: Seconds to the first result, to the first result when another process has had it, and of a step.
Times = tuple[float, ...]


def engine(name: str) -> Times:
    """One round of jax, or of ours."""
    library, setting = SIDES[name]
    return tuple(
        float(_output([sys.executable, "-m", "bench.one", library, case], setting).split()[0]) for case in CASES
    )


def torch(python: str) -> Times:
    """One round of ``torch.compile``, which keeps what it compiled in a folder of this round."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "weights.npz")
        _save(file)
        command = [python, "-m", "bench.torch_step", str(file), str(STEPS)]
        kept = {"TORCHINDUCTOR_CACHE_DIR": str(pathlib.Path(folder, "cache"))}
        cold, warm = (list(map(float, _output(command, kept).split())) for _ in range(2))
    return cold[0], warm[0], min(cold[1], warm[1])


def _save(file: pathlib.Path) -> None:
    """The weights and sentences, as ``torch_step`` reads them."""
    weights, sentences = transformer_12(side("xlascope")).arguments
    flat = {f"{number}.{name}": x for number, each in enumerate(weights["blocks"]) for name, x in each.items()}
    np.savez(file, sentences=sentences, words=weights["words"], places=weights["places"], **flat)


def _output(command: list[str], setting: dict[str, str]) -> str:
    done = subprocess.run(command, check=True, env=_ENVIRONMENT | setting, capture_output=True, text=True)
    return done.stdout.splitlines()[-1]


def torch_python() -> str:
    """The Python that has torch, if there is one."""
    named = os.environ.get("XLASCOPE_BENCH_TORCH", "")
    return named or (sys.executable if importlib.util.find_spec("torch") else "")


def rows(measured: dict[str, list[Times]]) -> list[str]:
    """The table's rows: medians, and the ratios of those to jax's."""
    medians = {
        name: [statistics.median(column) for column in zip(*rounds, strict=True)] for name, rounds in measured.items()
    }
    theirs = medians["jax"]
    return [
        f"| {name} | {first:.2f} s | {disk:.2f} s | {step * 1e3:.3g} ms | **{first / theirs[0]:.3f}** "
        f"| **{disk / theirs[1]:.3f}** | **{step / theirs[2]:.3f}** |"
        for name, (first, disk, step) in medians.items()
    ]


def table() -> list[str]:
    """The table, measured in turn."""
    python = torch_python()
    turns: dict[str, tuple[int, Callable[[], Times]]] = {
        name: (ROUNDS, functools.partial(engine, name)) for name in SIDES
    }
    if python:
        turns["torch.compile"] = TORCH_ROUNDS, functools.partial(torch, python)
    else:
        print("torch is not installed: pip install torch, or name a Python that has it by XLASCOPE_BENCH_TORCH")
    measured: dict[str, list[Times]] = {name: [] for name in turns}
    for turn in range(ROUNDS):
        for name, (rounds, measure) in turns.items():
            if turn < rounds:
                measured[name].append(measure())
    return [*HEAD, *rows(measured)]


if __name__ == "__main__":
    made = table()
    print("\n".join(made))
    replace_table(made)
