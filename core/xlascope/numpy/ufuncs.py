"""Elementwise arithmetic, rounding and complex parts, with NumPy's promotion and broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import NARROWED_DTYPES, dtype_bits, dtype_kind, finfo, is_floating
from ..operations import arithmetic, bits, complex_numbers, exponentials, extremes, rounding, tangent_arithmetic
from ..operations.arithmetic import div, integer_pow, mul, rem, sub
from ..operations.bits import bitwise_and, bitwise_or
from ..operations.comparisons import eq, lt, ne
from ..operations.complex_numbers import real_dtype
from ..operations.conversion import to_bits
from ..operations.selection import select
from ..operations.tangent_arithmetic import neg
from ..operations.trigonometry import atan2
from ..trace.bind import bind1
from ..trace.operand_coercion import aval_from_attributes, pass_through
from ..trace.trace_cache import cache_trace
from ..trace.values import aval_of
from . import creation, logic
from .axes import reject_out, whole_number
from .direct_operations import direct_binary, direct_unary
from .jit_wrapped import jit_wrapped
from .promotion import (
    as_dtype,
    promote_inexact,
    promote_pair,
    promote_pair_inexact,
    promote_shapes,
    strengthen_unless_scalar,
    to_default_float,
    to_inexact,
)
from .ufunc_attributes import add_ufunc_attributes

# Arithmetic ----------------------------------------------------------------------------------------------------------


@add_ufunc_attributes(2, 0)
@direct_binary(arithmetic.Add, "iufc")
@cache_trace
def add(x: Any, y: Any, /) -> Any:
    """Return ``x + y``; for booleans, whether either is true.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.add(jnp.arange(3), 0.5))
    [0.5 1.5 2.5]
    """
    x, y = promote_pair(x, y)
    z = _bool_operation(_OR, x, y)
    return bind1(_ADD, x, y) if z is None else z


@add_ufunc_attributes(2, None)
@direct_binary(arithmetic.Sub, "iufc")
@cache_trace
def subtract(x: Any, y: Any, /) -> Any:
    """Return ``x - y``."""
    return bind1(_SUB, *promote_pair(x, y))


@add_ufunc_attributes(2, 1)
@direct_binary(arithmetic.Mul, "iufc")
@cache_trace
def multiply(x: Any, y: Any, /) -> Any:
    """Return ``x`` times ``y``; for booleans, whether both are true."""
    x, y = promote_pair(x, y)
    z = _bool_operation(_AND, x, y)
    return bind1(_MUL, x, y) if z is None else z


_ADD, _SUB, _MUL, _DIV, _OR, _AND, _MAX, _MIN = (
    arithmetic.Add(),
    arithmetic.Sub(),
    arithmetic.Mul(),
    arithmetic.Div(),
    bits.Or(),
    bits.And(),
    extremes.Max(),
    extremes.Min(),
)
_BOOL, _INT, _FLOAT = np.dtype("bool"), np.dtype("int32"), np.dtype("float32")


def _bool_operation(operation: Any, x: Any, y: Any) -> Any:
    """Return the result of ``operation`` if the operands are boolean, else None."""
    dtype = getattr(x, "dtype", None)
    if dtype is _BOOL or (dtype is None and aval_of(x).dtype == _BOOL):
        return bind1(operation, x, y)
    return None


@direct_binary(arithmetic.Div, "fc")
@cache_trace
def true_divide(x: Any, y: Any, /) -> Any:
    """Return ``x`` divided by ``y``; the result is always floating-point or complex.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.true_divide(jnp.arange(3), 2))
    [0.  0.5 1. ]
    """
    return bind1(_DIV, *promote_pair_inexact(x, y))


divide = true_divide


@jit_wrapped()
def floor_divide(x: Any, y: Any, /) -> Any:
    """Return ``x`` divided by ``y``, rounded down.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.floor_divide(jnp.array([7, -7]), 2))
    [ 3 -4]
    """
    x, y = _promote_bools(*promote_pair(x, y))
    dtype = _dtype_of(x)
    if dtype_kind(dtype) == "c":
        raise TypeError("floor_divide takes real operands, got complex ones")
    quotient = div(x, y)
    if dtype_kind(dtype) == "u":
        return quotient
    if dtype_kind(dtype) == "i":
        inexact_below = bitwise_and(ne(arithmetic.sign(x), arithmetic.sign(y)), ne(rem(x, y), 0))
        return select(inexact_below, sub(quotient, 1), quotient)
    return _float_divmod(x, y)[0]


@jit_wrapped()
def remainder(x: Any, y: Any, /) -> Any:
    """Return the remainder of x divided by y, with the sign of y.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.remainder(jnp.array([7, -7]), 3))
    [1 2]
    """
    x, y = _promote_bools(*promote_pair(x, y))
    truncated = _truncated_remainder(x, y)
    other_sign = ne(lt(truncated, 0), lt(y, 0))
    return select(bitwise_and(other_sign, ne(truncated, 0)), arithmetic.add(truncated, y), truncated)


mod = remainder


@jit_wrapped()
def fmod(x: Any, y: Any, /) -> Any:
    """Return the remainder of x divided by y, with the sign of x."""
    return _truncated_remainder(*_promote_bools(*promote_pair(x, y)))


def _truncated_remainder(x: Any, y: Any) -> Any:
    """Return the remainder of x divided by y, with the sign of x; 0 for an integer divided by 0."""
    result = rem(x, y)
    return select(eq(y, 0), 0, result) if dtype_kind(_dtype_of(x)) in "iu" else result


@jit_wrapped()
def divmod(x: Any, y: Any, /) -> tuple[Any, Any]:
    """Return the quotient rounded down, and the remainder."""
    x, y = promote_pair(x, y)
    if is_floating(_dtype_of(x)):
        return _float_divmod(x, y)
    return floor_divide(x, y), remainder(x, y)


def _promote_bools(x: Any, y: Any) -> tuple[Any, Any]:
    """Return operands of one dtype, converted to int32 if they are boolean."""
    if dtype_kind(_dtype_of(x)) == "b":
        return as_dtype(x, _INT), as_dtype(y, _INT)
    return x, y


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    # x - rem is a multiple of y up to rounding; the floor of the quotient follows from it and the signs.
    modulus = rem(x, y)
    quotient = div(sub(x, modulus), y)
    adjust = bitwise_and(ne(modulus, 0), ne(arithmetic.sign(y), arithmetic.sign(modulus)))
    modulus = select(adjust, arithmetic.add(modulus, y), modulus)
    quotient = select(adjust, sub(quotient, 1), quotient)
    return select(eq(y, 0), div(x, y), rounding.round(quotient)), modulus


@direct_binary(exponentials.Pow, "fc", with_numbers=False)
@cache_trace
def power(x: Any, y: Any, /) -> Any:
    """Return ``x`` to the power ``y``; a Python int ``y`` is computed by multiplications, as is NumPy's beside floats.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.power(jnp.arange(4), 2))
    [0 1 4 9]
    """
    if y.__class__ is int:
        x = x if hasattr(x, "aval") else as_dtype(x, aval_of(x).dtype)
        return _static_integer_power(x, y)
    exponent = aval_of(y)
    if dtype_kind(exponent.dtype) in "iu":
        if isinstance(y, np.integer) and hasattr(x, "aval") and dtype_kind(x.aval.dtype) in "fc":
            return integer_pow(x, int(y))  # also with strict promotion, which permits no integer array
        x = x if exponent.weak_type else _strengthen_inexact(x)
        if _dtype_of(x) in NARROWED_DTYPES and dtype_kind(_dtype_of(x)) in "fc":
            y = as_dtype(y, _dtype_of(x))  # an integer of another dtype leaves the base as it is
    x, y = promote_pair(x, y)
    return exponentials.pow(x, y) if dtype_kind(_dtype_of(x)) in "fc" else _integer_power(x, y)


def _strengthen_inexact(x: Any) -> Any:
    """Return a floating-point or complex base without weak type: as JAX has it beside integer exponents."""
    base = aval_of(x)
    return as_dtype(x, base.dtype) if base.weak_type and dtype_kind(base.dtype) in "fc" else x


def _static_integer_power(x: Any, y: int) -> Any:
    dtype = aval_of(x).dtype
    if dtype_kind(dtype) in "iu" and y < 0:
        raise TypeError(
            f"integers cannot be raised to negative powers, got {dtype.name} to the power {y}; "
            "convert with astype(float)"
        )
    if dtype_kind(dtype) == "b":
        x = as_dtype(x, _INT)
    return integer_pow(x, y)


@jit_wrapped()
def _integer_power(x: Any, y: Any) -> Any:
    """Return integer powers, by repeated squaring over the bits of ``y``.

    A negative power is 0, unless the base is 1 or -1.
    """
    x, y = _promote_bools(x, y)
    base, exponent = x, y
    result = as_dtype(1, _dtype_of(x))
    for bit in range(dtype_bits(_dtype_of(y)) - (dtype_kind(_dtype_of(y)) == "i")):
        is_set = ne(bitwise_and(y, 1 << bit), 0)
        result = select(is_set, mul(result, x), result)
        x = mul(x, x)
    if dtype_kind(_dtype_of(y)) == "u":
        return result
    return select(bitwise_and(lt(exponent, 0), ne(arithmetic.abs(base), 1)), 0, result)


pow = power


@direct_binary(exponentials.Pow, "fc", with_numbers=False)
@cache_trace
def float_power(x: Any, y: Any, /) -> Any:
    """Return ``x`` to the power ``y``; the result is always floating-point or complex."""
    return exponentials.pow(*promote_pair_inexact(x, y))


@add_ufunc_attributes(1, None)
@direct_unary(tangent_arithmetic.Neg, "iufc")
def negative(x: Any, /) -> Any:
    """Return -x."""
    return neg(x)


def positive(x: Any, /) -> Any:
    """Return ``x`` itself."""
    return pass_through(x)


def reciprocal(x: Any, /) -> Any:
    """Return one divided by x."""
    return div(1.0, promote_inexact(x))


@direct_unary(arithmetic.Abs, "ifc")
@cache_trace
def abs(x: Any, /) -> Any:
    """Return the absolute value.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.abs(jnp.array([-1.5, 2.0])))
    [1.5 2. ]
    """
    return positive(x) if dtype_kind(aval_of(x).dtype) in "bu" else arithmetic.abs(x)


absolute = abs


def fabs(x: Any, /) -> Any:
    """Return the absolute value as a float."""
    if iscomplexobj(x):
        raise TypeError("fabs takes real operands, got complex ones; use abs")
    return arithmetic.abs(promote_inexact(x))


@direct_unary(arithmetic.Square, "iufc")
def square(x: Any, /) -> Any:
    """Return ``x`` times ``x``."""
    return arithmetic.square(as_dtype(x, _INT) if dtype_kind(aval_of(x).dtype) == "b" else x)


@direct_unary(arithmetic.Sign, "iufc")
def sign(x: Any, /) -> Any:
    """Return the sign: -1, 0 or 1."""
    return arithmetic.sign(x)


@add_ufunc_attributes(2, None)
@direct_binary(extremes.Max, "biuf")
@cache_trace
def maximum(x: Any, y: Any, /) -> Any:
    """Return the larger of x and y; NaN if either is NaN.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.maximum(jnp.array([1.0, 3.0]), 2))
    [2. 3.]
    """
    x, y = promote_pair(x, y)
    return _select_complex(logic.greater, x, y) if _dtype_of(x).kind == "c" else bind1(_MAX, x, y)


@add_ufunc_attributes(2, None)
@direct_binary(extremes.Min, "biuf")
@cache_trace
def minimum(x: Any, y: Any, /) -> Any:
    """Return the smaller of x and y; NaN if either is NaN."""
    x, y = promote_pair(x, y)
    return _select_complex(logic.less, x, y) if _dtype_of(x).kind == "c" else bind1(_MIN, x, y)


def _select_complex(before: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Return ``x`` where ``before(x, y)`` holds or ``x`` is NaN, else ``y``."""
    return logic.where(bitwise_or(logic.isnan(x), before(x, y)), x, y)


