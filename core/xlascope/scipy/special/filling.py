"""Constant arrays with the shape and dtype of another array, used where a formula is not valid."""

from __future__ import annotations

from typing import Any

from ...dtypes import kind_of
from ...operations.shapes import full
from ...operations.values import typed_scalar
from ...trace.values import aval_of


def filled(x: Any, value: float) -> Any:
    """Return an array like ``x`` in shape, dtype and weak type that is filled with a number."""
    aval = aval_of(x)
    number = complex(value) if kind_of(aval.dtype) == "c" else float(value)
    return full(aval.shape, number if aval.weak_type else typed_scalar(number, aval.dtype))
