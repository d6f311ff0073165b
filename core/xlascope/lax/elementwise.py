"""Elementwise functions of one operand. Whole Python numbers count as floats where a float is wanted: ``log(2)``."""

from __future__ import annotations

import enum
from typing import Any

from .. import tree
from ..dtypes import is_differentiable
from ..operations import arithmetic as a
from ..operations import elementwise as e
from ..trace.values import aval_of


class RoundingMethod(enum.IntEnum):
    """Where halves go when numbers are rounded."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _floating(x: Any) -> Any:
    return float(x) if x.__class__ is int else x


def exp(x: Any) -> Any:
    """``e`` to the power ``x``."""
    return e.exp(_floating(x))


def exp2(x: Any) -> Any:
    """2 to the power x."""
    return e.exp2(_floating(x))


def expm1(x: Any) -> Any:
    """``e`` to the power ``x``, minus one, exact near zero."""
    return e.expm1(_floating(x))


def log(x: Any) -> Any:
    """The natural logarithm.

    >>> from xlascope import lax
    >>> print(lax.log(2))
    0.6931472
    """
    return e.log(_floating(x))


def log1p(x: Any) -> Any:
    """The natural logarithm of 1 + x, exact near zero."""
    return e.log1p(_floating(x))


def sin(x: Any) -> Any:
    """The sine."""
    return e.sin(_floating(x))


def cos(x: Any) -> Any:
    """The cosine."""
    return e.cos(_floating(x))


def tan(x: Any) -> Any:
    """The tangent."""
    return e.tan(_floating(x))


def asin(x: Any) -> Any:
    """The inverse sine."""
    return e.asin(_floating(x))


def acos(x: Any) -> Any:
    """The inverse cosine."""
    return e.acos(_floating(x))


def atan(x: Any) -> Any:
    """The inverse tangent."""
    return e.atan(_floating(x))


def sinh(x: Any) -> Any:
    """The hyperbolic sine."""
    return e.sinh(_floating(x))


def cosh(x: Any) -> Any:
    """The hyperbolic cosine."""
    return e.cosh(_floating(x))


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return e.tanh(_floating(x))


def asinh(x: Any) -> Any:
    """The inverse hyperbolic sine."""
    return e.asinh(_floating(x))


def acosh(x: Any) -> Any:
    """The inverse hyperbolic cosine."""
    return e.acosh(_floating(x))


def atanh(x: Any) -> Any:
    """The inverse hyperbolic tangent."""
    return e.atanh(_floating(x))


def logistic(x: Any) -> Any:
    """The sigmoid 1 / (1 + e^-x)."""
    return e.logistic(_floating(x))


def sqrt(x: Any) -> Any:
    """The square root."""
    return e.sqrt(_floating(x))


def rsqrt(x: Any) -> Any:
    """One over the square root.

    >>> from xlascope import lax
    >>> print(lax.rsqrt(4.0))
    0.5
    """
    return e.rsqrt(_floating(x))


def cbrt(x: Any) -> Any:
    """The cube root."""
    return e.cbrt(_floating(x))


def erf(x: Any) -> Any:
    """The error function."""
    return e.erf(_floating(x))


def erf_inv(x: Any) -> Any:
    """The inverse of the error function."""
    return e.erf_inv(_floating(x))


def reciprocal(x: Any) -> Any:
    """One divided by x."""
    return a.div(1.0, _floating(x))


def floor(x: Any) -> Any:
    """The largest whole number not above x."""
    return e.floor(_floating(x))


def ceil(x: Any) -> Any:
    """The smallest whole number not below x."""
    return e.ceil(_floating(x))


def stop_gradient(x: Any) -> Any:
    """A tree with the same values, which differentiation takes for constants.

    >>> import xlascope as xs
    >>> print(xs.grad(lambda x: x * xs.lax.stop_gradient(x))(3.0))
    3.0
    """
    return tree.map(lambda leaf: e.stop_gradient(leaf) if is_differentiable(aval_of(leaf).dtype) else leaf, x)
