"""The derivative of the Hurwitz zeta function ζ(s, q) = Σ (q + k)^-s in its order s."""

from __future__ import annotations

import math
from typing import Any

from .arithmetic import add, div, mul, sub
from .comparisons import eq, gt
from .conversion import convert_element_type
from .exponentials import log, pow
from .extremes import limit_to_finite
from .operand_values import dtype_of
from .selection import select
from .tangent_arithmetic import neg

#: B(2j) / (2j)! for j = 1, 2, …, with Bernoulli's numbers B.
_BERNOULLI_RATIOS = [
    *(1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600),
    *(-3617 / 10670622842880000, 43867 / 5109094217170944000, -174611 / 802857662698291200000),
]
#: Terms that are added up one by one before the rest is an integral and corrections to it.
_DIRECT_TERMS = 10


def zeta_derivative(s: Any, q: Any) -> Any:
    """Return ∂ζ(s, q)/∂s = -Σ log(q + k) (q + k)^-s, by Euler and Maclaurin's formula (DLMF 25.11.28 is that of ζ).

    ``s`` and ``q`` are floating-point values of one dtype and shape. It is -inf at the pole s = 1, and NaN for s below
    1 and for q below 0, where the powers are those of a negative number.
    """
    dtype = dtype_of(s)
    if dtype.itemsize < 4:
        s, q = (convert_element_type(x, "float32") for x in (s, q))
        return convert_element_type(zeta_derivative(s, q), dtype)
    usual, zero = gt(s, 1.0), mul(s, 0.0)
    order, start = limit_to_finite(select(usual, s, add(zero, 2.0))), limit_to_finite(q)
    total = mul(order, 0.0)
    for k in range(_DIRECT_TERMS):
        total = sub(total, _log_times_power(add(start, float(k)), order))
    slope = add(total, _rest(add(start, float(_DIRECT_TERMS)), order))
    return select(usual, slope, select(eq(s, 1.0), sub(zero, math.inf), add(zero, math.nan)))


def _log_times_power(x: Any, s: Any) -> Any:
    """Return log(x) x^-s."""
    return mul(log(x), pow(x, neg(s)))


def _rest(a: Any, s: Any) -> Any:
    """Return the derivative of Σ (a + k)^-s in s, for ``a`` so large that few corrections to the integral suffice.

    Σ (a + k)^-s = a^(1 - s)/(s - 1) + a^-s/2 + Σ B(2j)/(2j)! s (s + 1) … (s + 2j - 2) a^(1 - s - 2j). The products are
    divided by powers of a factor by factor, so that they do not overflow for large s.
    """
    logarithm, power, above = log(a), pow(a, neg(s)), sub(s, 1.0)
    integral = div(mul(a, power), above)
    slope = sub(mul(neg(integral), add(logarithm, div(1.0, above))), mul(0.5, mul(logarithm, power)))
    product, growth = mul(power, div(s, a)), div(1.0, s)
    for j, ratio in enumerate(_BERNOULLI_RATIOS):
        slope = add(slope, mul(ratio, mul(product, sub(growth, logarithm))))
        for factor in (add(s, 2.0 * j + 1.0), add(s, 2.0 * j + 2.0)):
            product, growth = mul(product, div(factor, a)), add(growth, div(1.0, factor))
    return slope
