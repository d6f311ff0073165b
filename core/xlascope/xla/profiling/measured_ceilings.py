"""Measured peak rates of a device: a matrix product and a pass over memory, timed by the host's clock."""

from __future__ import annotations

import json
import time
from functools import cache
from typing import Any

import numpy as np
from jaxlib import _jax

from ...ir.avals import ShapedArray
from ...runtime import cache_settings as settings
from ...runtime.jaxlib_differences import result_handler
from ..arrays.transfers import put_on_device
from ..devices.backend import default_device
from ..devices.xla_options import compile_options
from ..sharding.single_device import single_device_sharding
from ..system.worker_thread import run_uninterruptible
from .calibration import calibrate_cpu
from .ceilings_store import DeviceCeilings, join_ceilings, load_per_cpu, read_ceilings, store_ceilings

#: Rows of the square matrices that are multiplied (the best rate counts), and elements of the array passed over, on a
#: CPU and elsewhere.
_MATRIX_ROWS, _ARRAY_ELEMENTS = {"cpu": (512, 1024)}, {"cpu": 1 << 24}
_DEFAULT_MATRIX_ROWS, _DEFAULT_ARRAY_ELEMENTS = (8192,), 1 << 28
#: The fastest run counts, of at least this many, during about this many seconds.
_MIN_RUNS, _MEASURING_SECONDS = 4, 0.15

_PRODUCT_MODULE = """module @ceiling_product {{
  func.func public @main(%x: tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32> {{
  %y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<{n}x{n}xf32>, tensor<{n}x{n}xf32>)
    -> tensor<{n}x{n}xf32>
  return %y : tensor<{n}x{n}xf32> }} }}"""
#: In place: with fresh memory we would measure how fast the operating system maps it.
_NEGATE_MODULE = """module @ceiling_pass {{
  func.func public @main(%x: tensor<{n}xf32> {{tf.aliasing_output = 0 : i32}}) -> tensor<{n}xf32> {{
  %y = stablehlo.negate %x : tensor<{n}xf32>
  return %y : tensor<{n}xf32> }} }}"""


@cache
def measure_ceilings(device: Any) -> DeviceCeilings:
    """Return a device's ceilings: those of its calibration, made now if there is none.

    The ceiling of operations is the best rate of products of float32 matrices of a few sizes, that of bytes the rate
    of negating a float32 array too large for the caches of most machines, each the fastest of a few runs. Kernels
    whose data stay in a cache may be faster than memory. A CPU is measured in fresh processes (:mod:`.calibration`),
    which takes a few seconds once per machine; an accelerator in this process, and stored. Without the folder of the
    compilation cache everything is measured in this process.
    """
    stores = settings.enable_compilation_cache.value is not False
    calibrated = calibrate_cpu(device) if stores and device.platform == "cpu" else None
    if calibrated is not None:
        return calibrated
    stored = read_ceilings(device) if stores else None
    if stored is not None and stored.is_current():
        return stored
    ceilings = join_ceilings(stored, run_benchmarks(device))
    if stores:
        store_ceilings(device, ceilings)
    return ceilings


def run_benchmarks(device: Any) -> DeviceCeilings:
    """Measure the operations and bytes per second of a device in this process."""
    sizes = _MATRIX_ROWS.get(device.platform, _DEFAULT_MATRIX_ROWS)
    elements = _ARRAY_ELEMENTS.get(device.platform, _DEFAULT_ARRAY_ELEMENTS)
    began, load = time.time(), load_per_cpu()
    flops = max(2 * rows**3 / _time_fastest_run(_PRODUCT_MODULE.format(n=rows), (rows, rows), device) for rows in sizes)
    memory_pass = _time_fastest_run(_NEGATE_MODULE.format(n=elements), (elements,), device)
    rows_text = " or ".join(f"{rows} × {rows}" for rows in sizes)
    programs = f"a product of {rows_text} matrices and a pass over {4 * elements / 1e6:.0f} MB, float32"
    return DeviceCeilings(flops, 8 * elements / memory_pass, programs, began, load)


def print_benchmarks() -> None:
    """Measure the default device and print its rates as a line of JSON: what a fresh process of a calibration runs."""
    measured = run_benchmarks(default_device())
    fields = ("flops", "bytes_per_second", "programs")
    print(json.dumps({name: getattr(measured, name) for name in fields}))


def _time_fastest_run(module: str, shape: tuple[int, ...], device: Any) -> float:
    """Return the seconds that the fastest of a few runs of a program takes.

    ``module`` is StableHLO text, a function of one float32 array of that shape to another; each run gets the result of
    the one before.
    """
    aval = ShapedArray(shape, np.dtype(np.float32))
    handlers = [result_handler(aval, single_device_sharding(device), committed=True)]
    options = compile_options(device)
    load, devices = device.client.compile_and_load, _jax.DeviceList((device,))
    executable = run_uninterruptible(lambda: load(module, devices, options))
    operand = put_on_device(np.zeros(shape, np.float32), aval, device)
    times: list[float] = []
    while len(times) <= _MIN_RUNS or sum(times) < _MEASURING_SECONDS:
        began = time.perf_counter()
        (operand,) = executable.execute_sharded([operand]).consume_with_handlers(handlers)
        operand.block_until_ready()
        times.append(time.perf_counter() - began)
    return min(times)
