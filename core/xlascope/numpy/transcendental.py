"""Elementwise exponentials, logarithms, roots and trigonometry; integers become floats."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..control.rules.custom_jvp import custom_jvp
from ..dtypes import dtype_kind
from ..operations import arithmetic, exponentials, extremes, trigonometry
from ..operations.arithmetic import add, div, mul, rem, square, sub
from ..operations.bits import bitwise_and, bitwise_or
from ..operations.comparisons import eq, gt, lt, ne
from ..operations.complex_numbers import complex as complex_of
from ..operations.complex_numbers import imag, real
from ..operations.exponentials import logistic
from ..operations.operand_values import typed_scalar
from ..operations.selection import select
from ..operations.shapes import full
from ..operations.tangent_arithmetic import neg
from ..trace.values import aval_of
from .direct_operations import direct_binary, direct_unary
from .jit_wrapped import jit_wrapped
from .promotion import as_dtype, promote_inexact, promote_pair_inexact, strengthen_unless_scalar
from .ufunc_attributes import add_ufunc_attributes


@direct_unary(exponentials.Exp, "fc")
def exp(x: Any, /) -> Any:
    """Return ``e`` to the power ``x``."""
    return exponentials.exp(promote_inexact(x))


@direct_unary(exponentials.Exp2, "fc")
def exp2(x: Any, /) -> Any:
    """Return 2 to the power x."""
    return exponentials.exp2(promote_inexact(x))


@direct_unary(exponentials.Expm1, "fc")
def expm1(x: Any, /) -> Any:
    """Return ``e`` to the power ``x``, minus one, accurate near zero."""
    return exponentials.expm1(promote_inexact(x))


@direct_unary(exponentials.Log, "fc")
def log(x: Any, /) -> Any:
    """Return the natural logarithm.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.log(jnp.array([1, 0])))
    [  0. -inf]
    """
    return exponentials.log(promote_inexact(x))


@direct_unary(exponentials.Log1p, "fc")
def log1p(x: Any, /) -> Any:
    """Return the natural logarithm of 1 + x, accurate near zero."""
    return exponentials.log1p(promote_inexact(x))


@jit_wrapped()
def log2(x: Any, /) -> Any:
    """Return the logarithm to base 2."""
    return _divide_parts(exponentials.log(_to_strong_inexact(x)), math.log(2.0))


@jit_wrapped()
def log10(x: Any, /) -> Any:
    """Return the logarithm to base 10."""
    return _divide_parts(exponentials.log(_to_strong_inexact(x)), math.log(10.0))


def _divide_parts(x: Any, divisor: float) -> Any:
    """Return x / divisor, dividing the parts of a complex number separately.

    Complex division of an infinite part by the zero imaginary part of ``divisor`` would give NaN.
    """
    if dtype_kind(aval_of(x).dtype) != "c":
        return div(x, divisor)
    return complex_of(div(real(x), divisor), div(imag(x), divisor))


def _to_strong_inexact(x: Any) -> Any:
    x = promote_inexact(x)
    return as_dtype(x, aval_of(x).dtype)


@direct_unary(exponentials.Sqrt, "fc")
def sqrt(x: Any, /) -> Any:
    """Return the square root."""
    return exponentials.sqrt(promote_inexact(x))


@direct_unary(exponentials.Cbrt, "fc")
def cbrt(x: Any, /) -> Any:
    """Return the cube root."""
    return exponentials.cbrt(promote_inexact(x))


@add_ufunc_attributes(2, -math.inf)
@jit_wrapped()
def logaddexp(x: Any, y: Any, /) -> Any:
    """Return log(exp(x) + exp(y)), without overflow.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.logaddexp(1000.0, 900.0))
    1000.0
    """
    x, y = promote_pair_inexact(x, y)
    return _complex_logaddexp(x, y) if dtype_kind(aval_of(x).dtype) == "c" else _logaddexp(x, y)


@jit_wrapped()
def _complex_logaddexp(x: Any, y: Any) -> Any:
    """Return logaddexp of complex numbers; the imaginary part lies between -π and π."""
    difference = sub(x, y)
    first = gt(real(difference), 0)
    smaller = select(first, neg(difference), difference)
    result = add(select(first, x, y), exponentials.log1p(exponentials.exp(smaller)))
    wrapped = rem(add(imag(result), math.pi), 2 * math.pi)  # exact, however large
    nonnegative = select(lt(wrapped, 0), add(wrapped, 2 * math.pi), wrapped)
    return complex_of(real(result), sub(nonnegative, math.pi))


@custom_jvp
@jit_wrapped()
def _logaddexp(x: Any, y: Any) -> Any:
    # max(x, y) + log(1 + exp(-|x - y|)).
    # The difference of equal infinities is NaN; their sum is the correct result.
    difference = sub(x, y)
    finite_result = add(extremes.max(x, y), exponentials.log1p(exponentials.exp(neg(arithmetic.abs(difference)))))
    return select(ne(difference, difference), add(x, y), finite_result)


def _finite_difference(x: Any, y: Any) -> Any:
    """Return x - y, and 0 for equal infinities."""
    equal = bitwise_and(eq(x, y), eq(arithmetic.abs(x), math.inf))
    return sub(*(select(equal, full(aval_of(v).shape, typed_scalar(0, aval_of(v).dtype)), v) for v in (x, y)))


# The derivatives are the shares of the two terms: they add to 1, and at x = y, where |x - y| has a kink, they are 1/2.
_logaddexp.defjvps(
    lambda t, result, x, y: mul(t, logistic(_finite_difference(x, y))),
    lambda t, result, x, y: mul(t, logistic(_finite_difference(y, x))),
)


@add_ufunc_attributes(2, -math.inf)
@jit_wrapped()
def logaddexp2(x: Any, y: Any, /) -> Any:
    """Return log2(2^x + 2^y), without overflow."""
    x, y = map(strengthen_unless_scalar, promote_pair_inexact(x, y))
    if dtype_kind(aval_of(x).dtype) != "c":
        return _logaddexp2(x, y)
    return div(logaddexp(mul(x, math.log(2.0)), mul(y, math.log(2.0))), math.log(2.0))


@custom_jvp
def _logaddexp2(x: Any, y: Any) -> Any:
    difference = sub(x, y)
    correction = exponentials.log1p(exponentials.exp2(neg(arithmetic.abs(difference))))
    finite_result = add(extremes.max(x, y), div(correction, math.log(2.0)))
    return select(ne(difference, difference), add(x, y), finite_result)


_logaddexp2.defjvps(
    lambda t, result, x, y: mul(t, logistic(mul(_finite_difference(x, y), math.log(2.0)))),
    lambda t, result, x, y: mul(t, logistic(mul(_finite_difference(y, x), math.log(2.0)))),
)


# Trigonometry --------------------------------------------------------------------------------------------------------


@direct_unary(trigonometry.Sin, "fc")
def sin(x: Any, /) -> Any:
    """Return the sine."""
    return trigonometry.sin(promote_inexact(x))


@direct_unary(trigonometry.Cos, "fc")
def cos(x: Any, /) -> Any:
    """Return the cosine."""
    return trigonometry.cos(promote_inexact(x))


@direct_unary(trigonometry.Tan, "fc")
def tan(x: Any, /) -> Any:
    """Return the tangent."""
    return trigonometry.tan(promote_inexact(x))


@direct_unary(trigonometry.Asin, "fc")
def arcsin(x: Any, /) -> Any:
    """Return the inverse sine."""
    return trigonometry.asin(promote_inexact(x))


@direct_unary(trigonometry.Acos, "fc")
def arccos(x: Any, /) -> Any:
    """Return the inverse cosine."""
    return trigonometry.acos(promote_inexact(x))


@direct_unary(trigonometry.Atan, "fc")
def arctan(x: Any, /) -> Any:
    """Return the inverse tangent."""
    return trigonometry.atan(promote_inexact(x))


@direct_binary(trigonometry.Atan2, "f", with_numbers=False)
def arctan2(y: Any, x: Any, /) -> Any:
    """Return the angle of the point (x, y); for complex numbers, -i log((x + iy) / √(x² + y²))."""
    y, x = promote_pair_inexact(y, x)
    return _complex_angle(y, x) if dtype_kind(aval_of(x).dtype) == "c" else trigonometry.atan2(y, x)


@jit_wrapped()
def _complex_angle(y: Any, x: Any) -> Any:
    length = exponentials.sqrt(add(square(x), square(y)))
    return mul(-1j, exponentials.log(div(add(x, mul(1j, y)), length)))


@direct_unary(trigonometry.Sinh, "fc")
def sinh(x: Any, /) -> Any:
    """Return the hyperbolic sine."""
    return trigonometry.sinh(promote_inexact(x))


@direct_unary(trigonometry.Cosh, "fc")
def cosh(x: Any, /) -> Any:
    """Return the hyperbolic cosine."""
    return trigonometry.cosh(promote_inexact(x))


@direct_unary(trigonometry.Tanh, "fc")
def tanh(x: Any, /) -> Any:
    """Return the hyperbolic tangent."""
    return trigonometry.tanh(promote_inexact(x))


@direct_unary(trigonometry.Asinh, "fc")
def arcsinh(x: Any, /) -> Any:
    """Return the inverse hyperbolic sine."""
    return trigonometry.asinh(promote_inexact(x))


@direct_unary(trigonometry.Acosh, "fc")
def arccosh(x: Any, /) -> Any:
    """Return the inverse hyperbolic cosine."""
    return trigonometry.acosh(promote_inexact(x))


@direct_unary(trigonometry.Atanh, "fc")
def arctanh(x: Any, /) -> Any:
    """Return the inverse hyperbolic tangent."""
    return trigonometry.atanh(promote_inexact(x))


asin, acos, atan, atan2, asinh, acosh, atanh = arcsin, arccos, arctan, arctan2, arcsinh, arccosh, arctanh


def degrees(x: Any, /) -> Any:
    """Return radians converted to degrees."""
    return mul(_to_angle(x), 180.0 / math.pi)


def radians(x: Any, /) -> Any:
    """Return degrees converted to radians."""
    return mul(_to_angle(x), math.pi / 180.0)


def _to_angle(x: Any) -> Any:
    return (
        _to_strong_inexact(x) if dtype_kind(aval_of(x).dtype) == "b" else strengthen_unless_scalar(promote_inexact(x))
    )


rad2deg, deg2rad = degrees, radians


@jit_wrapped()
def hypot(x: Any, y: Any, /) -> Any:
    """Return the length of the vector (x, y), without overflow; infinite if x or y is infinite."""
    x, y = promote_pair_inexact(x, y)
    if dtype_kind(aval_of(x).dtype) == "c":
        raise ValueError(
            f"hypot takes operands of real type, got {aval_of(x).dtype.name}; hypot(abs(x), abs(y)) is real"
        )
    return _hypot(strengthen_unless_scalar(x), strengthen_unless_scalar(y))


@custom_jvp
def _hypot(x: Any, y: Any) -> Any:
    x, y = arithmetic.abs(x), arithmetic.abs(y)
    longer, shorter = extremes.max(x, y), extremes.min(x, y)
    safe = select(eq(longer, 0), 1.0, longer)
    length = mul(longer, exponentials.sqrt(add(1.0, square(div(shorter, safe)))))
    infinite = bitwise_or(eq(x, math.inf), eq(y, math.inf))  # even if the other is NaN
    return select(infinite, math.inf, length)


# The larger side has a kink at |x| = |y|, the length has none.
_hypot.defjvps(
    lambda t, result, x, y: mul(t, _share_of_length(x, result)),
    lambda t, result, x, y: mul(t, _share_of_length(y, result)),
)


def _share_of_length(x: Any, length: Any) -> Any:
    """Return x / length, and 1/2 for the length zero, as JAX does; the sign of x if both are infinite."""
    share = div(x, select(bitwise_or(eq(length, 0), eq(length, math.inf)), 1.0, length))
    share = select(eq(length, 0), 0.5, share)
    infinite_share = select(eq(arithmetic.abs(x), math.inf), arithmetic.sign(x), 0.0)
    return select(eq(length, math.inf), infinite_share, share)


def sinc(x: Any, /) -> Any:
    """Return sin(πx) / (πx), and 1 at zero."""
    return _sinc(_to_angle(x))


#: Coefficients of the power series of sin(a) / a in a². For |a| ≤ 1 the remainder is below one ulp of float64, also for
#: the first derivatives.
_SINC_SERIES = [(-1) ** k / math.factorial(2 * k + 1) for k in range(12)]


@jit_wrapped()
def _sinc(x: Any) -> Any:
    """Return sin(a) / a for a = πx; near zero by its series, since the quotient's derivatives cancel there.

    Narrow floats are computed in float32: in them the angle has no digit left, and overflows.
    """
    dtype = aval_of(x).dtype
    if dtype_kind(dtype) == "f" and dtype.itemsize < 4:
        return as_dtype(_sinc(as_dtype(x, np.dtype(np.float32))), dtype)
    angle = mul(x, math.pi)
    is_small = lt(arithmetic.abs(angle), 1.0)
    squared = square(select(is_small, angle, 0.0))
    series = add(mul(squared, _SINC_SERIES[-1]), _SINC_SERIES[-2])
    for term in _SINC_SERIES[-3::-1]:
        series = add(mul(series, squared), term)
    safe_angle = select(is_small, 1.0, angle)
    return select(is_small, series, div(trigonometry.sin(safe_angle), safe_angle))
