"""Elementwise arithmetic, rounding and complex parts, with NumPy's promotion and broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import bits_of, canonical, finfo, is_floating, kind_of
from ..operations import arithmetic, bits, complex_numbers, exponentials, extremes, rounding
from ..operations.arithmetic import div, integer_pow, mul, rem, sub
from ..operations.bits import bitwise_and, bitwise_or
from ..operations.comparisons import eq, lt, ne
from ..operations.complex_numbers import real_dtype
from ..operations.conversion import bitcast_convert_type
from ..operations.selection import select
from ..operations.sums import neg
from ..operations.trigonometry import atan2
from ..operations.values import typed_scalar
from ..trace.bind import bind1
from ..trace.gate import described, unchanged
from ..trace.planned import planned
from ..trace.values import aval_of
from . import creation, logic
from .axes import no_out, whole_number
from .promotion import as_dtype, fit_ranks, inexact, inexact_pair, pair, strong_with_axes, to_inexact
from .together import together
from .universal import universal

# Arithmetic ----------------------------------------------------------------------------------------------------------


@universal(2, 0)
@planned
def add(x: Any, y: Any, /) -> Any:
    """Return ``x + y``; for booleans, whether either is true.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.add(jnp.arange(3), 0.5))
    [0.5 1.5 2.5]
    """
    x, y = pair(x, y)
    z = _bool_operation(_OR, x, y)
    return bind1(_ADD, x, y) if z is None else z


@universal(2, None)
@planned
def subtract(x: Any, y: Any, /) -> Any:
    """Return ``x - y``."""
    return bind1(_SUB, *pair(x, y))


@universal(2, 1)
@planned
def multiply(x: Any, y: Any, /) -> Any:
    """Return ``x`` times ``y``; for booleans, whether both are true."""
    x, y = pair(x, y)
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
    """Return the operation's result for boolean operands, else None."""
    dtype = getattr(x, "dtype", None)
    if dtype is _BOOL or (dtype is None and aval_of(x).dtype == _BOOL):
        return bind1(operation, x, y)
    return None


@planned
def true_divide(x: Any, y: Any, /) -> Any:
    """Return ``x`` divided by ``y``, a float also for integers.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.true_divide(jnp.arange(3), 2))
    [0.  0.5 1. ]
    """
    return bind1(_DIV, *inexact_pair(x, y))


divide = true_divide


@together()
def floor_divide(x: Any, y: Any, /) -> Any:
    """Return ``x`` divided by ``y``, rounded down.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.floor_divide(jnp.array([7, -7]), 2))
    [ 3 -4]
    """
    x, y = _no_truth(*pair(x, y))
    dtype = _dtype(x)
    if kind_of(dtype) == "c":
        raise TypeError("floor_divide takes real operands, got complex ones")
    quotient = div(x, y)
    if kind_of(dtype) == "u":
        return quotient
    if kind_of(dtype) == "i":
        inexact_below = bitwise_and(ne(arithmetic.sign(x), arithmetic.sign(y)), ne(rem(x, y), 0))
        return select(inexact_below, sub(quotient, 1), quotient)
    return _float_divmod(x, y)[0]


@together()
def remainder(x: Any, y: Any, /) -> Any:
    """Return the remainder of x divided by y, with the sign of y.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.remainder(jnp.array([7, -7]), 3))
    [1 2]
    """
    x, y = _no_truth(*pair(x, y))
    truncated = _left(x, y)
    other_sign = ne(lt(truncated, 0), lt(y, 0))
    return select(bitwise_and(other_sign, ne(truncated, 0)), arithmetic.add(truncated, y), truncated)


mod = remainder


@together()
def fmod(x: Any, y: Any, /) -> Any:
    """Return the remainder of x divided by y, with the sign of x."""
    return _left(*_no_truth(*pair(x, y)))


def _left(x: Any, y: Any) -> Any:
    """Return the remainder of x divided by y, with the sign of x; 0 for an integer divided by 0."""
    result = rem(x, y)
    return select(eq(y, 0), 0, result) if kind_of(_dtype(x)) in "iu" else result


