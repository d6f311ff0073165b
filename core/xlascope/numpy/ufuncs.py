"""Functions of one and two operands, elementwise, with NumPy's promotion and broadcasting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import canonical, is_floating
from ..operations import arithmetic as a
from ..operations import elementwise as e
from ..operations import shapes
from ..operations.values import typed_scalar
from ..trace.bind import bind1
from ..trace.values import aval_of
from .promotion import as_dtype, fit_ranks, inexact, inexact_pair, pair
from .together import together

# Arithmetic ---------------------------------------------------------------------------------------------------------


def add(x: Any, y: Any, /) -> Any:
    """X + y; of truth values, whether either is true.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.add(jnp.arange(3), 0.5))
    [0.5 1.5 2.5]
    """
    x, y = pair(x, y)
    z = _bool_operation(_OR, x, y)
    return bind1(_ADD, x, y) if z is None else z


def subtract(x: Any, y: Any, /) -> Any:
    """X - y."""
    return bind1(_SUB, *pair(x, y))


def multiply(x: Any, y: Any, /) -> Any:
    """X times y; of truth values, whether both are true."""
    x, y = pair(x, y)
    z = _bool_operation(_AND, x, y)
    return bind1(_MUL, x, y) if z is None else z


_ADD, _SUB, _MUL, _DIV, _OR, _AND, _MAX, _MIN = a.Add(), a.Sub(), a.Mul(), a.Div(), a.Or(), a.And(), a.Max(), a.Min()
_BOOL, _INT = np.dtype("bool"), np.dtype("int32")


def _bool_operation(operation: Any, x: Any, y: Any) -> Any:
    """The operation's result when the operands are truth values, else None."""
    dtype = getattr(x, "dtype", None)
    if dtype is _BOOL or (dtype is None and aval_of(x).dtype == _BOOL):
        return bind1(operation, x, y)
    return None


def true_divide(x: Any, y: Any, /) -> Any:
    """X divided by y, a float also for integers.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.true_divide(jnp.arange(3), 2))
    [0.  0.5 1. ]
    """
    return bind1(_DIV, *inexact_pair(x, y))


divide = true_divide


@together()
def floor_divide(x: Any, y: Any, /) -> Any:
    """X divided by y, rounded down.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.floor_divide(jnp.array([7, -7]), 2))
    [ 3 -4]
    """
    x, y = _no_truth(*pair(x, y))
    dtype = _dtype(x)
    if dtype.kind == "c":
        raise TypeError("floor_divide takes real operands, got complex ones")
    quotient = a.div(x, y)
    if dtype.kind == "u":
        return quotient
    if dtype.kind == "i":
        inexact_below = a.bitwise_and(a.ne(e.sign(x), e.sign(y)), a.ne(a.rem(x, y), 0))
        return a.select(inexact_below, a.sub(quotient, 1), quotient)
    return _float_divmod(x, y)[0]


@together()
def remainder(x: Any, y: Any, /) -> Any:
    """What is left of x divided by y, with the sign of y.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.remainder(jnp.array([7, -7]), 3))
    [1 2]
    """
    x, y = _no_truth(*pair(x, y))
    left = a.rem(x, y)
    other_sign = a.ne(a.lt(left, 0), a.lt(y, 0))
    return a.select(a.bitwise_and(other_sign, a.ne(left, 0)), a.add(left, y), left)


mod = remainder


def fmod(x: Any, y: Any, /) -> Any:
    """What is left of x divided by y, with the sign of x."""
    return a.rem(*pair(x, y))


@together()
def divmod(x: Any, y: Any, /) -> tuple[Any, Any]:
    """The quotient rounded down, and the remainder."""
    x, y = pair(x, y)
    if is_floating(_dtype(x)):
        return _float_divmod(x, y)
    return floor_divide(x, y), remainder(x, y)