@jit_wrapped()
def fmax(x1: Any, x2: Any) -> Any:
    """Return the larger of two; if one is NaN, the other."""
    x, y = promote_pair(x1, x2)
    return logic.where(bitwise_or(logic.greater(x, y), logic.isnan(y)), x, y)


@jit_wrapped()
def fmin(x1: Any, x2: Any) -> Any:
    """Return the smaller of two; if one is NaN, the other."""
    x, y = promote_pair(x1, x2)
    return logic.where(bitwise_or(logic.less(x, y), logic.isnan(y)), x, y)


def _dtype_of(x: Any) -> np.dtype[Any]:
    return aval_of(x).dtype


# Rounding ------------------------------------------------------------------------------------------------------------


@direct_unary(rounding.Floor, "f")
def floor(x: Any, /) -> Any:
    """Return the largest integer not above x."""
    return positive(x) if dtype_kind(aval_of(x).dtype) in "biu" else rounding.floor(x)


@direct_unary(rounding.Ceil, "f")
def ceil(x: Any, /) -> Any:
    """Return the smallest integer not below x."""
    return positive(x) if dtype_kind(aval_of(x).dtype) in "biu" else rounding.ceil(x)


@jit_wrapped()
def trunc(x: Any) -> Any:
    """Return ``x`` without its fraction."""
    if dtype_kind(aval_of(x).dtype) in "biu":
        return positive(x)
    return select(lt(x, 0), rounding.ceil(x), rounding.floor(x))


