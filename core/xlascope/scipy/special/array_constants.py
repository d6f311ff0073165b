"""Constant arrays with the shape and dtype of another array, used where a formula is not valid."""

from __future__ import annotations

from typing import Any

from ...dtypes import dtype_kind
from ...operations.operand_values import typed_scalar
from ...operations.shapes import full
from ...trace.values import aval_of


def full_like(x: Any, value: float) -> Any:
    """Return an array with the shape, dtype and weak type of ``x``, filled with a number."""
    aval = aval_of(x)
    number = complex(value) if dtype_kind(aval.dtype) == "c" else float(value)
    return full(aval.shape, number if aval.weak_type else typed_scalar(number, aval.dtype))