def _no_truth(x: Any, y: Any) -> tuple[Any, Any]:
    """Truth values as integers, to calculate with."""
    if _dtype(x).kind == "b":
        return as_dtype(x, _INT), as_dtype(y, _INT)
    return x, y


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    # x - rem is a multiple of y but for rounding; the floor of the quotient follows from it and the signs.
    left = a.rem(x, y)
    quotient = a.div(a.sub(x, left), y)
    adjust = a.bitwise_and(a.ne(left, 0), a.ne(e.sign(y), e.sign(left)))
    left = a.select(adjust, a.add(left, y), left)
    quotient = a.select(adjust, a.sub(quotient, 1), quotient)
    return a.select(a.eq(y, 0), a.div(x, y), e.round(quotient)), left


def power(x: Any, y: Any, /) -> Any:
    """X to the power y; a whole Python number as y is a product of x's.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.power(jnp.arange(4), 2))
    [0 1 4 9]
    """
    if y.__class__ is int:
        x = x if hasattr(x, "aval") else as_dtype(x, aval_of(x).dtype)
        return _whole_power(x, y)
    if x.__class__ is float and _dtype(y).kind in "iu":
        x = typed_scalar(x, canonical(float))
    x, y = pair(x, y)
    return a.pow(x, y) if _dtype(x).kind in "fcV" else _integer_power(x, y)


def _whole_power(x: Any, y: int) -> Any:
    dtype = aval_of(x).dtype
    if dtype.kind in "iu" and y < 0:
        raise TypeError(
            f"integers cannot be raised to negative powers, got {dtype.name} to the power {y}; "
            "convert with astype(float)"
        )
    if dtype.kind == "b":
        x = as_dtype(x, _INT)
    return e.integer_pow(x, y)


@together()
def _integer_power(x: Any, y: Any) -> Any:
    """Repeated squaring, as far as the bits of ``y`` go."""
    x, y = _no_truth(x, y)
    result = as_dtype(1, _dtype(x))
    for bit in range(8 * _dtype(y).itemsize - (_dtype(y).kind == "i")):
        chosen = a.ne(a.bitwise_and(y, 1 << bit), 0)
        result = a.select(chosen, a.mul(result, x), result)
        x = a.mul(x, x)
    return result


def float_power(x: Any, y: Any, /) -> Any:
    """X to the power y, a float also for integers."""
    return a.pow(*inexact_pair(x, y))


def negative(x: Any, /) -> Any:
    """-x."""
    return e.neg(x)


def positive(x: Any, /) -> Any:
    """X itself."""
    return x if hasattr(x, "aval") else as_dtype(x, aval_of(x).dtype)


def reciprocal(x: Any, /) -> Any:
    """One divided by x."""
    return a.div(1.0, inexact(x))


def abs(x: Any, /) -> Any:
    """The absolute value.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.abs(jnp.array([-1.5, 2.0])))
    [1.5 2. ]
    """
    return positive(x) if aval_of(x).dtype.kind in "bu" else e.abs(x)


absolute = abs


def fabs(x: Any, /) -> Any:
    """The absolute value, a float."""
    return e.abs(inexact(x))


def square(x: Any, /) -> Any:
    """X times x."""
    return e.square(as_dtype(x, _INT) if aval_of(x).dtype.kind == "b" else x)


def sign(x: Any, /) -> Any:
    """-1, 0 or 1."""
    return e.sign(x)


def maximum(x: Any, y: Any, /) -> Any:
    """The larger of x and y; NaN where either is.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.maximum(jnp.array([1.0, 3.0]), 2))
    [2. 3.]
    """
    return bind1(_MAX, *pair(x, y))


def minimum(x: Any, y: Any, /) -> Any:
    """The smaller of x and y; NaN where either is."""
    return bind1(_MIN, *pair(x, y))


@together()
def fmax(x: Any, y: Any, /) -> Any:
    """The larger of x and y; where one is NaN, the other."""
    x, y = pair(x, y)
    return where(a.bitwise_or(a.gt(x, y), isnan(y)), x, y)


@together()
def fmin(x: Any, y: Any, /) -> Any:
    """The smaller of x and y; where one is NaN, the other."""
    x, y = pair(x, y)
    return where(a.bitwise_or(a.lt(x, y), isnan(y)), x, y)