fix = trunc


@jit_wrapped()
def rint(x: Any, /) -> Any:
    """Return the nearest integer, halves to even; for complex values, of both parts."""
    return _round_half_even(to_default_float(x) if dtype_kind(_dtype_of(x)) in "biu" else x)


def _round_half_even(x: Any) -> Any:
    if iscomplexobj(x):
        return complex_numbers.complex(
            rounding.round(complex_numbers.real(x), 1), rounding.round(complex_numbers.imag(x), 1)
        )
    return rounding.round(x, 1)


def round(a: Any, decimals: int = 0, out: None = None) -> Any:
    """Return ``a`` rounded to ``decimals`` decimals, halves to even.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.round(jnp.array([0.5, 1.5, 2.25]), 1), jnp.round(2.5))
    [0.5 1.5 2.2] 2.0
    """
    if out is not None:
        raise reject_out("round")
    return _round(a, decimals=decimals)


@jit_wrapped("decimals")
def _round(a: Any, decimals: int) -> Any:
    dtype, decimals = _dtype_of(a), whole_number(decimals, "decimals")
    if dtype_kind(dtype) == "b":
        raise TypeError("round takes numbers, got truth values; convert with astype(int)")
    if dtype_kind(dtype) in "iu":
        if decimals < 0:
            raise NotImplementedError("round of integers to negative decimals")
        return positive(a)
    if decimals == 0:
        return _round_half_even(a)
    if decimals > math.log10(float(finfo(real_dtype(dtype)).max)):
        return positive(a)  # more decimals than the dtype represents
    computed = _computation_dtype(dtype)
    wide = strengthen_unless_scalar(a) if computed == dtype else as_dtype(a, computed)
    factor = 10.0**decimals
    if dtype_kind(dtype) == "c" and a.__class__ is not complex:
        # complex multiplication would propagate NaN from one part to the other
        parts = [_round_scaled(part(wide), factor) for part in (complex_numbers.real, complex_numbers.imag)]
        return as_dtype(complex_numbers.complex(*parts), dtype)
    result = _round_scaled(wide, factor)
    return result if computed == dtype else as_dtype(result, dtype)


