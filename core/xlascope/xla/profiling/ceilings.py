"""Measured peak rates of a device: a matrix product and a pass over memory, timed by the host's clock."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
from jaxlib import _jax

from ...ir.avals import ShapedArray
from ...runtime.differences import result_handler
from ..arrays.transfers import put
from ..devices.xla_options import compile_options
from ..sharding.shardings import sharding_of
from ..system.uninterrupted import uninterrupted
from .kept_ceilings import Kept, keep, read

#: Rows of the square matrices multiplied, and elements of the array passed over, on a CPU and elsewhere.
_ROWS, _ELEMENTS = {"cpu": 1024}, {"cpu": 1 << 24}
_MANY_ROWS, _MANY_ELEMENTS = 8192, 1 << 28
#: The fastest run counts, of at least this many, during about this many seconds.
_RUNS, _SECONDS = 4, 0.15

_PRODUCT = """module @ceiling_product {{ func.func public @main(%x: tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32> {{
  %y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<{n}x{n}xf32>, tensor<{n}x{n}xf32>)
    -> tensor<{n}x{n}xf32>
  return %y : tensor<{n}x{n}xf32> }} }}"""
#: In place: with fresh memory we would measure how fast the operating system maps it.
_PASS = """module @ceiling_pass {{
  func.func public @main(%x: tensor<{n}xf32> {{tf.aliasing_output = 0 : i32}}) -> tensor<{n}xf32> {{
  %y = stablehlo.negate %x : tensor<{n}xf32>
  return %y : tensor<{n}xf32> }} }}"""


@cache
def measure_ceilings(device: Any) -> Kept:
    """Return a device's ceilings: those stored while the machine was idle, or else measured now.

    Measuring takes a fraction of a second, once per process. Compute is the rate of a product of float32 matrices,
    memory that of negating a float32 array too large for the caches of most machines, each the fastest of a few runs.
    Kernels whose data stay in a cache may be faster than memory.
    """
    ceilings = read(device)
    if ceilings is None:
        ceilings = _measured(device)
        keep(device, ceilings)
    return ceilings


def _measured(device: Any) -> Kept:
    """Measure the device's compute and memory rates."""
    rows = _ROWS.get(device.platform, _MANY_ROWS)
    elements = _ELEMENTS.get(device.platform, _MANY_ELEMENTS)
    began = time.time()
    product = _seconds(_PRODUCT.format(n=rows), (rows, rows), device)
    memory_pass = _seconds(_PASS.format(n=elements), (elements,), device)
    source = f"a product of {rows} × {rows} matrices and a pass over {4 * elements / 1e6:.0f} MB, float32"
    return Kept(2 * rows**3 / product, 8 * elements / memory_pass, source, began)


def _seconds(module: str, shape: tuple[int, ...], device: Any) -> float:
    """Time the fastest of a few runs of a program on one array; each run gets the result of the one before."""
    aval = ShapedArray(shape, np.dtype(np.float32))
    handlers = [result_handler(aval, sharding_of(device), committed=True)]
    options = compile_options(device)
    load, devices = device.client.compile_and_load, _jax.DeviceList((device,))
    executable = uninterrupted(lambda: load(module, devices, options))
    operand = put(np.zeros(shape, np.float32), aval, device)
    times: list[float] = []
    while len(times) <= _RUNS or sum(times) < _SECONDS:
        began = time.perf_counter()
        (operand,) = executable.execute_sharded([operand]).consume_with_handlers(handlers)
        operand.block_until_ready()
        times.append(time.perf_counter() - began)
    return min(times)
