"""The peak rates of a device, measured with jax itself, so that xlascope's engine need not be initialized as well."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

#: Rows of the square matrices multiplied, and elements of the array negated, on a CPU and on accelerators.
_ROWS, _MANY_ROWS = 1024, 8192
_ELEMENTS, _MANY_ELEMENTS = 1 << 24, 1 << 28
#: The minimum number of timed runs and their minimum total duration; the fastest one counts.
_RUNS, _SECONDS = 4, 0.15


class Ceiling(NamedTuple):
    """Peak floating-point operations and bytes per second, the programs that measured them, and the time."""

    flops: float
    bytes_per_second: float
    source: str
    time: float


@cache
def measure_ceilings(device: Any) -> Ceiling:
    """Measure the peak rates of a device; takes a fraction of a second, once per process."""
    small = device.platform == "cpu"
    rows, elements = (_ROWS, _ELEMENTS) if small else (_MANY_ROWS, _MANY_ELEMENTS)
    began = time.time()
    with jax.default_device(device):
        product = _fastest(jax.jit(lambda x: x @ x), jnp.zeros((rows, rows), jnp.float32))
        passed = _fastest(jax.jit(lambda x: -x, donate_argnums=0), jnp.zeros(elements, jnp.float32))
    source = f"a product of {rows} × {rows} matrices and a pass over {4 * elements / 1e6:.0f} MB, float32"
    return Ceiling(2 * rows**3 / product, 8 * elements / passed, source, began)


def _fastest(function: Callable[[Any], Any], operand: Any) -> float:
    """Return the seconds of the fastest run; each run gets the previous run's result."""
    operand = function(operand).block_until_ready()
    times: list[float] = []
    while len(times) <= _RUNS or sum(times) < _SECONDS:
        began = time.perf_counter()
        operand = function(operand).block_until_ready()
        times.append(time.perf_counter() - began)
    return min(times)
