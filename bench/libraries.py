"""Compiled linear algebra, Fourier transforms and random numbers: how long a call runs, on both sides.

``python -m bench.libraries`` prints the table.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import paired
from .sides import side

_SIZES = {
    "cholesky": (16, 128, 512),
    "svd": (16, 64, 256),
    "eigh": (16, 64, 256),
    "fft": (1024, 2**16, 2**20),
    "normal": (1000, 10**5, 10**6),
}
CASES = [f"{name} {size}" for name, sizes in _SIZES.items() for size in sizes]
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


def table() -> list[str]:
    """The table of all cases, a row each."""
    # LAPACK on one thread: those of two processes would wait for each other, a hundred times as long as they work.
    return paired.table("bench.libraries", "a compiled call of", CASES, _GOAL, {"OPENBLAS_NUM_THREADS": "1"})


if __name__ == "__main__":
    if sys.argv[1:]:
        paired.serve(functools.partial(_call, sys.argv[1]))
    else:
        print("\n".join(table()))
