"""One side's training of one model: ``python -m bench.against_torch.one SIDE MODEL``.

It prints a line of JSON: the seconds of the first step, the median of the later ones, and the loss after `CHECKED`
steps, which has to be the same on all sides.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from .data import MODELS

CHECKED = 10
#: Steps are measured for so long, and at least `MIN_STEPS` of them.
SECONDS, MIN_STEPS = 3.0, 20


def main(name: str, model: str) -> None:
    weights, batch = MODELS[model]()
    step = _torch(name, model, weights, batch) if name.startswith("torch") else _engine(name, model, weights, batch)
    began = time.perf_counter()
    float(step())
    first = time.perf_counter() - began
    for _ in range(CHECKED - 1):
        loss = float(step())
    times: list[float] = []
    until = time.perf_counter() + SECONDS
    while len(times) < MIN_STEPS or time.perf_counter() < until:
        began = time.perf_counter()
        float(step())
        times.append(time.perf_counter() - began)
    print(json.dumps({"first": first, "step": statistics.median(times), "loss": loss}))


def _torch(name: str, model: str, weights: Any, batch: Any) -> Callable[[], Any]:
    in_torch = importlib.import_module("bench.against_torch.in_torch")
    step: Callable[[], Any] = in_torch.make(model, weights, batch, compiled=name == "torch.compile")
    return step


def _engine(name: str, model: str, weights: Any, batch: Any) -> Callable[[], Any]:
    side = importlib.import_module("bench.sides").side(name)
    start, jitted = importlib.import_module("bench.against_torch.in_jax").make(side, model)
    state = start(side.xs.tree_util.tree_map(side.jnp.asarray, weights))
    batch = side.xs.tree_util.tree_map(side.jnp.asarray, batch)

    def step() -> Any:
        nonlocal state
        state, loss = jitted(state, batch)
        return loss

    return step


if __name__ == "__main__":
    main(*sys.argv[1:])
