"""Elementwise comparison, logic and selection."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import dtype_bits, dtype_kind, is_floating
from ..ir.operation import Operation
from ..operations import arithmetic, bits, comparisons
from ..operations.bits import shift_left, shift_right_arithmetic, shift_right_logical
from ..operations.comparisons import eq, lt, ne
from ..operations.complex_numbers import imag, real
from ..operations.conversion import to_bits
from ..operations.operand_values import has_infinity
from ..operations.random_keys import are_keys, same_keys
from ..operations.rounding import is_finite
from ..operations.selection import select
from ..operations.shapes import full
from ..operations.tangent_arithmetic import neg
from ..trace.bind import bind1
from ..trace.operand_coercion import pass_through
from ..trace.trace_cache import cache_trace
from ..trace.values import aval_of
from .axes import reject_out
from .direct_operations import direct_binary, direct_unary
from .jit_wrapped import jit_wrapped
from .promotion import as_dtype, promote_pair, promote_pair_inexact, promote_shapes
from .ufunc_attributes import add_ufunc_attributes


@direct_binary(comparisons.Eq, "biufc")
@cache_trace
def equal(x: Any, y: Any, /) -> Any:
    """Return ``x == y``; for keys, whether they are the same."""
    if are_keys(x, y):
        return same_keys(*promote_pair(x, y))
    return bind1(_EQ, *promote_pair(x, y))


@direct_binary(comparisons.Ne, "biufc")
@cache_trace
def not_equal(x: Any, y: Any, /) -> Any:
    """Return ``x != y``; for keys, whether they differ."""
    if are_keys(x, y):
        return bitwise_not(same_keys(*promote_pair(x, y)))
    return bind1(_NE, *promote_pair(x, y))


def _compare(comparison: Operation, x: Any, y: Any) -> Any:
    """Apply ``comparison`` elementwise; complex values are compared by real parts, then by imaginary parts."""
    if dtype_kind(aval_of(x).dtype) != "c":
        return bind1(comparison, x, y)
    first, second = (
        bind1(comparison, real(x), real(y)),
        bind1(comparison, imag(x), imag(y)),
    )
    return select(eq(real(x), real(y)), second, first)


@direct_binary(comparisons.Lt, "biuf")
@cache_trace
def less(x: Any, y: Any, /) -> Any:
    """Return ``x < y``; complex values are compared by their real parts, then their imaginary parts."""
    return _compare(_LT, *promote_pair(x, y))


@direct_binary(comparisons.Le, "biuf")
@cache_trace
def less_equal(x: Any, y: Any, /) -> Any:
    """Return ``x <= y``; complex values are compared by their real parts, then their imaginary parts."""
    return _compare(_LE, *promote_pair(x, y))


@direct_binary(comparisons.Gt, "biuf")
@cache_trace
def greater(x: Any, y: Any, /) -> Any:
    """Return ``x > y``; complex values are compared by their real parts, then their imaginary parts."""
    return _compare(_GT, *promote_pair(x, y))


@direct_binary(comparisons.Ge, "biuf")
@cache_trace
def greater_equal(x: Any, y: Any, /) -> Any:
    """Return ``x >= y``; complex values are compared by their real parts, then their imaginary parts."""
    return _compare(_GE, *promote_pair(x, y))


_EQ, _NE, _LT, _LE, _GT, _GE = (
    comparisons.Eq(),
    comparisons.Ne(),
    comparisons.Lt(),
    comparisons.Le(),
    comparisons.Gt(),
    comparisons.Ge(),
)


@add_ufunc_attributes(2, -1)
@direct_binary(bits.And, "biu")
@cache_trace
def bitwise_and(x: Any, y: Any, /) -> Any:
    """Return the bits set in both."""
    return bits.bitwise_and(*promote_pair(x, y))


@add_ufunc_attributes(2, 0)
@direct_binary(bits.Or, "biu")
@cache_trace
def bitwise_or(x: Any, y: Any, /) -> Any:
    """Return the bits set in either."""
    return bits.bitwise_or(*promote_pair(x, y))


@add_ufunc_attributes(2, 0)
@direct_binary(bits.Xor, "biu")
@cache_trace
def bitwise_xor(x: Any, y: Any, /) -> Any:
    """Return the bits set in one but not both."""
    return bits.bitwise_xor(*promote_pair(x, y))


@direct_unary(bits.Not, "biu")
def bitwise_not(x: Any, /) -> Any:
    """Return the bits not set."""
    return bits.bitwise_not(x)


invert = bitwise_invert = bitwise_not


@cache_trace
def left_shift(x: Any, y: Any, /) -> Any:
    """Return ``x`` with its bits shifted left by ``y``; booleans are converted to integers."""
    return shift_left(*_promote_bools_to_integers(x, y))


def _promote_bools_to_integers(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the operands in their common dtype, booleans as integers."""
    x, y = promote_pair(x, y)
    if dtype_kind(aval_of(x).dtype) == "b":
        return as_dtype(x, np.dtype("int32")), as_dtype(y, np.dtype("int32"))
    return x, y


