"""Bitcast of arrays to integers, for element types that Python's buffer protocol lacks (bfloat16 and narrower)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from jaxlib import _jax

from ...ir.avals import make_aval
from ...runtime.jaxlib_differences import result_handler
from ..devices.xla_options import compile_options
from ..sharding.single_device import single_device_sharding
from ..system.worker_thread import run_uninterruptible

_BITCAST_MODULE = """
func.func @main(%x: tensor<{shape}{element}>) -> tensor<{shape}ui{byte}> {{
  %bits = stablehlo.bitcast_convert %x : (tensor<{shape}{element}>) -> tensor<{shape}ui{width}>
  %bytes = stablehlo.convert %bits : (tensor<{shape}ui{width}>) -> tensor<{shape}ui{byte}>
  return %bytes : tensor<{shape}ui{byte}>
}}
"""
_MAX_PROGRAMS = 256


def bitcast_to_uint(x: Any) -> Any:
    """Return an array on the same device with each element's bits as an unsigned integer of at least one byte.

    ``x`` is an array of floating-point or integer numbers on one device.
    """
    device = x._sharding._device
    (bits,) = (
        _bitcast_program(x.aval.shape, x.aval.dtype, device)
        .execute_sharded([x])
        .consume_with_handlers([_result_handler(x.aval.shape, x.aval.dtype, device)])
    )
    return bits


@functools.lru_cache(_MAX_PROGRAMS)
def _bitcast_program(shape: tuple[int, ...], dtype: np.dtype[Any], device: Any) -> Any:
    """Return the executable that turns an array into its elements' bits, compiled at first use.

    The operand has that shape and dtype and lies on ``device``; the result has unsigned integers of at least one byte.
    """
    element, width = _stablehlo_element_type(dtype.name)
    sizes = "".join(f"{size}x" for size in shape)
    text = _BITCAST_MODULE.format(shape=sizes, element=element, width=width, byte=max(width, 8))
    load, devices, options = (
        device.client.compile_and_load,
        _jax.DeviceList((device,)),
        compile_options(device),
    )
    return run_uninterruptible(lambda: load(text, devices, options))


@functools.lru_cache(_MAX_PROGRAMS)
def _result_handler(shape: tuple[int, ...], dtype: np.dtype[Any], device: Any) -> Any:
    aval = make_aval(shape, np.dtype(f"uint{8 * dtype.itemsize}"))
    return result_handler(aval, single_device_sharding(device), committed=True)


def _stablehlo_element_type(name: str) -> tuple[str, int]:
    """Return the name of a dtype's element type in StableHLO, and its number of bits.

    >>> _stablehlo_element_type("bfloat16"), _stablehlo_element_type("float8_e4m3fn"), _stablehlo_element_type("int4")
    (('bf16', 16), ('f8E4M3FN', 8), ('i4', 4))
    """
    if name == "bfloat16":
        return "bf16", 16
    kind, _, form = name.partition("_")
    width = int("".join(filter(str.isdigit, kind)))
    short = {"float": "f", "uint": "ui", "int": "i"}[kind.rstrip("0123456789")]
    return f"{short}{width}{form.upper()}", width
