"""Conversion and checks of the arguments of SciPy functions."""

from __future__ import annotations

from typing import Any

import ml_dtypes

from ..ir.jaxpr import Literal
from ..numpy.creation import asarray
from ..numpy.promotion import as_dtype, promote_args
from ..numpy.promotion import promote_dtypes_inexact as _promote_dtypes_inexact
from ..numpy.shaping import shape_of
from ..trace.operand_coercion import to_array
from ..trace.source import here
from ..trace.values import aval_of
from ..xla.arrays.transfers import put_on_device


def promote_args_inexact(*xs: Any) -> list[Any]:
    """Return arrays in a common inexact dtype; raise ValueError unless their shapes broadcast."""
    return [_to_array(x) for x in promote_args(xs, as_floats=True)]


def promote_dtypes_inexact(*xs: Any) -> list[Any]:
    """Return arrays in a common inexact dtype, whatever their shapes."""
    return [_to_array(x) for x in _promote_dtypes_inexact(xs)]


def _to_array(x: Any) -> Any:
    """Return an operand as an array or a tracer: a number beside a 64-bit array is a literal while staging."""
    return put_on_device(x.val, x.aval) if x.__class__ is Literal else to_array(x)


def to_array_in_dtype(x: Any, dtype: Any) -> Any:
    """Return an array in the dtype of another one, whatever enable_x64 is."""
    return _to_array(as_dtype(x, dtype))


def from_lists(x: Any) -> Any:
    """Return nested lists of numbers as an array, for functions that take them, as in JAX; anything else as it is."""
    return asarray(x) if isinstance(x, (list, tuple)) else x


def to_strong_type(x: Any) -> Any:
    """Return an array with the same dtype that is not weakly typed."""
    return to_array_in_dtype(x, aval_of(x).dtype)


def machine_epsilon(dtype: Any) -> float:
    """Return the machine epsilon of an inexact dtype."""
    return float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]


def require_square(name: str, a: Any) -> int:
    """Return n for matrices of shape ``(…, n, n)``; raise ValueError for other shapes.

    ``name`` is the function's name, for the message.
    """
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"{name} takes square matrices, shape (..., n, n), got shape {shape}{here()}")
    return shape[-1]


def require_one_of(name: str, value: Any, *allowed: Any) -> Any:
    """Return ``value`` if it is among the allowed options; raise ValueError, which lists them, otherwise.

    ``name`` is the argument's name, for the message.
    """
    if not isinstance(value, (str, int, type(None))) or value not in allowed:
        raise ValueError(f"{name} is one of {', '.join(map(repr, allowed))}, got {value!r}{here()}")
    return value
