"""Conversion of Python values to MLIR attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxlib.mlir import ir

from ...ir.avals import make_aval
from .builder import tensor_type


def to_attribute(value: Any) -> Any:
    """Convert a number, text, a dtype, a NumPy array, or lists and dictionaries of these to an MLIR attribute.

    It is created in the entered context, as in lowering rules. Raises TypeError for other values.
    """
    if isinstance(value, (bool, np.bool_)):
        return ir.BoolAttr.get(bool(value))
    if isinstance(value, (int, np.integer)):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(value))
    if isinstance(value, (float, np.floating)):
        return ir.FloatAttr.get_f64(float(value))
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return ir.TypeAttr.get(ir.RankedTensorType(tensor_type(make_aval((), np.dtype(value)))).element_type)
    if isinstance(value, np.ndarray):
        return _dense_attribute(value)
    if isinstance(value, (list, tuple)):
        return ir.ArrayAttr.get([to_attribute(element) for element in value])
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return ir.DictAttr.get({key: to_attribute(element) for key, element in value.items()})
    raise TypeError(f"there is no attribute for a value of type {type(value).__name__}")


def _dense_attribute(array: np.ndarray[Any, Any]) -> Any:
    element = ir.RankedTensorType(tensor_type(make_aval((), array.dtype))).element_type
    raw = array.astype(np.uint8) if array.dtype == np.bool_ else array
    return ir.DenseElementsAttr.get(np.ascontiguousarray(raw), type=element, shape=list(array.shape))
