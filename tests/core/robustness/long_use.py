"""Thousands of fresh functions in one process; prints the curve of the memory that it holds, as JSON.

Arguments: how many, and after how many to look.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from typing import Any

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_X = np.ones(3, np.float32)


def resident() -> float:
    """The megabytes that the process has in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * _PAGE / 1e6


def once(number: int) -> None:
    """Use a fresh function in the ways that users do; the rarer ones more rarely."""

    def f(x):
        return jnp.sum(jnp.sin(x) * (number * 1e-3))

    xs.jit(f)(_X)
    xs.grad(f)(_X)
    xs.make_jaxpr(xs.vmap(f))(_X[None])
    if number % 10 == 0:
        xs.jit(xs.value_and_grad(f))(_X)
        xs.lax.scan(lambda c, x: (c + x * number, c), 0.0, _X)
    if number % 20 == 0:
        jnp.zeros(20_000)[number // 10 : number + 1]  # a length of its own: a program of its own
    if number % 50 == 0:
        xs.vmap(xs.jit(f))(_X[None])
        xs.jit(xs.grad(xs.checkpoint(f)))(_X)
        xs.lax.cond(number > 0, lambda x: x * number, lambda x: x, 1.0)
    if number % 100 == 0:
        method = Methods()
        method.step(_X)


class Methods:
    """A jitted method whose program holds the object that it belongs to."""

    def __init__(self) -> None:
        self.step = xs.jit(self._step)
        self.scale = xs.custom_jvp(lambda x: x * 2.0)
        self.scale.defjvp(lambda p, t: (self.scale(*p), t[0] * 2.0))

    def _step(self, x):
        return jnp.sum(self.scale(x))


def main(count: int, every: int) -> list[Any]:
    curve = []
    for number in range(count + 1):
        once(number)
        if number % every == 0:
            gc.collect()
            curve.append((number, round(resident(), 1), len(gc.get_objects())))
    return curve


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
