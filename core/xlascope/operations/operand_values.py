"""Operands of operations: their types, and Python scalars that take the other operand's dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..cache_keys import scalar_bits
from ..dtypes import (
    NARROWED_DTYPES,
    cast_on_host,
    dtype_kind,
    finfo,
    iinfo,
    is_floating,
    python_scalar_type,
    to_canonical_dtype,
)
from ..ir.avals import ShapedArray, make_aval
from ..key_types import is_key
from ..lru_cache import FastLRUCache
from ..runtime.boot import enable_x64
from ..trace.source import here
from ..trace.values import aval_of, exact_operand

_scalars: FastLRUCache[tuple[Any, type, np.dtype[Any]], Any] = FastLRUCache(4096)

PYTHON_SCALAR_TYPES = (bool, int, float, complex)


def typed_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return an operand of exactly ``dtype`` with the value of a Python scalar.

    It is a NumPy scalar (see :func:`numpy_scalar`) unless that would be narrowed: for a dtype of 64 bits where these
    are not enabled, which an array from elsewhere has, it is a literal or an array.
    """
    scalar = numpy_scalar(value, dtype)
    return scalar if enable_x64.value or dtype not in NARROWED_DTYPES else exact_operand(scalar, make_aval((), dtype))


def numpy_scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a NumPy scalar of ``dtype`` with the value of a Python scalar.

    A float is clamped to the range of an integer dtype. Scalars are cached.
    """
    key = (value or scalar_bits(value), value.__class__, dtype)
    cached = _scalars.get(key)
    if cached is None:
        cached = _scalars.promote(key)
    if cached is not None:
        return cached
    scalar = cast_on_host(_clamp_to_integer(value, dtype) if value.__class__ is float else value, dtype)[()]
    # The parts of a complex zero have signs, which the key does not distinguish.
    return scalar if value.__class__ is complex else _scalars.insert(key, scalar)


def _clamp_to_integer(value: float, dtype: np.dtype[Any]) -> Any:
    """Return a float clamped to the range of an integer dtype, as XLA converts it; NaN becomes 0.

    For other dtypes the value is returned unchanged.
    """
    if dtype_kind(dtype) not in "iu":
        return value
    limits = iinfo(dtype)
    return 0 if value != value else int(min(max(value, int(limits.min)), int(limits.max)))


def as_float(x: Any) -> Any:
    """Return a Python int as a float, anything else unchanged."""
    return float(x) if x.__class__ is int else x


def match(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two operands; a Python scalar is converted to the other's dtype.

    Two Python scalars are converted to the more general of their types. Raises TypeError for a float or complex scalar
    that the other dtype cannot represent, OverflowError for an integer out of its range.
    """
    if x.__class__ in PYTHON_SCALAR_TYPES:
        if y.__class__ in PYTHON_SCALAR_TYPES:
            kind: Any = max(x.__class__, y.__class__, key=PYTHON_SCALAR_TYPES.index)
            return kind(x), kind(y)
        return _scalar_like(x, y), y
    if y.__class__ in PYTHON_SCALAR_TYPES:
        return x, _scalar_like(y, x)
    return x, y


def _scalar_like(value: Any, operand: Any) -> Any:
    """Return a Python scalar in the dtype of ``operand``; it stays a Python scalar if that is weakly typed."""
    dtype = _dtype(operand)
    if is_key(dtype):
        raise TypeError(
            f"keys meet nothing but keys of their own type, got {value!r}{here()}: random.key_data(keys) has "
            "a key's words as numbers"
        )
    if (value.__class__ is float and dtype_kind(dtype) in "biu") or (
        value.__class__ is complex and dtype_kind(dtype) != "c"
    ):
        raise TypeError(
            f"the number {value!r} has no value of dtype {dtype.name}, which the other operand has; convert that with "
            "astype (the functions of xlascope.numpy do it)"
        )
    if value.__class__ is int and dtype_kind(dtype) in "iu":
        require_fit(value, dtype)
    try:
        weak = operand.aval.weak_type
    except AttributeError:
        weak = False
    kind = python_scalar_type(dtype) if weak else None
    return kind(value) if kind and to_canonical_dtype(kind) == dtype else typed_scalar(value, dtype)


def require_fit(value: int, dtype: np.dtype[Any]) -> None:
    """Raise OverflowError if the integer ``value`` is out of range for the integer ``dtype``."""
    if dtype not in _INTEGER_RANGES:
        limits = iinfo(dtype)
        _INTEGER_RANGES[dtype] = range(int(limits.min), int(limits.max) + 1)
    if value not in _INTEGER_RANGES[dtype]:
        raise OverflowError(
            f"the integer {value} does not fit {dtype.name}, which the other operand has{here()}; convert that with "
            "astype, or write a float"
        )


_INTEGER_RANGES: dict[np.dtype[Any], range] = {}


def _dtype(x: Any) -> np.dtype[Any]:
    if isinstance(x, (np.generic, np.ndarray)):
        return aval_of(x).dtype  # that of NumPy's is wider where 64-bit types are not enabled
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
    return bool(np.isinf(cast_on_host(np.inf, dtype).astype(np.float64)))


def lowest(dtype: np.dtype[Any]) -> Any:
    """Return the smallest value of a dtype as a Python scalar; -inf if the dtype has infinities."""
    if dtype_kind(dtype) == "b":
        return False
    if dtype_kind(dtype) == "c":
        return -np.inf
    if not is_floating(dtype):
        return int(iinfo(dtype).min)
    return -np.inf if has_infinity(dtype) else float(finfo(dtype).min)


def highest(dtype: np.dtype[Any]) -> Any:
    """Return the largest value of a dtype as a Python scalar; inf if the dtype has infinities."""
    if dtype_kind(dtype) == "b":
        return True
    if dtype_kind(dtype) == "c":
        return np.inf
    if not is_floating(dtype):
        return int(iinfo(dtype).max)
    return np.inf if has_infinity(dtype) else float(finfo(dtype).max)