@cache_trace
def right_shift(x: Any, y: Any, /) -> Any:
    """Return ``x`` with its bits shifted right by ``y``; booleans are converted to integers."""
    x, y = _promote_bools_to_integers(x, y)
    return shift_right_logical(x, y) if dtype_kind(aval_of(x).dtype) == "u" else shift_right_arithmetic(x, y)


bitwise_left_shift, bitwise_right_shift = left_shift, right_shift


def to_bool(x: Any) -> Any:
    """Return a boolean array that says which elements of an operand are nonzero."""
    return pass_through(x) if dtype_kind(aval_of(x).dtype) == "b" else not_equal(x, 0)


@add_ufunc_attributes(2, True)
@jit_wrapped()
def logical_and(x: Any, y: Any, /) -> Any:
    """Return whether both elements are nonzero."""
    return bitwise_and(to_bool(x), to_bool(y))


@add_ufunc_attributes(2, False)
@jit_wrapped()
def logical_or(x: Any, y: Any, /) -> Any:
    """Return whether at least one of two elements is nonzero."""
    return bitwise_or(to_bool(x), to_bool(y))


@add_ufunc_attributes(2, False)
@jit_wrapped()
def logical_xor(x: Any, y: Any, /) -> Any:
    """Return whether exactly one of two elements is nonzero."""
    return bitwise_xor(to_bool(x), to_bool(y))


@jit_wrapped()
def logical_not(x: Any, /) -> Any:
    """Return whether elements are zero."""
    return bits.bitwise_not(to_bool(x))


@jit_wrapped()
def isnan(x: Any, /) -> Any:
    """Return whether elements are NaN."""
    return ne(x, x)


@jit_wrapped()
def isfinite(x: Any, /) -> Any:
    """Return whether x is neither infinite nor NaN; for a complex value, whether both parts are finite."""
    aval = aval_of(x)
    if is_floating(aval.dtype):
        return is_finite(x)
    if dtype_kind(aval.dtype) == "c":
        return bits.bitwise_and(is_finite(real(x)), is_finite(imag(x)))
    return full(aval.shape, np.True_)


@jit_wrapped()
def isinf(x: Any, /) -> Any:
    """Return whether x is infinite; for a complex value, whether a part is."""
    aval = aval_of(x)
    if dtype_kind(aval.dtype) == "c":
        return bits.bitwise_or(isinf(real(x)), isinf(imag(x)))
    if not _may_be_infinite(aval.dtype):
        return full(aval.shape, np.False_)
    return eq(arithmetic.abs(x), math.inf)


def _may_be_infinite(dtype: np.dtype[Any]) -> bool:
    return is_floating(dtype) and has_infinity(dtype)


@jit_wrapped()
def isposinf(x: Any, /, out: None = None) -> Any:
    """Return whether elements are positive infinity."""
    if out is not None:
        raise reject_out("isposinf")
    x = _require_real("isposinf", x)
    return eq(x, math.inf) if _may_be_infinite(x.dtype) else full(aval_of(x).shape, np.False_)


def _require_real(name: str, x: Any) -> Any:
    """Return an operand of the function ``name`` as an array; raise TypeError for a complex dtype."""
    if dtype_kind(aval_of(x).dtype) == "c":
        raise TypeError(
            f"{name} takes operands of real type, got {aval_of(x).dtype.name}; use it on real(x) and imag(x)"
        )
    return x if hasattr(x, "dtype") else as_dtype(x, aval_of(x).dtype)


@jit_wrapped()
def isneginf(x: Any, /, out: None = None) -> Any:
    """Return whether elements are negative infinity."""
    if out is not None:
        raise reject_out("isneginf")
    x = _require_real("isneginf", x)
    return eq(x, -math.inf) if _may_be_infinite(x.dtype) else full(aval_of(x).shape, np.False_)


@jit_wrapped()
def signbit(x: Any, /) -> Any:
    """Return whether the sign bit is set (also for -0.0)."""
    x = _require_real("signbit", x)
    aval = aval_of(x)
    if not is_floating(aval.dtype):
        return less(x, 0)
    if aval.dtype.name == "float8_e8m0fnu":  # powers of two: all of its bits are exponent
        return full(aval.shape, np.False_)
    bits = np.dtype(f"int{dtype_bits(aval.dtype)}")
    return lt(to_bits(x, bits), 0)


@jit_wrapped()
def copysign(x: Any, y: Any, /) -> Any:
    """Return the magnitude of x with the sign of y."""
    x, y = promote_pair_inexact(x, y)
    if dtype_kind(aval_of(x).dtype) == "c":
        raise TypeError(f"copysign takes operands of real type, got {aval_of(x).dtype.name}")
    return select(signbit(y), neg(arithmetic.abs(x)), arithmetic.abs(x))


@jit_wrapped()
def where(condition: Any, x: Any, y: Any) -> Any:
    """Return ``x`` where the condition holds, ``y`` elsewhere."""
    condition = to_bool(condition)
    x, y = promote_pair(x, y, any_rank=True)
    condition, x, y = promote_shapes([condition, x, y], [aval_of(v) for v in (condition, x, y)])
    return select(condition, x, y)
