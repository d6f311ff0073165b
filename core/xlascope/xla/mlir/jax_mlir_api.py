"""MLIR's own modules, and helpers for types, attributes and constants as in ``jax.interpreters.mlir``.

They are for users who register lowering rules; our operations are lowered with a ``Builder``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import arith, chlo, func, math, memref, scf, stablehlo, vector

from ...ir.avals import ShapedArray, make_aval
from .builder import int64_array, tensor_type

__all__ = [
    "arith",
    "aval_to_ir_type",
    "chlo",
    "dense_int_array",
    "dense_int_elements",
    "dtype_to_ir_type",
    "func",
    "i32_attr",
    "i64_attr",
    "ir",
    "ir_constant",
    "math",
    "memref",
    "passmanager",
    "scf",
    "stablehlo",
    "vector",
]


def aval_to_ir_type(*context_and_aval: Any) -> Any:
    """Return the MLIR type of an abstract value, the last argument; a preceding context, as in JAX, is ignored."""
    aval: ShapedArray = context_and_aval[-1]
    return tensor_type(aval)


def dtype_to_ir_type(dtype: Any) -> Any:
    """Return the MLIR element type of a dtype, such as ``f32``; that of the carrier for one narrower than a byte."""
    return ir.RankedTensorType(tensor_type(make_aval((), np.dtype(dtype)))).element_type


def dense_int_array(values: Sequence[int]) -> Any:
    """Return the MLIR attribute ``array<i64: …>`` that holds ``values``."""
    return int64_array(tuple(map(int, values)))


def dense_int_elements(values: Sequence[int]) -> Any:
    """Return the MLIR attribute ``dense<…> : tensor<nxi64>`` that holds ``values``."""
    return ir.DenseIntElementsAttr.get(np.asarray(values, np.int64))


def i32_attr(value: int) -> Any:
    """Return the attribute ``value : i32``."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)


def i64_attr(value: int) -> Any:
    """Return the attribute ``value : i64``."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def ir_constant(value: Any) -> Any:
    """Emit a constant with the value of an array or scalar at MLIR's insertion point."""
    array = np.asarray(value)
    if array.dtype == np.float64 and not hasattr(value, "dtype"):  # a Python number
        array = array.astype(np.float32)
    element = dtype_to_ir_type(array.dtype)
    raw = array.astype(np.uint8) if array.dtype == np.bool_ else array
    attribute = ir.DenseElementsAttr.get(np.ascontiguousarray(raw), type=element, shape=list(array.shape))
    return stablehlo.constant(attribute)