def _dtype(x: Any) -> np.dtype[Any]:
    return aval_of(x).dtype


# Exponentials, logarithms, roots ------------------------------------------------------------------------------------


def exp(x: Any, /) -> Any:
    """E to the power x."""
    return e.exp(inexact(x))


def exp2(x: Any, /) -> Any:
    """2 to the power x."""
    return e.exp2(inexact(x))


def expm1(x: Any, /) -> Any:
    """E to the power x, minus one, exact near zero."""
    return e.expm1(inexact(x))


def log(x: Any, /) -> Any:
    """The natural logarithm.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.log(jnp.array([1, 0])))
    [  0. -inf]
    """
    return e.log(inexact(x))


def log1p(x: Any, /) -> Any:
    """The natural logarithm of 1 + x, exact near zero."""
    return e.log1p(inexact(x))


@together()
def log2(x: Any, /) -> Any:
    """The logarithm to base 2."""
    return a.div(e.log(inexact(x)), math.log(2.0))


@together()
def log10(x: Any, /) -> Any:
    """The logarithm to base 10."""
    return a.div(e.log(inexact(x)), math.log(10.0))


def sqrt(x: Any, /) -> Any:
    """The square root."""
    return e.sqrt(inexact(x))


def cbrt(x: Any, /) -> Any:
    """The cube root."""
    return e.cbrt(inexact(x))


@together()
def logaddexp(x: Any, y: Any, /) -> Any:
    """log(exp(x) + exp(y)), without overflow.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.logaddexp(1000.0, 900.0))
    1000.0
    """
    # With the larger taken out, log(1 + exp(-|x - y|)) is left.
    # The difference of equal infinities is NaN: there their sum is right.
    x, y = inexact_pair(x, y)
    difference = a.sub(x, y)
    usual = a.add(a.max(x, y), e.log1p(e.exp(e.neg(e.abs(difference)))))
    return a.select(a.ne(difference, difference), a.add(x, y), usual)


@together()
def logaddexp2(x: Any, y: Any, /) -> Any:
    """log2(2^x + 2^y), without overflow."""
    x, y = inexact_pair(x, y)
    return a.div(logaddexp(a.mul(x, math.log(2.0)), a.mul(y, math.log(2.0))), math.log(2.0))


# Trigonometry -------------------------------------------------------------------------------------------------------


def sin(x: Any, /) -> Any:
    """The sine."""
    return e.sin(inexact(x))


def cos(x: Any, /) -> Any:
    """The cosine."""
    return e.cos(inexact(x))


def tan(x: Any, /) -> Any:
    """The tangent."""
    return e.tan(inexact(x))


def arcsin(x: Any, /) -> Any:
    """The inverse sine."""
    return e.asin(inexact(x))


def arccos(x: Any, /) -> Any:
    """The inverse cosine."""
    return e.acos(inexact(x))


def arctan(x: Any, /) -> Any:
    """The inverse tangent."""
    return e.atan(inexact(x))


def arctan2(y: Any, x: Any, /) -> Any:
    """The angle of the point (x, y)."""
    return a.atan2(*inexact_pair(y, x))


def sinh(x: Any, /) -> Any:
    """The hyperbolic sine."""
    return e.sinh(inexact(x))


def cosh(x: Any, /) -> Any:
    """The hyperbolic cosine."""
    return e.cosh(inexact(x))


def tanh(x: Any, /) -> Any:
    """The hyperbolic tangent."""
    return e.tanh(inexact(x))


def arcsinh(x: Any, /) -> Any:
    """The inverse hyperbolic sine."""
    return e.asinh(inexact(x))


def arccosh(x: Any, /) -> Any:
    """The inverse hyperbolic cosine."""
    return e.acosh(inexact(x))


def arctanh(x: Any, /) -> Any:
    """The inverse hyperbolic tangent."""
    return e.atanh(inexact(x))


asin, acos, atan, atan2, asinh, acosh, atanh, pow = (
    arcsin, arccos, arctan, arctan2, arcsinh, arccosh, arctanh, power,
)  # fmt: skip


