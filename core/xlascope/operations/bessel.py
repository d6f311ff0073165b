"""The modified Bessel functions of order 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..records.traits import TRANSCENDENTAL
from ..trace.bind import bind_inexact
from . import bessel_fits as fits
from .arithmetic import abs, add, div, mul, sign, sub
from .comparisons import lt
from .elementwise import Unary
from .exponentials import exp, sqrt
from .extremes import max, min
from .formula_operations import emit_formula
from .selection import select
from .tangent_arithmetic import neg


def _chebyshev(t: Any, coefficients: Sequence[float]) -> Any:
    """Return Σ c_k T_k(t) for t in [-1, 1] (C. W. Clenshaw, Mathematics of Computation 9, 1955)."""
    last = before = mul(t, 0.0)
    twice = mul(t, 2.0)
    for c in reversed(coefficients[1:]):
        last, before = add(sub(mul(twice, last), before), c), last
    return add(sub(mul(t, last), before), coefficients[0])


def i0e_formula(x: Any) -> Any:
    """Return e^-|x| I0(x), from a Chebyshev fit in x up to 8 and from one in 1/x beyond."""
    x = abs(x)
    near, beyond = min(x, 8.0), max(x, 8.0)
    small = _chebyshev(sub(mul(near, 0.25), 1.0), fits.I0E_COEFFICIENTS_UP_TO_8)
    root = sqrt(beyond)
    large = div(_chebyshev(sub(div(16.0, beyond), 1.0), fits.I0E_COEFFICIENTS_ABOVE_8), root)
    return select(lt(x, 8.0), small, select(lt(beyond, math.inf), large, div(1.0, root)))


class BesselI0e(Unary, name="bessel_i0e"):
    """The modified Bessel function of order 0, times e^-|x|: i0e' = i1e - sign(x) i0e."""

    traits = TRANSCENDENTAL
    kinds = "f"

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return emit_formula(builder, i0e_formula, operands, double=True)

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        return mul(t, sub(bessel_i1e(x), mul(sign(x), y)))


def bessel_i0e(x: Any) -> Any:
    """Return the modified Bessel function of order 0, times ``exp(-abs(x))``.

    >>> from xlascope import lax
    >>> print(f"{lax.bessel_i0e(2.0):.5f}")
    0.30851
    """
    return bind_inexact(BesselI0e.instance, x)


#: Coefficients of I1(x)/x in x²/4: halves of 1 / (k! (k + 1)!).
_I1_SERIES = [0.5 / (math.factorial(k) * math.factorial(k + 1)) for k in range(12)]


def i1_over_x(x: Any) -> Any:
    """Return I1(x)/x for |x| ≤ 1 by its power series, whose derivatives do not cancel near 0."""
    series, z = mul(x, 0.0), mul(mul(x, x), 0.25)
    for c in reversed(_I1_SERIES):
        series = add(mul(series, z), c)
    return series


class BesselI1e(Unary, name="bessel_i1e"):
    """The modified Bessel function of order 1, times e^-|x|: i1e' = i0e - (sign(x) + 1/x) i1e, which is 1/2 for 0."""

    traits = TRANSCENDENTAL
    hlo = "chlo.bessel_i1e"
    kinds = "f"

    def derivative(self, x: Any, y: Any, t: Any) -> Any:
        # near 0 the terms of the derivatives of i1e(x)/x cancel: there it is e^-|x| times the power series of I1(x)/x
        is_near = lt(abs(x), 1.0)
        near, beyond = select(is_near, x, 0.0), select(is_near, 1.0, x)
        quotient = select(is_near, mul(exp(neg(mul(sign(near), near))), i1_over_x(near)), div(y, beyond))
        return mul(t, sub(sub(bessel_i0e(x), mul(sign(x), y)), quotient))


def bessel_i1e(x: Any) -> Any:
    """Return the modified Bessel function of order 1, times ``exp(-abs(x))``."""
    return bind_inexact(BesselI1e.instance, x)
