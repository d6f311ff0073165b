"""Calls on eight virtual devices of one CPU: how long they take, on both sides.

``python -m bench.devices`` prints the table.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import paired
from .sides import Side, side

CASES = ["x + 1 on eight parts", "psum by pmap", "psum by shard_map", "a data-parallel step", "a tensor-parallel step"]
_GOAL = "≤ 1.1"
#: XLA's threads: as many as collectives need, on both sides.
_ENVIRONMENT = {"JAX_NUM_CPU_DEVICES": "8", "NPROC": "16"}


def _call(name: str, case: str) -> Callable[[], Any]:
    """A call of a case on a side."""
    of = side(name)
    mesh = of.xs.sharding.Mesh(np.array(of.xs.devices()), ("i",))
    wait = of.xs.block_until_ready
    if case == "x + 1 on eight parts":
        x = _put(of, mesh, np.ones((8, 1000), np.float32), "i")
        added = of.xs.jit(lambda x: x + 1.0)
        return lambda: wait(added(x))
    if case.startswith("psum"):
        x = _put(of, mesh, np.ones((8, 1000), np.float32), "i")
        total = lambda x: of.xs.lax.psum(x, "i")  # noqa: E731  one for both spellings
        P = of.xs.sharding.PartitionSpec
        if case == "psum by pmap":
            mapped = of.xs.pmap(total, axis_name="i")
        else:
            mapped = of.xs.jit(of.xs.shard_map(total, mesh=mesh, in_specs=P("i"), out_specs=P()))
        return lambda: wait(mapped(x))
    return _step(of, mesh, parallel=case.split("-")[0].removeprefix("a "))


def _step(of: Side, mesh: Any, parallel: str) -> Callable[[], Any]:
    """A step of gradient descent of two dense layers."""
    draw = np.random.default_rng(0).normal
    w = [draw(size=(64, 256)).astype("float32"), draw(size=(256, 8)).astype("float32")]
    x, y = draw(size=(512, 64)).astype("float32"), draw(size=(512, 8)).astype("float32")
    specs = [((), ()), ("i",)] if parallel == "data" else [((None, "i"), ("i",)), ()]
    placed = [_put(of, mesh, value, *spec) for value, spec in zip(w, specs[0], strict=True)]
    data = [_put(of, mesh, value, *specs[1]) for value in (x, y)]

    def loss(w: Any, x: Any, y: Any) -> Any:
        return of.jnp.mean((of.jnp.tanh(x @ w[0]) @ w[1] - y) ** 2)

    def step(w: Any, x: Any, y: Any) -> Any:
        return [a - 0.01 * g for a, g in zip(w, of.xs.grad(loss)(w, x, y), strict=True)]

    compiled = of.xs.jit(step)
    return lambda: of.xs.block_until_ready(compiled(placed, *data))


def _put(of: Side, mesh: Any, value: Any, *spec: Any) -> Any:
    sharding = of.xs.sharding.NamedSharding(mesh, of.xs.sharding.PartitionSpec(*spec))
    return of.xs.device_put(value, sharding)


def table() -> list[str]:
    """The table of all cases, a row each."""
    return paired.table("bench.devices", "on eight devices", CASES, _GOAL, _ENVIRONMENT)


if __name__ == "__main__":
    if sys.argv[1:]:
        paired.serve(functools.partial(_call, sys.argv[1]))
    else:
        print("\n".join(table()))
