"""Comparison, logic, and the choice between values, elementwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import is_floating
from ..ir.operation import Operation
from ..operations import arithmetic, bits, comparisons
from ..operations.bits import shift_left, shift_right_arithmetic, shift_right_logical
from ..operations.comparisons import eq, lt, ne
from ..operations.complex_numbers import imag, real
from ..operations.conversion import bitcast_convert_type
from ..operations.rounding import is_finite
from ..operations.selection import select
from ..operations.shapes import full
from ..operations.sums import neg
from ..trace.bind import bind1
from ..trace.values import aval_of
from .promotion import fit_ranks, inexact_pair, pair
from .together import together


def equal(x: Any, y: Any, /) -> Any:
    """``x == y``."""
    return bind1(_EQ, *pair(x, y))


def not_equal(x: Any, y: Any, /) -> Any:
    """``x != y``."""
    return bind1(_NE, *pair(x, y))


def _ordered(comparison: Operation, x: Any, y: Any) -> Any:
    """A comparison; of complex values by their real parts, and where these are equal by their imaginary parts."""
    if aval_of(x).dtype.kind != "c":
        return bind1(comparison, x, y)
    first, second = (
        bind1(comparison, real(x), real(y)),
        bind1(comparison, imag(x), imag(y)),
    )
    return select(eq(real(x), real(y)), second, first)


def less(x: Any, y: Any, /) -> Any:
    """``x < y``; of complex values, by their real parts, then their imaginary parts."""
    return _ordered(_LT, *pair(x, y))


def less_equal(x: Any, y: Any, /) -> Any:
    """``x <= y``; of complex values, by their real parts, then their imaginary parts."""
    return _ordered(_LE, *pair(x, y))


def greater(x: Any, y: Any, /) -> Any:
    """``x > y``; of complex values, by their real parts, then their imaginary parts."""
    return _ordered(_GT, *pair(x, y))


def greater_equal(x: Any, y: Any, /) -> Any:
    """``x >= y``; of complex values, by their real parts, then their imaginary parts."""
    return _ordered(_GE, *pair(x, y))


_EQ, _NE, _LT, _LE, _GT, _GE = (
    comparisons.Eq(),
    comparisons.Ne(),
    comparisons.Lt(),
    comparisons.Le(),
    comparisons.Gt(),
    comparisons.Ge(),
)


def bitwise_and(x: Any, y: Any, /) -> Any:
    """The bits set in both."""
    return bits.bitwise_and(*pair(x, y))


def bitwise_or(x: Any, y: Any, /) -> Any:
    """The bits set in either."""
    return bits.bitwise_or(*pair(x, y))


def bitwise_xor(x: Any, y: Any, /) -> Any:
    """The bits set in one but not both."""
    return bits.bitwise_xor(*pair(x, y))


def bitwise_not(x: Any, /) -> Any:
    """The bits not set."""
    return bits.bitwise_not(x)


invert = bitwise_invert = bitwise_not


def left_shift(x: Any, y: Any, /) -> Any:
    """``x`` with its bits moved up by ``y``."""
    return shift_left(*pair(x, y))


def right_shift(x: Any, y: Any, /) -> Any:
    """``x`` with its bits moved down by ``y``."""
    x, y = pair(x, y)
    return shift_right_logical(x, y) if aval_of(x).dtype.kind == "u" else shift_right_arithmetic(x, y)


bitwise_left_shift, bitwise_right_shift = left_shift, right_shift


def truth(x: Any) -> Any:
    """Whether an operand is not zero."""
    return x if aval_of(x).dtype.kind == "b" else not_equal(x, 0)


@together()
def logical_and(x: Any, y: Any, /) -> Any:
    """Whether both are not zero."""
    return bitwise_and(truth(x), truth(y))


@together()
def logical_or(x: Any, y: Any, /) -> Any:
    """Whether either is not zero."""
    return bitwise_or(truth(x), truth(y))


@together()
def logical_xor(x: Any, y: Any, /) -> Any:
    """Whether one but not both are not zero."""
    return bitwise_xor(truth(x), truth(y))


@together()
def logical_not(x: Any, /) -> Any:
    """Whether x is zero."""
    return bits.bitwise_not(truth(x))


@together()
def isnan(x: Any, /) -> Any:
    """Whether x is not a number."""
    return ne(x, x)


@together()
def isfinite(x: Any, /) -> Any:
    """Whether x is neither infinite nor NaN; of a complex value, whether both parts are."""
    aval = aval_of(x)
    if is_floating(aval.dtype):
        return is_finite(x)
    if aval.dtype.kind == "c":
        return bits.bitwise_and(is_finite(real(x)), is_finite(imag(x)))
    return full(aval.shape, np.True_)


@together()
def isinf(x: Any, /) -> Any:
    """Whether x is infinite; of a complex value, whether a part is."""
    aval = aval_of(x)
    if aval.dtype.kind == "c":
        return bits.bitwise_or(isinf(real(x)), isinf(imag(x)))
    if not is_floating(aval.dtype):
        return full(aval.shape, np.False_)
    return eq(arithmetic.abs(x), math.inf)


@together()
def isposinf(x: Any, /) -> Any:
    """Whether x is +inf."""
    return equal(x, math.inf)


@together()
def isneginf(x: Any, /) -> Any:
    """Whether x is -inf."""
    return equal(x, -math.inf)


@together()
def signbit(x: Any, /) -> Any:
    """Whether the sign bit is set (also of -0.0)."""
    aval = aval_of(x)
    if not is_floating(aval.dtype):
        return less(x, 0)
    bits = np.dtype(f"int{8 * aval.dtype.itemsize}")
    return lt(bitcast_convert_type(x, bits), 0)


@together()
def copysign(x: Any, y: Any, /) -> Any:
    """The magnitude of x with the sign of y."""
    x, y = inexact_pair(x, y)
    return select(signbit(y), neg(arithmetic.abs(x)), arithmetic.abs(x))


@together()
def where(condition: Any, x: Any, y: Any) -> Any:
    """``x`` where the condition holds, ``y`` elsewhere."""
    condition = truth(condition)
    x, y = pair(x, y, any_rank=True)
    condition, x, y = fit_ranks([condition, x, y], [aval_of(v) for v in (condition, x, y)])
    return select(condition, x, y)
