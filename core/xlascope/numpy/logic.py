"""Elementwise comparison, logic and selection."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import bits_of, is_floating, kind_of
from ..ir.operation import Operation
from ..operations import arithmetic, bits, comparisons
from ..operations.bits import shift_left, shift_right_arithmetic, shift_right_logical
from ..operations.comparisons import eq, lt, ne
from ..operations.complex_numbers import imag, real
from ..operations.conversion import bitcast_convert_type
from ..operations.random_keys import are_keys, same_keys
from ..operations.rounding import is_finite
from ..operations.selection import select
from ..operations.shapes import full
from ..operations.sums import neg
from ..operations.values import has_infinity
from ..trace.bind import bind1
from ..trace.gate import unchanged
from ..trace.planned import planned
from ..trace.values import aval_of
from .axes import no_out
from .promotion import as_dtype, fit_ranks, inexact_pair, pair
from .together import together
from .universal import universal


@planned
def equal(x: Any, y: Any, /) -> Any:
    """Return ``x == y``; for keys, whether they are the same."""
    if are_keys(x, y):
        return same_keys(*pair(x, y))
    return bind1(_EQ, *pair(x, y))


@planned
def not_equal(x: Any, y: Any, /) -> Any:
    """Return ``x != y``; for keys, whether they differ."""
    if are_keys(x, y):
        return bitwise_not(same_keys(*pair(x, y)))
    return bind1(_NE, *pair(x, y))


def _ordered(comparison: Operation, x: Any, y: Any) -> Any:
    """Compare elementwise; complex values by their real parts, then by their imaginary parts."""
    if kind_of(aval_of(x).dtype) != "c":
        return bind1(comparison, x, y)
    first, second = (
        bind1(comparison, real(x), real(y)),
        bind1(comparison, imag(x), imag(y)),
    )
    return select(eq(real(x), real(y)), second, first)


@planned
def less(x: Any, y: Any, /) -> Any:
    """Return ``x < y``; complex values are compared by their real parts, then their imaginary parts."""
    return _ordered(_LT, *pair(x, y))


@planned
def less_equal(x: Any, y: Any, /) -> Any:
    """Return ``x <= y``; complex values are compared by their real parts, then their imaginary parts."""
    return _ordered(_LE, *pair(x, y))


@planned
def greater(x: Any, y: Any, /) -> Any:
    """Return ``x > y``; complex values are compared by their real parts, then their imaginary parts."""
    return _ordered(_GT, *pair(x, y))


@planned
def greater_equal(x: Any, y: Any, /) -> Any:
    """Return ``x >= y``; complex values are compared by their real parts, then their imaginary parts."""
    return _ordered(_GE, *pair(x, y))


_EQ, _NE, _LT, _LE, _GT, _GE = (
    comparisons.Eq(),
    comparisons.Ne(),
    comparisons.Lt(),
    comparisons.Le(),
    comparisons.Gt(),
    comparisons.Ge(),
)


@universal(2, -1)
@planned
def bitwise_and(x: Any, y: Any, /) -> Any:
    """Return the bits set in both."""
    return bits.bitwise_and(*pair(x, y))


@universal(2, 0)
@planned
def bitwise_or(x: Any, y: Any, /) -> Any:
    """Return the bits set in either."""
    return bits.bitwise_or(*pair(x, y))


@universal(2, 0)
@planned
def bitwise_xor(x: Any, y: Any, /) -> Any:
    """Return the bits set in one but not both."""
    return bits.bitwise_xor(*pair(x, y))


def bitwise_not(x: Any, /) -> Any:
    """Return the bits not set."""
    return bits.bitwise_not(x)


invert = bitwise_invert = bitwise_not


@planned
def left_shift(x: Any, y: Any, /) -> Any:
    """Return ``x`` with its bits shifted left by ``y``; booleans are converted to integers."""
    return shift_left(*_integers(x, y))


def _integers(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the operands in their common dtype, booleans as integers."""
    x, y = pair(x, y)
    if kind_of(aval_of(x).dtype) == "b":
        return as_dtype(x, np.dtype("int32")), as_dtype(y, np.dtype("int32"))
    return x, y


