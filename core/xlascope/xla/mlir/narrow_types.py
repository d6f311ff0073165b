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

from ...dtypes import dtype_bits
from ...ir.avals import ShapedArray, make_aval

#: The carrier of each type that has one.
CARRIERS: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(ml_dtypes.int2): np.dtype(np.int8),
    np.dtype(ml_dtypes.int4): np.dtype(np.int8),
    np.dtype(ml_dtypes.uint2): np.dtype(np.uint8),
    np.dtype(ml_dtypes.uint4): np.dtype(np.uint8),
    np.dtype(ml_dtypes.float4_e2m1fn): np.dtype(np.float32),
}


def packed_element_type(dtype: np.dtype[Any]) -> str:
    """Return MLIR's name of a dtype narrower than a byte: ``i4``, ``ui2``, ``f4E2M1FN``."""
    return {"f": "f4E2M1FN"}.get(dtype.name[0]) or dtype.name.replace("uint", "ui").replace("int", "i")


def wrap_in_carrier(builder: Any, value: Any, aval: ShapedArray) -> Any:
    """Wrap a value that was computed in the carrier type of ``aval`` into the range of ``aval``.

    Integers wrap around and floats are rounded. The result still has the carrier type.
    """
    carrier = make_aval(aval.shape, CARRIERS[aval.dtype])
    if carrier.dtype.kind == "f":
        return builder.unpack(builder.pack(value, aval), aval)
    if carrier.dtype.kind == "u":
        mask = builder.constant(2 ** dtype_bits(aval.dtype) - 1, carrier)
        return builder.emit1("stablehlo.and", [value, mask], carrier)
    unused_bits = builder.constant(8 - dtype_bits(aval.dtype), carrier)
    shifted = builder.emit1("stablehlo.shift_left", [value, unused_bits], carrier)
    return builder.emit1("stablehlo.shift_right_arithmetic", [shifted, unused_bits], carrier)


def convert_carriers(
    function: Callable[..., Any], avals: list[ShapedArray], results: list[ShapedArray]
) -> Callable[..., Any]:
    """Wrap a Python function so that it takes and returns NumPy arrays of carrier types.

    ``avals`` and ``results`` are the types of the arrays that ``function`` itself takes and returns. It is returned as
    it is if none of them has a carrier type.
    """
    if not any(aval.dtype in CARRIERS for aval in (*avals, *results)):
        return function

    def call(*operands: Any) -> tuple[Any, ...]:
        values = [np.asarray(x).astype(aval.dtype) for x, aval in zip(operands, avals, strict=True)]
        typed_results = zip(function(*values), results, strict=True)
        return tuple(y.astype(CARRIERS.get(aval.dtype, aval.dtype)) for y, aval in typed_results)

    return call
