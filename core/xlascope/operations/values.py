"""Operands of operations: their types, and Python scalars that take the other operand's dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import canonical, finfo, iinfo, is_floating, kind_of, scalar_type
from ..ir.avals import ShapedArray
from ..keys import scalar_bits
from ..recent import Recent
from ..trace.source import here
from ..trace.values import aval_of

_scalars: Recent[tuple[Any, type, np.dtype[Any]], Any] = Recent(4096)

PYTHON_SCALARS = (bool, int, float, complex)


def typed_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a NumPy scalar of that dtype with the value of a Python scalar."""
    key = (value or scalar_bits(value), value.__class__, dtype)
    cached = _scalars.get(key)
    if cached is None:
        cached = _scalars.again(key)
    if cached is not None:
        return cached
    scalar = np.asarray(_whole(value, dtype) if value.__class__ is float else value).astype(dtype)[()]
    # The parts of a complex zero have signs, which the key does not distinguish.
    return scalar if value.__class__ is complex else _scalars.keep(key, scalar)


def _whole(value: float, dtype: np.dtype[Any]) -> Any:
    """Convert a float that becomes an integer as XLA does: clamp it to the dtype's range; NaN is 0."""
    if kind_of(dtype) not in "iu":
        return value
    limits = iinfo(dtype)
    return 0 if value != value else int(min(max(value, int(limits.min)), int(limits.max)))


def as_float(x: Any) -> Any:
    """Return a Python int as a float, anything else unchanged."""
    return float(x) if x.__class__ is int else x


def match(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two operands, a Python scalar among them converted to the other's dtype."""
    if x.__class__ in PYTHON_SCALARS:
        if y.__class__ in PYTHON_SCALARS:
            kind: Any = max(x.__class__, y.__class__, key=PYTHON_SCALARS.index)
            return kind(x), kind(y)
        return _beside(x, y), y
    if y.__class__ in PYTHON_SCALARS:
        return x, _beside(y, x)
    return x, y


def _beside(value: Any, operand: Any) -> Any:
    """Return a Python scalar in the other operand's dtype and weak type."""
    dtype = _dtype(operand)
    if (value.__class__ is float and kind_of(dtype) in "biu") or (value.__class__ is complex and kind_of(dtype) != "c"):
        raise TypeError(
            f"the number {value!r} has no value of dtype {dtype.name}, which the other operand has; convert that with "
            "astype (the functions of xlascope.numpy do it)"
        )
    if value.__class__ is int and kind_of(dtype) in "iu":
        require_fit(value, dtype)
    try:
        weak = operand.aval.weak_type
    except AttributeError:
        weak = False
    kind = scalar_type(dtype) if weak else None
    return kind(value) if kind and canonical(kind) == dtype else typed_scalar(value, dtype)


def require_fit(value: int, dtype: np.dtype[Any]) -> None:
    """Raise OverflowError when a dtype does not hold an integer."""
    if dtype not in _LIMITS:
        limits = iinfo(dtype)
        _LIMITS[dtype] = range(int(limits.min), int(limits.max) + 1)
    if value not in _LIMITS[dtype]:
        raise OverflowError(
            f"the integer {value} does not fit {dtype.name}, which the other operand has{here()}; convert that with "
            "astype, or write a float"
        )


_LIMITS: dict[np.dtype[Any], range] = {}


def _dtype(x: Any) -> np.dtype[Any]:
    try:
        return x.dtype  # type: ignore[no-any-return]
    except AttributeError:
        return aval_of(x).dtype  # raises for invalid operands, leaked tracers included


def aval(x: Any) -> ShapedArray:
    """Return the type of an operand."""
    return aval_of(x)


def shape_of(x: Any) -> tuple[int, ...]:
    """Return the shape of an operand."""
    return aval_of(x).shape


def dtype_of(x: Any) -> np.dtype[Any]:
    """Return the dtype of an operand."""
    return aval_of(x).dtype


def has_infinity(dtype: np.dtype[Any]) -> bool:
    """Return whether a floating-point dtype has infinities; some of the narrow ones have none."""
    return bool(np.isinf(np.asarray(np.inf).astype(dtype).astype(np.float64)))


def lowest(dtype: np.dtype[Any]) -> Any:
    """Return the smallest value of a dtype, -inf where there is one."""
    if kind_of(dtype) == "b":
        return False
    if kind_of(dtype) == "c":
        return -np.inf
    if not is_floating(dtype):
        return int(iinfo(dtype).min)
    return -np.inf if has_infinity(dtype) else float(finfo(dtype).min)


def highest(dtype: np.dtype[Any]) -> Any:
    """Return the largest value of a dtype, inf where there is one."""
    if kind_of(dtype) == "b":
        return True
    if kind_of(dtype) == "c":
        return np.inf
    if not is_floating(dtype):
        return int(iinfo(dtype).max)
    return np.inf if has_infinity(dtype) else float(finfo(dtype).max)
