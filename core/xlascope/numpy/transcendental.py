"""Exponentials, logarithms, roots, trigonometry, elementwise; integers become floats."""

from __future__ import annotations

import functools
import math
from typing import Any

from ..control.rules.custom_jvp import custom_jvp
from ..operations import arithmetic as a
from ..operations import elementwise as e
from .promotion import inexact, inexact_pair
from .together import together


def exp(x: Any, /) -> Any:
    """``e`` to the power ``x``."""
    return e.exp(inexact(x))


def exp2(x: Any, /) -> Any:
    """2 to the power x."""
    return e.exp2(inexact(x))


def expm1(x: Any, /) -> Any:
    """``e`` to the power ``x``, minus one, exact near zero."""
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


def logaddexp(x: Any, y: Any, /) -> Any:
    """log(exp(x) + exp(y)), without overflow.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.logaddexp(1000.0, 900.0))
    1000.0
    """
    x, y = inexact_pair(x, y)
    return _logaddexp(x, y)


@custom_jvp
@together()
def _logaddexp(x: Any, y: Any) -> Any:
    # With the larger taken out, log(1 + exp(-|x - y|)) is left.
    # The difference of equal infinities is NaN: there their sum is right.
    difference = a.sub(x, y)
    usual = a.add(a.max(x, y), e.log1p(e.exp(e.neg(e.abs(difference)))))
    return a.select(a.ne(difference, difference), a.add(x, y), usual)


# The derivatives are the shares of the two terms: they add to 1, and at x = y, where |x - y| has a kink, they are 1/2.
_logaddexp.defjvps(
    lambda t, result, x, y: a.mul(t, e.logistic(a.sub(x, y))),
    lambda t, result, x, y: a.mul(t, e.logistic(a.sub(y, x))),
)


@together()
def logaddexp2(x: Any, y: Any, /) -> Any:
    """log2(2^x + 2^y), without overflow."""
    x, y = inexact_pair(x, y)
    return a.div(logaddexp(a.mul(x, math.log(2.0)), a.mul(y, math.log(2.0))), math.log(2.0))


# Trigonometry --------------------------------------------------------------------------------------------------------


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


asin, acos, atan, atan2, asinh, acosh, atanh = arcsin, arccos, arctan, arctan2, arcsinh, arccosh, arctanh


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
    return a.select(zero, _sinc_at_zero(0, x), a.div(e.sin(angle), angle))


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def _sinc_at_zero(order: int, x: Any) -> Any:
    """The derivative of that order of sinc at 0, wherever x is; it has the next one as its own derivative."""
    value = 0.0 if order % 2 else (-1) ** (order // 2) * math.pi**order / (order + 1)
    return a.add(a.mul(x, 0), value)


@_sinc_at_zero.defjvp
def _sinc_at_zero_jvp(order: int, primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _sinc_at_zero(order, x), a.mul(_sinc_at_zero(order + 1, x), t)
