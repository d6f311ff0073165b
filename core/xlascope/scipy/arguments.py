"""Conversion and checks of the arguments of SciPy functions."""

from __future__ import annotations

from typing import Any

import ml_dtypes

from ..numpy.promotion import as_dtype, fitted, to_common_inexact
from ..numpy.shaping import shape_of
from ..trace.gate import array_of
from ..trace.source import here
from ..trace.values import aval_of


def floats(*xs: Any) -> list[Any]:
    """Promote arrays to a common inexact dtype; raise ValueError unless their shapes broadcast."""
    return [array_of(x) for x in fitted(xs, as_floats=True)]


def floats_of_any_shape(*xs: Any) -> list[Any]:
    """Promote arrays to a common inexact dtype, whatever their shapes."""
    return [array_of(x) for x in to_common_inexact(xs)]


def strong(x: Any) -> Any:
    """Return an array with the same dtype that is not weakly typed."""
    return array_of(as_dtype(x, aval_of(x).dtype))


def epsilon(dtype: Any) -> float:
    """Return the machine epsilon of an inexact dtype."""
    return float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]


def square(name: str, a: Any) -> int:
    """Return the size of square matrices; raise ValueError for other shapes."""
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"{name} takes square matrices, shape (..., n, n), got shape {shape}{here()}")
    return shape[-1]


def one_of(name: str, value: Any, *allowed: Any) -> Any:
    """Return an option if it is among the allowed ones; raise ValueError listing them otherwise."""
    if not isinstance(value, (str, int, type(None))) or value not in allowed:
        raise ValueError(f"{name} is one of {', '.join(map(repr, allowed))}, got {value!r}{here()}")
    return value
