"""Constants of an array's shape and dtype: what stands where a formula does not hold."""

from __future__ import annotations

from typing import Any

from ...dtypes import kind_of
from ...operations.shapes import full
from ...operations.values import typed_scalar
from ...trace.values import aval_of


def filled(x: Any, value: float) -> Any:
    """An array like ``x`` that holds that number."""
    aval = aval_of(x)
    number = complex(value) if kind_of(aval.dtype) == "c" else float(value)
    return full(aval.shape, number if aval.weak_type else typed_scalar(number, aval.dtype))