@planned
def right_shift(x: Any, y: Any, /) -> Any:
    """Return ``x`` with its bits shifted right by ``y``; booleans are converted to integers."""
    x, y = _integers(x, y)
    return shift_right_logical(x, y) if kind_of(aval_of(x).dtype) == "u" else shift_right_arithmetic(x, y)


bitwise_left_shift, bitwise_right_shift = left_shift, right_shift


def truth(x: Any) -> Any:
    """Return whether an operand is nonzero, as a boolean array."""
    return unchanged(x) if kind_of(aval_of(x).dtype) == "b" else not_equal(x, 0)


@universal(2, True)
@together()
def logical_and(x: Any, y: Any, /) -> Any:
    """Whether both are not zero."""
    return bitwise_and(truth(x), truth(y))


@universal(2, False)
@together()
def logical_or(x: Any, y: Any, /) -> Any:
    """Whether either is not zero."""
    return bitwise_or(truth(x), truth(y))


@universal(2, False)
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
    """Return whether x is neither infinite nor NaN; for a complex value, whether both parts are finite."""
    aval = aval_of(x)
    if is_floating(aval.dtype):
        return is_finite(x)
    if kind_of(aval.dtype) == "c":
        return bits.bitwise_and(is_finite(real(x)), is_finite(imag(x)))
    return full(aval.shape, np.True_)


@together()
def isinf(x: Any, /) -> Any:
    """Return whether x is infinite; for a complex value, whether a part is."""
    aval = aval_of(x)
    if kind_of(aval.dtype) == "c":
        return bits.bitwise_or(isinf(real(x)), isinf(imag(x)))
    if not _may_be_infinite(aval.dtype):
        return full(aval.shape, np.False_)
    return eq(arithmetic.abs(x), math.inf)


def _may_be_infinite(dtype: np.dtype[Any]) -> bool:
    return is_floating(dtype) and has_infinity(dtype)


@together()
def isposinf(x: Any, /, out: None = None) -> Any:
    """Whether x is +inf."""
    if out is not None:
        raise no_out("isposinf")
    x = _real("isposinf", x)
    return eq(x, math.inf) if _may_be_infinite(x.dtype) else full(aval_of(x).shape, np.False_)


def _real(name: str, x: Any) -> Any:
    """Return an operand as an array; raise TypeError for a complex dtype."""
    if kind_of(aval_of(x).dtype) == "c":
        raise TypeError(
            f"{name} takes operands of real type, got {aval_of(x).dtype.name}; use it on real(x) and imag(x)"
        )
    return x if hasattr(x, "dtype") else as_dtype(x, aval_of(x).dtype)


@together()
def isneginf(x: Any, /, out: None = None) -> Any:
    """Whether x is -inf."""
    if out is not None:
        raise no_out("isneginf")
    x = _real("isneginf", x)
    return eq(x, -math.inf) if _may_be_infinite(x.dtype) else full(aval_of(x).shape, np.False_)


@together()
def signbit(x: Any, /) -> Any:
    """Return whether the sign bit is set (also for -0.0)."""
    x = _real("signbit", x)
    aval = aval_of(x)
    if not is_floating(aval.dtype):
        return less(x, 0)
    if aval.dtype.name == "float8_e8m0fnu":  # powers of two: all of its bits are exponent
        return full(aval.shape, np.False_)
    bits = np.dtype(f"int{bits_of(aval.dtype)}")
    return lt(bitcast_convert_type(x, bits), 0)


@together()
def copysign(x: Any, y: Any, /) -> Any:
    """Return the magnitude of x with the sign of y."""
    x, y = inexact_pair(x, y)
    if kind_of(aval_of(x).dtype) == "c":
        raise TypeError(f"copysign takes operands of real type, got {aval_of(x).dtype.name}")
    return select(signbit(y), neg(arithmetic.abs(x)), arithmetic.abs(x))


@together()
def where(condition: Any, x: Any, y: Any) -> Any:
    """Return ``x`` where the condition holds, ``y`` elsewhere."""
    condition = truth(condition)
    x, y = pair(x, y, any_rank=True)
    condition, x, y = fit_ranks([condition, x, y], [aval_of(v) for v in (condition, x, y)])
    return select(condition, x, y)