@together()
def divmod(x: Any, y: Any, /) -> tuple[Any, Any]:
    """Return the quotient rounded down, and the remainder."""
    x, y = pair(x, y)
    if is_floating(_dtype(x)):
        return _float_divmod(x, y)
    return floor_divide(x, y), remainder(x, y)


def _no_truth(x: Any, y: Any) -> tuple[Any, Any]:
    """Return booleans as integers, other operands unchanged."""
    if kind_of(_dtype(x)) == "b":
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


@planned
def power(x: Any, y: Any, /) -> Any:
    """Return ``x`` to the power ``y``; an int ``y`` is computed by multiplication.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.power(jnp.arange(4), 2))
    [0 1 4 9]
    """
    if y.__class__ is int:
        x = x if hasattr(x, "aval") else as_dtype(x, aval_of(x).dtype)
        return _whole_power(x, y)
    if x.__class__ is float and kind_of(_dtype(y)) in "iu":
        x = typed_scalar(x, canonical(float))
    x, y = pair(x, y)
    return exponentials.pow(x, y) if kind_of(_dtype(x)) in "fc" else _integer_power(x, y)


def _whole_power(x: Any, y: int) -> Any:
    dtype = aval_of(x).dtype
    if kind_of(dtype) in "iu" and y < 0:
        raise TypeError(
            f"integers cannot be raised to negative powers, got {dtype.name} to the power {y}; "
            "convert with astype(float)"
        )
    if kind_of(dtype) == "b":
        x = as_dtype(x, _INT)
    return integer_pow(x, y)


@together()
def _integer_power(x: Any, y: Any) -> Any:
    """Compute integer powers by repeated squaring over the bits of ``y``; results below one in size are 0."""
    x, y = _no_truth(x, y)
    base, exponent = x, y
    result = as_dtype(1, _dtype(x))
    for bit in range(bits_of(_dtype(y)) - (kind_of(_dtype(y)) == "i")):
        is_set = ne(bitwise_and(y, 1 << bit), 0)
        result = select(is_set, mul(result, x), result)
        x = mul(x, x)
    if kind_of(_dtype(y)) == "u":
        return result
    return select(bitwise_and(lt(exponent, 0), ne(arithmetic.abs(base), 1)), 0, result)


pow = power


@planned
def float_power(x: Any, y: Any, /) -> Any:
    """Return ``x`` to the power ``y``, a float also for integers."""
    return exponentials.pow(*inexact_pair(x, y))


@universal(1, None)
def negative(x: Any, /) -> Any:
    """Return -x."""
    return neg(x)


def positive(x: Any, /) -> Any:
    """Return ``x`` itself."""
    return unchanged(x)


def reciprocal(x: Any, /) -> Any:
    """Return one divided by x."""
    return div(1.0, inexact(x))


@planned
def abs(x: Any, /) -> Any:
    """Return the absolute value.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.abs(jnp.array([-1.5, 2.0])))
    [1.5 2. ]
    """
    return positive(x) if kind_of(aval_of(x).dtype) in "bu" else arithmetic.abs(x)


absolute = abs


def fabs(x: Any, /) -> Any:
    """Return the absolute value as a float."""
    if iscomplexobj(x):
        raise TypeError("fabs takes real operands, got complex ones; use abs")
    return arithmetic.abs(inexact(x))


def square(x: Any, /) -> Any:
    """Return ``x`` times ``x``."""
    return arithmetic.square(as_dtype(x, _INT) if kind_of(aval_of(x).dtype) == "b" else x)


def sign(x: Any, /) -> Any:
    """Return the sign: -1, 0 or 1."""
    return arithmetic.sign(x)


@universal(2, None)
@planned
def maximum(x: Any, y: Any, /) -> Any:
    """Return the larger of x and y; NaN if either is NaN.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.maximum(jnp.array([1.0, 3.0]), 2))
    [2. 3.]
    """
    x, y = pair(x, y)
    return _first_of_complex(logic.greater, x, y) if iscomplexobj(x) else bind1(_MAX, x, y)