def _round_scaled(x: Any, factor: float) -> Any:
    return true_divide(_round_half_even(multiply(x, factor)), factor)


def _computation_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype to compute in: float32 for narrower floating-point types."""
    return np.dtype("float32") if is_floating(dtype) and dtype.itemsize < 4 else dtype


around = round


@jit_wrapped()
def modf(x: Any, /, out: None = None) -> tuple[Any, Any]:
    """Return the fraction and the integral part, both with the sign of x."""
    if out is not None:
        raise reject_out("modf")
    x = promote_inexact(x)
    integral = trunc(x)
    return select(eq(arithmetic.abs(x), math.inf), logic.copysign(0.0, x), sub(x, integral)), integral


@jit_wrapped()
def ldexp(x1: Any, x2: Any, /) -> Any:
    """Return x1 times 2 to the integer power x2; exact unless the result overflows or underflows.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.ldexp(jnp.array([1e-30, 3.0]), jnp.array([200, -1])))
    [1.606938e+30 1.500000e+00]
    """
    dtype = to_inexact(_dtype_of(x1))
    if dtype_kind(dtype) == "c" or dtype_kind(_dtype_of(x2)) not in "biu":
        raise ValueError(f"ldexp takes real numbers and integers, got {_dtype_of(x1).name} and {_dtype_of(x2).name}")
    x, exponent = promote_shapes(
        [as_dtype(x1, dtype if dtype.itemsize >= 4 else _FLOAT), x2], [aval_of(x1), aval_of(x2)]
    )
    limits = finfo(_dtype_of(x))
    # Three representable powers of two span the ratio of any two numbers.
    min_step, max_step = int(limits.minexp), int(limits.maxexp) - 1
    remaining = _clamp_to_int32(exponent, 3 * min_step, 2 * max_step)
    for _ in range(3):
        step = extremes.max(extremes.min(remaining, max_step), min_step)
        x = mul(x, _power_of_two(step, _dtype_of(x)))
        remaining = sub(remaining, step)
    return as_dtype(x, dtype)


def _clamp_to_int32(x: Any, lower: int, upper: int) -> Any:
    """Return integers clamped to [lower, upper], as int32; dtypes narrower than 16 bits are not clamped."""
    if dtype_bits(_dtype_of(x)) >= 16:  # narrower integers cannot exceed the bounds
        x = extremes.min(x, upper)
        x = x if dtype_kind(_dtype_of(x)) == "u" else extremes.max(x, lower)
    return as_dtype(x, _INT)


def _power_of_two(exponent: Any, dtype: np.dtype[Any]) -> Any:
    """Return 2 to the power ``exponent`` in a floating-point dtype, exactly, from the bits of its representation.

    The exponents are integers in the range of normal numbers.
    """
    limits = finfo(dtype)
    integer_dtype = np.dtype(f"int{dtype_bits(dtype)}")
    biased = arithmetic.add(as_dtype(exponent, integer_dtype), int(limits.maxexp) - 1)
    return to_bits(bits.shift_left(biased, int(limits.nmant)), dtype)


@jit_wrapped()
def heaviside(x1: Any, x2: Any, /) -> Any:
    """Return 0 where x1 is negative, 1 where it is positive, x2 where it is zero."""
    x, y = promote_pair_inexact(x1, x2)
    low, high = (as_dtype(value, _dtype_of(x), _is_weak_scalar(x)) for value in (0.0, 1.0))
    return select(ne(x, x), x, select(eq(x, 0), y, select(lt(x, 0), low, high)))


def _is_weak_scalar(x: Any) -> bool:
    """Return whether an operand has no axes and a weak type, like a Python number."""
    aval = aval_of(x)
    return aval.weak_type and not aval.shape


# Complex parts -------------------------------------------------------------------------------------------------------


def conjugate(x: Any, /) -> Any:
    """Return the complex conjugate; x itself if it is real."""
    return complex_numbers.conj(x) if iscomplexobj(x) else positive(x)


conj = conjugate


def real(val: Any, /) -> Any:
    """Return the real part; the value itself if it is real."""
    return complex_numbers.real(val) if iscomplexobj(val) else positive(val)


def imag(val: Any, /) -> Any:
    """Return the imaginary part; zeros if the value is real.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.imag(jnp.array([1 + 2j, 3 - 1j])))
    [ 2. -1.]
    """
    return complex_numbers.imag(val) if iscomplexobj(val) else creation.zeros_like(val)


@jit_wrapped("deg")
def angle(z: Any, deg: bool = False) -> Any:
    """Return the angle of complex numbers from the positive real axis, in radians, or degrees if ``deg``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.angle(1j, deg=True))
    90.0
    """
    if dtype_kind(_dtype_of(z)) in "biu":
        z = to_default_float(z)
    elif dtype_kind(_dtype_of(z)) == "f" and _is_weak_scalar(z):
        z = as_dtype(z, _dtype_of(z))
    result = atan2(imag(z), real(z))
    return mul(strengthen_unless_scalar(result), 180.0 / math.pi) if deg else result


def iscomplexobj(x: Any) -> bool:
    """Return whether the dtype, or that of a list's elements, is complex; False for None and text."""
    try:
        return dtype_kind((aval_from_attributes(x) or aval_of(x)).dtype) == "c"
    except TypeError:
        if x is None or isinstance(x, str):
            return False
        if isinstance(x, (list, tuple, range)):
            return iscomplexobj(creation.array(x))
        raise


def isrealobj(x: Any) -> bool:
    """Return whether the dtype is not complex; see :func:`iscomplexobj`."""
    return not iscomplexobj(x)


def iscomplex(x: Any) -> Any:
    """Return whether elements have a nonzero imaginary part."""
    return logic.not_equal(imag(x), 0)


def isreal(x: Any) -> Any:
    """Return whether elements have an imaginary part of zero."""
    return logic.equal(imag(x), 0)
