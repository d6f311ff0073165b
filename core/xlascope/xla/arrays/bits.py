"""Bitcast of arrays to integers, for element types that Python's buffer protocol lacks (bfloat16 and narrower)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from jaxlib import _jax

from ...ir.avals import shaped
from ...runtime.differences import result_handler
from ..devices.xla_options import compile_options
from ..sharding.shardings import sharding_of
from ..system.uninterrupted import uninterrupted

_PROGRAM = """
func.func @main(%x: tensor<{shape}{element}>) -> tensor<{shape}ui{byte}> {{
  %bits = stablehlo.bitcast_convert %x : (tensor<{shape}{element}>) -> tensor<{shape}ui{width}>
  %bytes = stablehlo.convert %bits : (tensor<{shape}ui{width}>) -> tensor<{shape}ui{byte}>
  return %bytes : tensor<{shape}ui{byte}>
}}
"""
_MOST_PROGRAMS = 256


def bits_of(x: Any) -> Any:
    """Return an array on the same device with each element's bits as an unsigned integer of at least one byte."""
    device = x._sharding._device
    (bits,) = (
        _program(x.aval.shape, x.aval.dtype, device)
        .execute_sharded([x])
        .consume_with_handlers([_handler(x.aval.shape, x.aval.dtype, device)])
    )
    return bits


@functools.lru_cache(_MOST_PROGRAMS)
def _program(shape: tuple[int, ...], dtype: np.dtype[Any], device: Any) -> Any:
    element, width = _element(dtype.name)
    sizes = "".join(f"{size}x" for size in shape)
    text = _PROGRAM.format(shape=sizes, element=element, width=width, byte=max(width, 8))
    load, devices, options = (
        device.client.compile_and_load,
        _jax.DeviceList((device,)),
        compile_options(device),
    )
    return uninterrupted(lambda: load(text, devices, options))


@functools.lru_cache(_MOST_PROGRAMS)
def _handler(shape: tuple[int, ...], dtype: np.dtype[Any], device: Any) -> Any:
    aval = shaped(shape, np.dtype(f"uint{8 * dtype.itemsize}"))
    return result_handler(aval, sharding_of(device), committed=True)


def _element(name: str) -> tuple[str, int]:
    """Return a dtype's name in StableHLO, and its number of bits.

    >>> _stablehlo_element_type("bfloat16"), _stablehlo_element_type("float8_e4m3fn"), _stablehlo_element_type("int4")
    (('bf16', 16), ('f8E4M3FN', 8), ('i4', 4))
    """
    if name == "bfloat16":
        return "bf16", 16
    kind, _, form = name.partition("_")
    width = int("".join(filter(str.isdigit, kind)))
    short = {"float": "f", "uint": "ui", "int": "i"}[kind.rstrip("0123456789")]
    return f"{short}{width}{form.upper()}", width