def degrees(x: Any, /) -> Any:
    """Radians as degrees."""
    return a.mul(inexact(x), 180.0 / math.pi)


def radians(x: Any, /) -> Any:
    """Degrees as radians."""
    return a.mul(inexact(x), math.pi / 180.0)


rad2deg, deg2rad = degrees, radians


@together()
def hypot(x: Any, y: Any, /) -> Any:
    """The length of the vector (x, y), without overflow."""
    x, y = inexact_pair(x, y)
    x, y = e.abs(x), e.abs(y)
    longer, shorter = a.max(x, y), a.min(x, y)
    safe = a.select(a.eq(longer, 0), 1.0, longer)
    return a.mul(longer, e.sqrt(a.add(1.0, e.square(a.div(shorter, safe)))))


@together()
def sinc(x: Any, /) -> Any:
    """sin(πx) / (πx), and 1 at zero."""
    x = inexact(x)
    zero = a.eq(x, 0)
    angle = a.mul(a.select(zero, 1.0, x), math.pi)
    # near zero 1 - (πx)²/6 is exact to the precision of the dtype, and can be differentiated
    series = a.sub(1.0, a.div(e.square(a.mul(x, math.pi)), 6.0))
    return a.select(zero, series, a.div(e.sin(angle), angle))


# Rounding -----------------------------------------------------------------------------------------------------------


def floor(x: Any, /) -> Any:
    """The largest whole number not above x."""
    return e.floor(x) if is_floating(aval_of(x).dtype) else positive(x)


def ceil(x: Any, /) -> Any:
    """The smallest whole number not below x."""
    return e.ceil(x) if is_floating(aval_of(x).dtype) else positive(x)


@together()
def trunc(x: Any, /) -> Any:
    """X without its fraction."""
    if not is_floating(aval_of(x).dtype):
        return positive(x)
    return a.select(a.lt(x, 0), e.ceil(x), e.floor(x))


fix = trunc


def rint(x: Any, /) -> Any:
    """The nearest whole number, halves to even."""
    return e.round(inexact(x), 1)


@together("decimals")
def round(a: Any, decimals: int = 0) -> Any:
    """Rounded to so many decimals, halves to even.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.round(jnp.array([0.5, 1.5, 2.25]), 1), jnp.round(2.5))
    [0.5 1.5 2.2] 2.0
    """
    dtype = aval_of(a).dtype
    if not is_floating(dtype):
        if decimals < 0:
            raise NotImplementedError("round of integers to negative decimals")
        return positive(a)
    if decimals == 0:
        return e.round(a, 1)
    factor = 10.0**decimals
    return true_divide(e.round(multiply(a, factor), 1), factor)


around = round


@together()
def modf(x: Any, /) -> tuple[Any, Any]:
    """The fraction and the whole part, both with the sign of x."""
    x = inexact(x)
    whole = trunc(x)
    return a.select(a.eq(e.abs(x), math.inf), 0.0, a.sub(x, whole)), whole


@together()
def ldexp(x1: Any, x2: Any, /) -> Any:
    """x1 times 2 to the power x2."""
    x = inexact(x1)
    return multiply(x, e.exp2(as_dtype(x2, _dtype(x))))


@together()
def heaviside(x1: Any, x2: Any, /) -> Any:
    """0 where x1 is negative, 1 where it is positive, x2 where it is zero."""
    x, y = inexact_pair(x1, x2)
    step = a.select(a.lt(x, 0), as_dtype(0.0, _dtype(x)), as_dtype(1.0, _dtype(x)))
    return a.select(a.ne(x, x), x, a.select(a.eq(x, 0), y, step))


# Comparison and logic -----------------------------------------------------------------------------------------------


def equal(x: Any, y: Any, /) -> Any:
    """X == y."""
    return bind1(_EQ, *pair(x, y))


def not_equal(x: Any, y: Any, /) -> Any:
    """X != y."""
    return bind1(_NE, *pair(x, y))


def less(x: Any, y: Any, /) -> Any:
    """X < y."""
    return bind1(_LT, *pair(x, y))


