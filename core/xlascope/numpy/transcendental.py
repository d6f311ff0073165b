"""Exponentials, logarithms, roots, trigonometry, elementwise; integers become floats."""

from __future__ import annotations

import math
from typing import Any

from ..control.rules.custom_jvp import custom_jvp
from ..dtypes import kind_of
from ..operations import arithmetic, exponentials, extremes, trigonometry
from ..operations.arithmetic import add, div, mul, rem, square, sub
from ..operations.bits import bitwise_and, bitwise_or
from ..operations.comparisons import eq, gt, lt, ne
from ..operations.complex_numbers import complex as complex_of
from ..operations.complex_numbers import imag, real
from ..operations.exponentials import logistic
from ..operations.selection import select
from ..operations.shapes import full
from ..operations.sums import neg
from ..operations.values import typed_scalar
from ..trace.values import aval_of
from .promotion import as_dtype, inexact, inexact_pair, strong_with_axes
from .together import together
from .universal import universal


def exp(x: Any, /) -> Any:
    """``e`` to the power ``x``."""
    return exponentials.exp(inexact(x))


def exp2(x: Any, /) -> Any:
    """2 to the power x."""
    return exponentials.exp2(inexact(x))


def expm1(x: Any, /) -> Any:
    """``e`` to the power ``x``, minus one, exact near zero."""
    return exponentials.expm1(inexact(x))


def log(x: Any, /) -> Any:
    """The natural logarithm.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.log(jnp.array([1, 0])))
    [  0. -inf]
    """
    return exponentials.log(inexact(x))


def log1p(x: Any, /) -> Any:
    """The natural logarithm of 1 + x, exact near zero."""
    return exponentials.log1p(inexact(x))


@together()
def log2(x: Any, /) -> Any:
    """The logarithm to base 2."""
    return _scaled(exponentials.log(_strong(x)), math.log(2.0))


@together()
def log10(x: Any, /) -> Any:
    """The logarithm to base 10."""
    return _scaled(exponentials.log(_strong(x)), math.log(10.0))


def _scaled(x: Any, by: float) -> Any:
    """The quotient x / by; of a complex number each part, since an infinite one by the zero in ``by + 0i`` is NaN."""
    if kind_of(aval_of(x).dtype) != "c":
        return div(x, by)
    return complex_of(div(real(x), by), div(imag(x), by))


def _strong(x: Any) -> Any:
    x = inexact(x)
    return as_dtype(x, aval_of(x).dtype)


def sqrt(x: Any, /) -> Any:
    """The square root."""
    return exponentials.sqrt(inexact(x))


def cbrt(x: Any, /) -> Any:
    """The cube root."""
    return exponentials.cbrt(inexact(x))


@universal(2, -math.inf)
def logaddexp(x: Any, y: Any, /) -> Any:
    """log(exp(x) + exp(y)), without overflow.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.logaddexp(1000.0, 900.0))
    1000.0
    """
    x, y = inexact_pair(x, y)
    return _complex_logaddexp(x, y) if kind_of(aval_of(x).dtype) == "c" else _logaddexp(x, y)


@together()
def _complex_logaddexp(x: Any, y: Any) -> Any:
    """With the one of the larger real part taken out; the imaginary part lies between -π and π."""
    difference = sub(x, y)
    first = gt(real(difference), 0)
    smaller = select(first, neg(difference), difference)
    found = add(select(first, x, y), exponentials.log1p(exponentials.exp(smaller)))
    turned = rem(add(imag(found), math.pi), 2 * math.pi)  # exact, however large
    within = select(lt(turned, 0), add(turned, 2 * math.pi), turned)
    return complex_of(real(found), sub(within, math.pi))


@custom_jvp
@together()
def _logaddexp(x: Any, y: Any) -> Any:
    # With the larger taken out, log(1 + exp(-|x - y|)) is left.
    # The difference of equal infinities is NaN: there their sum is right.
    difference = sub(x, y)
    usual = add(extremes.max(x, y), exponentials.log1p(exponentials.exp(neg(arithmetic.abs(difference)))))
    return select(ne(difference, difference), add(x, y), usual)


def _distance(x: Any, y: Any) -> Any:
    """Return x - y, and 0 between equal infinities."""
    equal = bitwise_and(eq(x, y), eq(arithmetic.abs(x), math.inf))
    return sub(*(select(equal, full(aval_of(v).shape, typed_scalar(0, aval_of(v).dtype)), v) for v in (x, y)))


# The derivatives are the shares of the two terms: they add to 1, and at x = y, where |x - y| has a kink, they are 1/2.
_logaddexp.defjvps(
    lambda t, result, x, y: mul(t, logistic(_distance(x, y))),
    lambda t, result, x, y: mul(t, logistic(_distance(y, x))),
)


@universal(2, -math.inf)
@together()
def logaddexp2(x: Any, y: Any, /) -> Any:
    """log2(2^x + 2^y), without overflow."""
    x, y = map(strong_with_axes, inexact_pair(x, y))
    if kind_of(aval_of(x).dtype) != "c":
        return _logaddexp2(x, y)
    return div(logaddexp(mul(x, math.log(2.0)), mul(y, math.log(2.0))), math.log(2.0))


