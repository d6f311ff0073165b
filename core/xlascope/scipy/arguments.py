"""Arguments of SciPy's functions as arrays: promoted, made floating-point numbers, checked for shapes."""

from __future__ import annotations

from typing import Any

import ml_dtypes

from ..numpy.promotion import as_dtype, fitted, to_common_inexact
from ..numpy.shaping import shape_of
from ..trace.gate import array_of
from ..trace.source import here
from ..trace.values import aval_of


def floats(*xs: Any) -> list[Any]:
    """Arrays of one floating-point or complex dtype, whose shapes fit."""
    return [array_of(x) for x in fitted(xs, as_floats=True)]


def floats_of_any_shape(*xs: Any) -> list[Any]:
    """Arrays of one floating-point or complex dtype."""
    return [array_of(x) for x in to_common_inexact(xs)]


def strong(x: Any) -> Any:
    """An array that keeps its dtype beside others."""
    return array_of(as_dtype(x, aval_of(x).dtype))


def epsilon(dtype: Any) -> float:
    """The distance from 1 to the next number of a floating-point or complex dtype."""
    return float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]


def square(name: str, a: Any) -> int:
    """The size of square matrices; raises ValueError for others."""
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"{name} takes square matrices, shape (..., n, n), got shape {shape}{here()}")
    return shape[-1]


def one_of(what: str, given: Any, *known: Any) -> Any:
    """A choice among words; raises ValueError naming them for another one."""
    if not isinstance(given, (str, int, type(None))) or given not in known:
        raise ValueError(f"{what} is one of {', '.join(map(repr, known))}, got {given!r}{here()}")
    return given
