"""The modified Bessel functions of order 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..dtypes import finfo
from ..trace.bind import bind_inexact
from .arithmetic import abs, add, div, mul, square, sub
from .comparisons import lt
from .computed import emit_formula
from .exponentials import exp, rsqrt
from .extremes import max, min
from .families import Unary
from .rounding import sign
from .selection import select
from .values import dtype_of


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """The polynomial with those coefficients, the lowest first (Horner's scheme)."""
    made = mul(x, 0.0)
    for c in reversed(coefficients):
        made = add(mul(made, x), c)
    return made


def i0e_formula(x: Any) -> Any:
    """e^-|x| I0(x): Σ (x²/4)^k / k!², whose terms are all positive, and from some x on the asymptotic series
    1/√(2πx) Σ ((1·3·…·(2k - 1))² / (k! (8x)^k) (Abramowitz and Stegun, 9.6.12 and 9.7.1).
    """
    double = dtype_of(x).itemsize == 8
    limit, terms, far = (20.0, 48, 24) if double else (10.0, 26, 12)
    x = abs(x)
    near, beyond = min(x, limit), max(x, limit)
    series = [1 / math.factorial(k) ** 2 for k in range(terms)]
    asymptotic = [1.0]
    for k in range(1, far):
        asymptotic.append(asymptotic[-1] * (2 * k - 1) ** 2 / (8 * k))
    small = mul(exp(mul(near, -1.0)), _polynomial(mul(square(near), 0.25), series))
    large = mul(rsqrt(mul(beyond, 2 * math.pi)), _polynomial(div(1.0, beyond), asymptotic))
    return select(lt(x, limit), small, select(lt(beyond, math.inf), large, mul(rsqrt(beyond), 0.0)))


class BesselI0e(Unary, name="bessel_i0e"):
    """The modified Bessel function of order 0, times e^-|x|: i0e' = i1e - sign(x) i0e."""

    kinds = "f"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return emit_formula(builder, i0e_formula, operands)

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, sub(bessel_i1e(x), mul(sign(x), y)))


def bessel_i0e(x: Any) -> Any:
    """The modified Bessel function of order 0, times ``exp(-abs(x))``.

    >>> from xlascope import lax
    >>> print(f"{lax.bessel_i0e(2.0):.5f}")
    0.30851
    """
    return bind_inexact(BesselI0e.instance, x)


class BesselI1e(Unary, name="bessel_i1e"):
    """The modified Bessel function of order 1, times e^-|x|: i1e' = i0e - (sign(x) + 1/x) i1e, which is 1/2 for 0."""

    hlo = "chlo.bessel_i1e"
    kinds = "f"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        # i1e(x)/x is taken for 1/2 - |x|/2 where x is so small that nothing else is left of it
        tiny = lt(abs(x), float(finfo(dtype_of(x)).eps))
        safe = select(tiny, add(mul(x, 0.0), 1.0), x)
        quotient = select(tiny, add(mul(abs(x), -0.5), 0.5), div(y, safe))
        return mul(t, sub(sub(bessel_i0e(x), mul(sign(x), y)), quotient))


def bessel_i1e(x: Any) -> Any:
    """The modified Bessel function of order 1, times ``exp(-abs(x))``."""
    return bind_inexact(BesselI1e.instance, x)
