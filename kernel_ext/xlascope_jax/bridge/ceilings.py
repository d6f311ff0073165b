"""What a device can do at most, measured by jax itself, so that our engine need not start beside it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

#: Rows of the square matrices multiplied, and elements of the array passed over, on a CPU and elsewhere.
_ROWS, _MANY_ROWS = 1024, 8192
_ELEMENTS, _MANY_ELEMENTS = 1 << 24, 1 << 28
#: The fastest run counts, of at least so many, for about so many seconds.
_RUNS, _SECONDS = 4, 0.15


class Ceiling(NamedTuple):
    """Floating-point operations and bytes per second, by which programs they were measured, and when."""

    flops: float
    bytes_per_second: float
    source: str
    time: float


@cache
def measure_ceilings(device: Any) -> Ceiling:
    """The ceilings of a device: once per process, a fraction of a second."""
    small = device.platform == "cpu"
    rows, elements = (_ROWS, _ELEMENTS) if small else (_MANY_ROWS, _MANY_ELEMENTS)
    began = time.time()
    with jax.default_device(device):
        product = _fastest(jax.jit(lambda x: x @ x), jnp.zeros((rows, rows), jnp.float32))
        passed = _fastest(jax.jit(lambda x: -x, donate_argnums=0), jnp.zeros(elements, jnp.float32))
    source = f"a product of {rows} × {rows} matrices and a pass over {4 * elements / 1e6:.0f} MB, float32"
    return Ceiling(2 * rows**3 / product, 8 * elements / passed, source, began)


def _fastest(function: Callable[[Any], Any], operand: Any) -> float:
    """Seconds of the fastest run; each gets the result of the one before."""
    operand = function(operand).block_until_ready()
    times: list[float] = []
    while len(times) <= _RUNS or sum(times) < _SECONDS:
        began = time.perf_counter()
        operand = function(operand).block_until_ready()
        times.append(time.perf_counter() - began)
    return min(times)
