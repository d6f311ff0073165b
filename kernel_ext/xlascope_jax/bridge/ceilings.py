"""The peak rates of a device, measured with jax itself, so that xlascope's engine need not be initialized as well."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from xlascope.xla.profiling.calibration import calibrate_cpu

#: Rows of the square matrices multiplied, and elements of the array negated, on a CPU and on accelerators.
_CPU_MATRIX_ROWS, _ACCELERATOR_MATRIX_ROWS = 1024, 8192
_CPU_ELEMENTS, _ACCELERATOR_ELEMENTS = 1 << 24, 1 << 28
#: The minimum number of timed runs and their minimum total duration; the fastest one counts.
_MIN_RUNS, _MIN_MEASURING_SECONDS = 4, 0.15


class MeasuredCeilings(NamedTuple):
    """Measured peak rates of a device: floating-point operations and bytes per second.

    ``source`` describes the programs that measured them, ``time`` is when that was, in seconds since the epoch.
    """

    flops: float
    bytes_per_second: float
    source: str
    time: float


@cache
def measure_ceilings(device: Any) -> MeasuredCeilings:
    """Return the peak rates of a device: those of its calibration, or measured now where there is none.

    The calibration of a CPU takes a few seconds once per machine, in processes of their own; measuring an accelerator
    takes a fraction of a second, once per process.
    """
    calibrated = calibrate_cpu(device) if device.platform == "cpu" else None
    if calibrated is not None:
        return MeasuredCeilings(calibrated.flops, calibrated.bytes_per_second, calibrated.source, calibrated.time)
    small = device.platform == "cpu"
    rows, elements = (_CPU_MATRIX_ROWS, _CPU_ELEMENTS) if small else (_ACCELERATOR_MATRIX_ROWS, _ACCELERATOR_ELEMENTS)
    began = time.time()
    with jax.default_device(device):
        product = _measure_fastest(jax.jit(lambda x: x @ x), jnp.zeros((rows, rows), jnp.float32))
        passed = _measure_fastest(jax.jit(lambda x: -x, donate_argnums=0), jnp.zeros(elements, jnp.float32))
    source = (
        f"a product of {rows} × {rows} matrices and a pass over {4 * elements / 1e6:.0f} MB, float32; in this process"
    )
    return MeasuredCeilings(2 * rows**3 / product, 8 * elements / passed, source, began)


def _measure_fastest(function: Callable[[Any], Any], operand: Any) -> float:
    """Return the seconds of the fastest run of a function; each run gets the previous run's result as operand."""
    operand = function(operand).block_until_ready()
    times: list[float] = []
    while len(times) <= _MIN_RUNS or sum(times) < _MIN_MEASURING_SECONDS:
        began = time.perf_counter()
        operand = function(operand).block_until_ready()
        times.append(time.perf_counter() - began)
    return min(times)