@custom_jvp
def _logaddexp2(x: Any, y: Any) -> Any:
    difference = sub(x, y)
    more = exponentials.log1p(exponentials.exp2(neg(arithmetic.abs(difference))))
    usual = add(extremes.max(x, y), div(more, math.log(2.0)))
    return select(ne(difference, difference), add(x, y), usual)


_logaddexp2.defjvps(
    lambda t, result, x, y: mul(t, logistic(mul(_distance(x, y), math.log(2.0)))),
    lambda t, result, x, y: mul(t, logistic(mul(_distance(y, x), math.log(2.0)))),
)


# Trigonometry --------------------------------------------------------------------------------------------------------


def sin(x: Any, /) -> Any:
    """The sine."""
    return trigonometry.sin(inexact(x))


def cos(x: Any, /) -> Any:
    """The cosine."""
    return trigonometry.cos(inexact(x))


def tan(x: Any, /) -> Any:
    """The tangent."""
    return trigonometry.tan(inexact(x))


def arcsin(x: Any, /) -> Any:
    """The inverse sine."""
    return trigonometry.asin(inexact(x))


def arccos(x: Any, /) -> Any:
    """The inverse cosine."""
    return trigonometry.acos(inexact(x))


def arctan(x: Any, /) -> Any:
    """The inverse tangent."""
    return trigonometry.atan(inexact(x))


def arctan2(y: Any, x: Any, /) -> Any:
    """The angle of the point (x, y); of complex numbers, what the formula -i log((x + iy) / √(x² + y²)) gives."""
    y, x = inexact_pair(y, x)
    return _complex_angle(y, x) if kind_of(aval_of(x).dtype) == "c" else trigonometry.atan2(y, x)


@together()
def _complex_angle(y: Any, x: Any) -> Any:
    length = exponentials.sqrt(add(square(x), square(y)))
    return mul(-1j, exponentials.log(div(add(x, mul(1j, y)), length)))


def sinh(x: Any, /) -> Any:
    """The hyperbolic sine."""
    return trigonometry.sinh(inexact(x))


def cosh(x: Any, /) -> Any:
    """The hyperbolic cosine."""
    return trigonometry.cosh(inexact(x))


def tanh(x: Any, /) -> Any:
    """The hyperbolic tangent."""
    return trigonometry.tanh(inexact(x))


def arcsinh(x: Any, /) -> Any:
    """The inverse hyperbolic sine."""
    return trigonometry.asinh(inexact(x))


def arccosh(x: Any, /) -> Any:
    """The inverse hyperbolic cosine."""
    return trigonometry.acosh(inexact(x))


def arctanh(x: Any, /) -> Any:
    """The inverse hyperbolic tangent."""
    return trigonometry.atanh(inexact(x))


asin, acos, atan, atan2, asinh, acosh, atanh = arcsin, arccos, arctan, arctan2, arcsinh, arccosh, arctanh


def degrees(x: Any, /) -> Any:
    """Radians as degrees."""
    return mul(_as_angle(x), 180.0 / math.pi)


def radians(x: Any, /) -> Any:
    """Degrees as radians."""
    return mul(_as_angle(x), math.pi / 180.0)


def _as_angle(x: Any) -> Any:
    return _strong(x) if kind_of(aval_of(x).dtype) == "b" else strong_with_axes(inexact(x))


rad2deg, deg2rad = degrees, radians


@together()
def hypot(x: Any, y: Any, /) -> Any:
    """The length of the vector (x, y), without overflow; infinite where x or y is."""
    x, y = inexact_pair(x, y)
    if kind_of(aval_of(x).dtype) == "c":
        raise ValueError(
            f"hypot takes operands of real type, got {aval_of(x).dtype.name}; hypot(abs(x), abs(y)) is real"
        )
    x, y = arithmetic.abs(strong_with_axes(x)), arithmetic.abs(strong_with_axes(y))
    longer, shorter = extremes.max(x, y), extremes.min(x, y)
    safe = select(eq(longer, 0), 1.0, longer)
    length = mul(longer, exponentials.sqrt(add(1.0, square(div(shorter, safe)))))
    infinite = bitwise_or(eq(x, math.inf), eq(y, math.inf))  # also beside a NaN
    return select(infinite, math.inf, length)


def sinc(x: Any, /) -> Any:
    """sin(πx) / (πx), and 1 at zero."""
    return _sinc(_as_angle(x))


#: Of the power series of sin(a) / a in a², for |a| ≤ 1: the rest is below a unit of the last place of float64, also of
#: its first derivatives.
_SERIES = [(-1) ** k / math.factorial(2 * k + 1) for k in range(12)]


@together()
def _sinc(x: Any) -> Any:
    """sin(a) / a for a = πx; near zero its series, for in the quotient's derivatives everything cancels there."""
    angle = mul(x, math.pi)
    near = lt(arithmetic.abs(angle), 1.0)
    squared = square(select(near, angle, 0.0))
    series = add(mul(squared, _SERIES[-1]), _SERIES[-2])
    for term in _SERIES[-3::-1]:
        series = add(mul(series, squared), term)
    away = select(near, 1.0, angle)
    return select(near, series, div(trigonometry.sin(away), away))
