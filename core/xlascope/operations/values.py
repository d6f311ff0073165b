"""Operands as rules and functions write them: Python scalars that take the other operand's dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import canonical, is_floating, scalar_type
from ..ir.avals import ShapedArray
from ..trace.values import aval_of

_scalars: dict[tuple[Any, type, np.dtype[Any]], Any] = {}


_MOST_SCALARS = 10_000


PYTHON_SCALARS = (bool, int, float, complex)


def typed_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """A NumPy scalar of that dtype with the value of a Python scalar."""
    if value == 0:  # 0.0 and -0.0 are equal keys and different values
        return np.asarray(value).astype(dtype)[()]
    key = (value, value.__class__, dtype)
    found = _scalars.get(key)
    if found is None:
        if len(_scalars) >= _MOST_SCALARS:
            _scalars.clear()
        found = _scalars[key] = np.asarray(value).astype(dtype)[()]
    return found


def as_float(x: Any) -> Any:
    """A whole Python number as a float, anything else as it is."""
    return float(x) if x.__class__ is int else x


def match(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands, a Python scalar among them converted to the other's dtype."""
    if x.__class__ in PYTHON_SCALARS:
        if y.__class__ in PYTHON_SCALARS:
            kind: Any = max(x.__class__, y.__class__, key=PYTHON_SCALARS.index)
            return kind(x), kind(y)
        return _beside(x, y), y
    if y.__class__ in PYTHON_SCALARS:
        return x, _beside(y, x)
    return x, y


def _beside(value: Any, other: Any) -> Any:
    """A Python scalar in the other operand's dtype, and weak as that is."""
    dtype = _dtype(other)
    try:
        weak = other.aval.weak_type
    except AttributeError:
        weak = False
    kind = scalar_type(dtype) if weak else None
    return kind(value) if kind and canonical(kind) == dtype else typed_scalar(value, dtype)


def _dtype(x: Any) -> np.dtype[Any]:
    try:
        return x.dtype  # type: ignore[no-any-return]
    except AttributeError:
        return aval_of(x).dtype  # raises for what is no operand, a tracer that left its function among them


def aval(x: Any) -> ShapedArray:
    """The type of an operand."""
    return aval_of(x)


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an operand."""
    return aval_of(x).shape


def dtype_of(x: Any) -> np.dtype[Any]:
    """The dtype of an operand."""
    return aval_of(x).dtype


def lowest(dtype: np.dtype[Any]) -> Any:
    """The smallest value of a dtype, -inf where there is one."""
    if dtype.kind == "b":
        return False
    return -np.inf if is_floating(dtype) else np.iinfo(dtype).min


def highest(dtype: np.dtype[Any]) -> Any:
    """The largest value of a dtype, inf where there is one."""
    if dtype.kind == "b":
        return True
    return np.inf if is_floating(dtype) else np.iinfo(dtype).max