@universal(2, None)
@planned
def minimum(x: Any, y: Any, /) -> Any:
    """Return the smaller of x and y; NaN if either is NaN."""
    x, y = pair(x, y)
    return _first_of_complex(logic.less, x, y) if iscomplexobj(x) else bind1(_MIN, x, y)


def _first_of_complex(before: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Return the complex value that comes first in an order; NaN comes before all."""
    return logic.where(bitwise_or(logic.isnan(x), before(x, y)), x, y)


@together()
def fmax(x1: Any, x2: Any) -> Any:
    """Return the larger of two; if one is NaN, the other."""
    x, y = pair(x1, x2)
    return logic.where(bitwise_or(logic.greater(x, y), logic.isnan(y)), x, y)


@together()
def fmin(x1: Any, x2: Any) -> Any:
    """Return the smaller of two; if one is NaN, the other."""
    x, y = pair(x1, x2)
    return logic.where(bitwise_or(logic.less(x, y), logic.isnan(y)), x, y)


def _dtype(x: Any) -> np.dtype[Any]:
    return aval_of(x).dtype


# Rounding ------------------------------------------------------------------------------------------------------------


def floor(x: Any, /) -> Any:
    """Return the largest integer not above x."""
    return positive(x) if kind_of(aval_of(x).dtype) in "biu" else rounding.floor(x)


def ceil(x: Any, /) -> Any:
    """Return the smallest integer not below x."""
    return positive(x) if kind_of(aval_of(x).dtype) in "biu" else rounding.ceil(x)


@together()
def trunc(x: Any) -> Any:
    """Return ``x`` without its fraction."""
    if kind_of(aval_of(x).dtype) in "biu":
        return positive(x)
    return select(lt(x, 0), rounding.ceil(x), rounding.floor(x))


fix = trunc


def rint(x: Any, /) -> Any:
    """Return the nearest integer, halves to even; for complex values, of both parts."""
    return _rounded(as_dtype(x, canonical(float)) if kind_of(_dtype(x)) in "biu" else x)


def _rounded(x: Any) -> Any:
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
        raise no_out("round")
    return _round(a, decimals=decimals)


@together("decimals")
def _round(a: Any, decimals: int) -> Any:
    dtype, decimals = _dtype(a), whole_number(decimals, "decimals")
    if kind_of(dtype) == "b":
        raise TypeError("round takes numbers, got truth values; convert with astype(int)")
    if kind_of(dtype) in "iu":
        if decimals < 0:
            raise NotImplementedError("round of integers to negative decimals")
        return positive(a)
    if decimals == 0:
        return _rounded(a)
    if decimals > math.log10(float(finfo(real_dtype(dtype)).max)):
        return positive(a)  # more decimals than the dtype represents
    computed = _computed_in(dtype)
    wide = strong_with_axes(a) if computed == dtype else as_dtype(a, computed)
    factor = 10.0**decimals
    if kind_of(dtype) == "c" and a.__class__ is not complex:
        # complex multiplication would propagate NaN from one part to the other
        parts = [_of_digits(part(wide), factor) for part in (complex_numbers.real, complex_numbers.imag)]
        return as_dtype(complex_numbers.complex(*parts), dtype)
    result = _of_digits(wide, factor)
    return result if computed == dtype else as_dtype(result, dtype)


def _of_digits(x: Any, factor: float) -> Any:
    return true_divide(_rounded(multiply(x, factor)), factor)


def _computed_in(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype to compute in: float32 for narrower floating-point types."""
    return np.dtype("float32") if is_floating(dtype) and dtype.itemsize < 4 else dtype


around = round


@together()
def modf(x: Any, /, out: None = None) -> tuple[Any, Any]:
    """Return the fraction and the integral part, both with the sign of x."""
    if out is not None:
        raise no_out("modf")
    x = inexact(x)
    integral = trunc(x)
    return select(eq(arithmetic.abs(x), math.inf), logic.copysign(0.0, x), sub(x, integral)), integral


@together()
def ldexp(x1: Any, x2: Any, /) -> Any:
    """Return x1 times 2 to the integer power x2; exact unless the result overflows or underflows.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.ldexp(jnp.array([1e-30, 3.0]), jnp.array([200, -1])))
    [1.606938e+30 1.500000e+00]
    """
    dtype = to_inexact(_dtype(x1))
    if kind_of(dtype) == "c" or kind_of(_dtype(x2)) not in "biu":
        raise ValueError(f"ldexp takes real numbers and integers, got {_dtype(x1).name} and {_dtype(x2).name}")
    x, exponent = fit_ranks([as_dtype(x1, dtype if dtype.itemsize >= 4 else _FLOAT), x2], [aval_of(x1), aval_of(x2)])
    limits = finfo(_dtype(x))
    # Three representable powers of two span the ratio of any two numbers.
    min_step, max_step = int(limits.minexp), int(limits.maxexp) - 1
    remaining = _within(exponent, 3 * min_step, 2 * max_step)
    for _ in range(3):
        step = extremes.max(extremes.min(remaining, max_step), min_step)
        x = mul(x, _power_of_two(step, _dtype(x)))
        remaining = sub(remaining, step)
    return as_dtype(x, dtype)


def _within(x: Any, lower: int, upper: int) -> Any:
    """Return integers clamped to the bounds, as int32."""
    if bits_of(_dtype(x)) >= 16:  # narrower integers cannot exceed the bounds
        x = extremes.min(x, upper)
        x = x if kind_of(_dtype(x)) == "u" else extremes.max(x, lower)
    return as_dtype(x, _INT)


def _power_of_two(exponent: Any, dtype: np.dtype[Any]) -> Any:
    """Return 2 to the power ``exponent``, exactly, from the bits of the dtype's representation."""
    limits = finfo(dtype)
    integer_dtype = np.dtype(f"int{bits_of(dtype)}")
    biased = arithmetic.add(as_dtype(exponent, integer_dtype), int(limits.maxexp) - 1)
    return bitcast_convert_type(bits.shift_left(biased, int(limits.nmant)), dtype)


@together()
def heaviside(x1: Any, x2: Any, /) -> Any:
    """Return 0 where x1 is negative, 1 where it is positive, x2 where it is zero."""
    x, y = inexact_pair(x1, x2)
    low, high = (as_dtype(value, _dtype(x), _is_weak_scalar(x)) for value in (0.0, 1.0))
    return select(ne(x, x), x, select(eq(x, 0), y, select(lt(x, 0), low, high)))


def _is_weak_scalar(x: Any) -> bool:
    """Return whether an operand is a weakly typed scalar, whose results stay weak, as in JAX."""
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


@together("deg")
def angle(z: Any, deg: bool = False) -> Any:
    """Return the angle of complex numbers from the positive real axis, in radians, or degrees if ``deg``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.angle(1j, deg=True))
    90.0
    """
    if kind_of(_dtype(z)) in "biu":
        z = as_dtype(z, canonical(float))
    elif kind_of(_dtype(z)) == "f" and _is_weak_scalar(z):
        z = as_dtype(z, _dtype(z))
    result = atan2(imag(z), real(z))
    return mul(strong_with_axes(result), 180.0 / math.pi) if deg else result


def iscomplexobj(x: Any) -> bool:
    """Return whether the dtype, or that of a list's elements, is complex; False for None and text."""
    try:
        return kind_of((described(x) or aval_of(x)).dtype) == "c"
    except TypeError:
        if x is None or isinstance(x, str):
            return False
        if isinstance(x, (list, tuple, range)):
            return iscomplexobj(creation.array(x))
        raise


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def iscomplex(x: Any) -> Any:
    """Return whether elements have a nonzero imaginary part."""
    return logic.not_equal(imag(x), 0)


def isreal(x: Any) -> Any:
    """Whether elements have no imaginary part."""
    return logic.equal(imag(x), 0)