def less_equal(x: Any, y: Any, /) -> Any:
    """X <= y."""
    return bind1(_LE, *pair(x, y))


def greater(x: Any, y: Any, /) -> Any:
    """X > y."""
    return bind1(_GT, *pair(x, y))


def greater_equal(x: Any, y: Any, /) -> Any:
    """X >= y."""
    return bind1(_GE, *pair(x, y))


_EQ, _NE, _LT, _LE, _GT, _GE = a.Eq(), a.Ne(), a.Lt(), a.Le(), a.Gt(), a.Ge()


def bitwise_and(x: Any, y: Any, /) -> Any:
    """The bits set in both."""
    return a.bitwise_and(*pair(x, y))


def bitwise_or(x: Any, y: Any, /) -> Any:
    """The bits set in either."""
    return a.bitwise_or(*pair(x, y))


def bitwise_xor(x: Any, y: Any, /) -> Any:
    """The bits set in one but not both."""
    return a.bitwise_xor(*pair(x, y))


def bitwise_not(x: Any, /) -> Any:
    """The bits not set."""
    return e.bitwise_not(x)


invert = bitwise_invert = bitwise_not


def left_shift(x: Any, y: Any, /) -> Any:
    """X with its bits moved up by y."""
    return a.shift_left(*pair(x, y))


def right_shift(x: Any, y: Any, /) -> Any:
    """X with its bits moved down by y."""
    x, y = pair(x, y)
    return a.shift_right_logical(x, y) if _dtype(x).kind == "u" else a.shift_right_arithmetic(x, y)


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
    return e.bitwise_not(truth(x))


@together()
def isnan(x: Any, /) -> Any:
    """Whether x is not a number."""
    return a.ne(x, x)


def isfinite(x: Any, /) -> Any:
    """Whether x is neither infinite nor NaN."""
    aval = aval_of(x)
    if is_floating(aval.dtype):
        return e.is_finite(x)
    if aval.dtype.kind == "c":
        raise NotImplementedError("isfinite of complex values")
    return shapes.full(aval.shape, np.True_)


@together()
def isinf(x: Any, /) -> Any:
    """Whether x is infinite."""
    aval = aval_of(x)
    if not is_floating(aval.dtype):
        return shapes.full(aval.shape, np.False_)
    return a.eq(e.abs(x), math.inf)


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
    return a.lt(e.bitcast_convert_type(x, bits), 0)


@together()
def copysign(x: Any, y: Any, /) -> Any:
    """The magnitude of x with the sign of y."""
    x, y = inexact_pair(x, y)
    return a.select(signbit(y), e.neg(e.abs(x)), e.abs(x))


# Complex parts ------------------------------------------------------------------------------------------------------


def conjugate(x: Any, /) -> Any:
    """The complex conjugate; x itself when it is real."""
    return _real_only(x, "conjugate")


conj = conjugate


def real(x: Any, /) -> Any:
    """The real part; x itself when it is real."""
    return _real_only(x, "real")


def imag(x: Any, /) -> Any:
    """The imaginary part; zeros when x is real."""
    return shapes.zeros_of(aval_of(_real_only(x, "imag")))


def _real_only(x: Any, what: str) -> Any:
    if aval_of(x).dtype.kind == "c":
        raise NotImplementedError(f"{what} of complex values")
    return positive(x)


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return aval_of(x).dtype.kind == "c"


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def iscomplex(x: Any) -> Any:
    """Whether elements have an imaginary part that is not zero."""
    return not_equal(imag(x), 0)


def isreal(x: Any) -> Any:
    """Whether elements have no imaginary part."""
    return equal(imag(x), 0)


# Choice -------------------------------------------------------------------------------------------------------------


@together()
def where(condition: Any, x: Any, y: Any) -> Any:
    """``x`` where the condition holds, ``y`` elsewhere."""
    condition = truth(condition)
    x, y = pair(x, y)
    condition, x, y = fit_ranks([condition, x, y], [aval_of(v) for v in (condition, x, y)])
    return a.select(condition, x, y)
