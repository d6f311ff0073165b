"""``python -m bench.against_torch``: training steps of four models, xlascope, jax and torch in turn.

Each number is of a process of its own. A side whose loss after ten steps differs from jax's is an error. Torch may be
installed elsewhere: ``XLASCOPE_BENCH_TORCH`` names the Python that has it. The table goes into REPORTS.md, too.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

from ..first_result import torch_python
from ..results import duration, replace_table
from .data import MODELS

SIDES = ("xlascope", "jax", "torch eager", "torch.compile")
ROUNDS = 3
#: How far the losses of two sides may be apart, relatively: float32, sums in another order, ten steps.
TOLERANCE = 2e-3
HEAD = [
    "| a training step | xlascope | jax | torch eager | torch.compile | / jax | / torch eager | / torch.compile | "
    "first step: xlascope | jax | torch.compile |",
    "|---|---|---|---|---|---|---|---|---|---|---|",
]

Taken = Mapping[str, float]


def measure(side: str, model: str, kept: str) -> Taken:
    """Return what one process says; torch keeps what it has compiled in the folder ``kept``."""
    python = torch_python() if side.startswith("torch") else sys.executable
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "TORCHINDUCTOR_CACHE_DIR": kept}
    command = [python, "-m", "bench.against_torch.one", side, model]
    done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    taken: Taken = json.loads(done.stdout.splitlines()[-1])
    return taken


def row(model: str, taken: Mapping[str, Sequence[Taken]]) -> str:
    """Return the row of a model: medians of steps, and the median of the ratios of each round."""
    for side, rounds in taken.items():
        loss, wanted = rounds[0]["loss"], taken["jax"][0]["loss"]
        if abs(loss - wanted) > TOLERANCE * abs(wanted):
            raise AssertionError(f"{model}: the loss after ten steps is {loss} by {side} and {wanted} by jax")
    steps = {side: [each["step"] for each in rounds] for side, rounds in taken.items()}
    ratios = [
        statistics.median(ours / theirs for ours, theirs in zip(steps["xlascope"], steps[side], strict=True))
        for side in SIDES[1:]
    ]
    firsts = [duration(taken[side][0]["first"]) for side in ("xlascope", "jax", "torch.compile")]
    cells = [*(duration(statistics.median(steps[side])) for side in SIDES), *(f"**{ratio:.3f}**" for ratio in ratios)]
    return f"| {model} | {' | '.join([*cells, *firsts])} |"


def table(models: Sequence[str]) -> list[str]:
    """Return the table's lines, measured in turn."""
    rows = []
    for model in models:
        taken: dict[str, list[Taken]] = {side: [] for side in SIDES}
        with tempfile.TemporaryDirectory() as kept:
            for _ in range(ROUNDS):
                for side in SIDES:
                    taken[side].append(measure(side, model, kept))
        rows.append(row(model, taken))
        print(rows[-1], file=sys.stderr, flush=True)
    return [*HEAD, *rows]


def main(names: Sequence[str]) -> int:
    if not torch_python():
        print("torch is not installed: pip install torch, or name a Python that has it by XLASCOPE_BENCH_TORCH")
        return 1
    made = table(names or list(MODELS))
    print("\n".join(made))
    if not names:
        replace_table(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
