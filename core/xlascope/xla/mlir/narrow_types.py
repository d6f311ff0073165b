"""Types narrower than a byte, which programs take and return packed and compute with in a wider carrier type.

XLA's CPU compiler aborts the process over some operations on packed elements (concatenate, reverse) and gets
others wrong (it sorts two int2 into a third). Computing in the carrier and wrapping the result into the type's
range after each operation gives the same values: integers wrap around, floats are rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ...dtypes import bits_of
from ...ir.avals import ShapedArray, shaped

#: The carrier of each type that has one.
CARRIERS: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(ml_dtypes.int2): np.dtype(np.int8),
    np.dtype(ml_dtypes.int4): np.dtype(np.int8),
    np.dtype(ml_dtypes.uint2): np.dtype(np.uint8),
    np.dtype(ml_dtypes.uint4): np.dtype(np.uint8),
    np.dtype(ml_dtypes.float4_e2m1fn): np.dtype(np.float32),
}


def packed_element(dtype: np.dtype[Any]) -> str:
    """Return MLIR's name of a type that has a carrier."""
    return {"f": "f4E2M1FN"}.get(dtype.name[0]) or dtype.name.replace("uint", "ui").replace("int", "i")


def brought_back(builder: Any, value: Any, aval: ShapedArray) -> Any:
    """Wrap a value in a carrier into the range of the type: integers wrap around, floats are rounded."""
    carrier = shaped(aval.shape, CARRIERS[aval.dtype])
    if carrier.dtype.kind == "f":
        return builder.unpack(builder.pack(value, aval), aval)
    if carrier.dtype.kind == "u":
        mask = builder.constant(2 ** bits_of(aval.dtype) - 1, carrier)
        return builder.emit1("stablehlo.and", [value, mask], carrier)
    unused_bits = builder.constant(8 - bits_of(aval.dtype), carrier)
    shifted = builder.emit1("stablehlo.shift_left", [value, unused_bits], carrier)
    return builder.emit1("stablehlo.shift_right_arithmetic", [shifted, unused_bits], carrier)


def of_packed(function: Callable[..., Any], avals: list[ShapedArray], results: list[ShapedArray]) -> Callable[..., Any]:
    """Wrap a Python function of NumPy arrays of those types as one of arrays of their carriers."""
    if not any(aval.dtype in CARRIERS for aval in (*avals, *results)):
        return function

    def call(*operands: Any) -> tuple[Any, ...]:
        values = [np.asarray(x).astype(aval.dtype) for x, aval in zip(operands, avals, strict=True)]
        typed_results = zip(function(*values), results, strict=True)
        return tuple(y.astype(CARRIERS.get(aval.dtype, aval.dtype)) for y, aval in typed_results)

    return call
