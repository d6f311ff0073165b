"""The regularized incomplete beta function.

I_x(a, b) = x^a (1 - x)^b / B(a, b) h, where h is the even part of the continued fraction of Abramowitz and Stegun,
26.5.8, evaluated from its front (W. J. Lentz, Applied Optics 15, 1976). It converges quickly for x below (a + 1)/(a +
b + 2); beyond, I_x(a, b) = 1 - I_(1 - x)(b, a). The number of steps grows like the square root of the smaller of
a and b. Where both are large, I_x(a, b) is nearly the normal distribution of a function of x, whose expansion is
exact to rounding (N. Temme, The asymptotic expansion of the incomplete gamma functions, SIAM Journal on
Mathematical Analysis 10, 1979, for both).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.avals import ShapedArray, make_aval
from ...ir.markers import ZERO
from ...ir.operation import Operation
from ...operations import sharding_rules
from ...operations.arithmetic import abs, add, mul, sub
from ...operations.bits import bitwise_and
from ...operations.comparisons import gt, lt
from ...operations.conversion import to_dtype
from ...operations.elementwise import align
from ...operations.exponentials import exp, log, log1p, sqrt
from ...operations.formula_operations import emit_formula
from ...operations.operand_checks import broadcast_shape, require_kind, require_one_dtype
from ...operations.operand_values import (
    PYTHON_SCALAR_TYPES,
    as_float,
    dtype_of,
    match,
    shape_of,
    typed_scalar,
)
from ...operations.selection import select
from ...operations.shapes import full
from ...operations.special import erfc, lgamma
from ...operations.tangent_arithmetic import broadcast_to_result, neg
from ...trace.bind import bind1
from .factors import epsilon, half_of_sum, iterate_while, log_beta_factor, log_of_power, log_of_powers_by_mode

#: Deviation from the mode up to which differences of fractions are computed by a series.
_MAX_SERIES_DEVIATION = 0.5


def betainc_formula(a: Any, b: Any, x: Any) -> Any:
    """Return I_x(a, b) as operations on arrays of one shape and dtype.

    It has its limits where a or b is 0 or infinite, and is NaN outside its domain.
    """
    inside = (a > 0.0) & (b > 0.0) & (a < np.inf) & (b < np.inf) & (x > 0.0) & (x < 1.0)
    ones = to_dtype(inside, x.dtype) * 0.0 + 1.0
    p, q, v = select(inside, a, ones), select(inside, b, ones), select(inside, x, ones * 0.5)
    result = _betainc_inside(p, q, v, inside)
    result = select(inside, result, ones * np.nan)
    positive = (a >= 0.0) & (b >= 0.0) & ((a > 0.0) | (b > 0.0)) & ((a < np.inf) | (b < np.inf))
    within = (x >= 0.0) & (x <= 1.0)
    at_a, at_b = (a == 0.0) | (b == np.inf), (b == 0.0) | (a == np.inf)
    edges = ((at_a, ones), (at_b, ones * 0.0), (x == 0.0, ones * 0.0), (x == 1.0, ones))
    for edge, value in edges:  # the ends of the interval last: their values hold for all a and b
        result = select(edge & positive & within, value, result)
    return result


def _betainc_inside(a: Any, b: Any, x: Any, active: Any) -> Any:
    """Return I_x(a, b) inside of its domain; elements with ``active`` false are not iterated."""
    limit = epsilon(a) ** -0.5  # from where on the expansion is exact to rounding
    are_large = (a > limit) & (b > limit)
    ones, y = a * 0.0 + 1.0, 1.0 - x
    p, q = select(are_large, ones, a), select(are_large, ones, b)
    is_reflected = x > (p + 1.0) / (p + q + 2.0)
    p, q = select(is_reflected, q, p), select(is_reflected, p, q)
    v, w = select(is_reflected, y, x), select(is_reflected, x, y)
    result = exp(log_beta_factor(p, q, v, w)) * _continued_fraction(p, q, v, w, active & ~are_large)
    result = select(result > 1.0, ones, result)  # by rounding: the complement would be negative
    result = select(is_reflected, 1.0 - result, result)
    of_large = _betainc_of_large(select(are_large, a, ones * limit), select(are_large, b, ones * limit), x, y)
    return select(are_large, of_large, result)


def _betainc_of_large(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Return I_x(a, b) for large a and b by the first term of Temme's expansion; y is 1 - x.

    With r = a + b and the deviation z = (x - a/r)/√(ab/r³), x^a y^b is e^(-s²) times its maximum, and s is nearly z/√2.
    I_x is erfc(-s)/2 - e^(-s²)/√(2π) (1/z - 1/(√2 s)).
    """
    spread = sqrt(0.5 * a / half_of_sum(a, b)) * sqrt(b)
    distance = x * b - a * y
    z = distance / spread
    power = log_of_powers_by_mode(a, b, x, y)
    s = sqrt(-power) * select(z < 0.0, z * 0.0 - 1.0, z * 0.0 + 1.0)
    # Near the mode both fractions are infinite; there 2s² = z² (1 + z g + …).
    m, n = spread / a, spread / b
    g = 0.5 * z * (m * m - m * n + n * n) - (2 / 3) * (m - n)
    near = abs(z) < _MAX_SERIES_DEVIATION
    far_z, far_s = select(near, z * 0.0 + 1.0, z), select(near, z * 0.0 + 1.0, s)
    difference = select(near, g * (0.5 - 0.375 * z * g), 1.0 / far_z - math.sqrt(0.5) / far_s)
    return 0.5 * erfc(-s) - exp(power) / math.sqrt(2 * math.pi) * difference


def _continued_fraction(a: Any, b: Any, x: Any, y: Any, active: Any) -> Any:
    """Return the continued fraction h of I_x(a, b), see the module; elements with ``active`` false are not iterated.

    ``y`` is 1 - x. The terms are those of A. R. DiDonato and A. H. Morris (ACM TOMS 18, 1992), formula 9: where x is
    nearly 1, they do not lose the digits of y.
    """
    near, tiny = epsilon(a), 1e-30
    excess = a * y - b * x
    scale = abs(excess) + 1.0  # the terms are divided by it, lest the inverse of large ones underflows
    excess = (excess + 1.0) / scale

    def nonzero(v: Any) -> Any:
        return select(abs(v) < tiny, v * 0.0 + tiny, v)

    def step(n: Any, active: Any, c: Any, d: Any, h: Any) -> tuple[Any, ...]:
        between = a + 2.0 * n - 1.0
        product, part = n * ((b - n) / scale * x), n / scale
        # quotients, since products of large numbers overflow
        numerator = (a + n - 1.0) / between * ((a + b + n - 1.0) / between * x) * (product / scale)
        term = part + product / between + (a + n) / (between + 2.0) * (excess + part * (1.0 + y))
        d = 1.0 / nonzero(term + numerator * d)
        c = nonzero(term + numerator / c)
        continues = abs(c * d - 1.0) > near
        return active & continues, c, d, select(active, h * (c * d), h)

    start = nonzero(a / (a + 1.0) * excess)
    return 1.0 / iterate_while((active, start, start * 0.0, start), step)[3] / scale


def _density(a: Any, b: Any, x: Any) -> Any:
    """Return x^(a - 1) (1 - x)^(b - 1) / B(a, b), inside of its domain without cancellation."""
    above, below = ((a, 0.0), (b, 0.0), (x, 0.0)), ((a, np.inf), (b, np.inf), (x, 1.0))
    inside = functools.reduce(bitwise_and, [gt(*pair) for pair in above] + [lt(*pair) for pair in below])
    half = full(shape_of(x), typed_scalar(0.5, dtype_of(x)))
    p, q, v = select(inside, a, half), select(inside, b, half), select(inside, x, half)
    by_ratio = log_beta_factor(p, q, v, 1.0 - v) - log(v) - log1p(-v)
    logarithm = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    powers = add(log_of_power(sub(b, 1.0), log1p(neg(x))), log_of_power(sub(a, 1.0), log(x)))
    return exp(select(inside, by_ratio, sub(powers, logarithm)))


class RegularizedIncompleteBeta(Operation, name="regularized_incomplete_beta"):
    """Operation that computes I_x(a, b); its derivative in x is x^(a - 1) (1 - x)^(b - 1) / B(a, b)."""

    sharding_rule = sharding_rules.elementwise

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        a, b, x = operands
        for operand in (b, x):
            require_one_dtype(self.name, a, operand)
        require_kind(self.name, a.dtype, "f")
        shape = broadcast_shape(self.name, broadcast_shape(self.name, a.shape, b.shape), x.shape)
        return [make_aval(shape, a.dtype, a.weak_type and b.weak_type and x.weak_type)]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return emit_formula(builder, betainc_formula, operands, double=True)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (a, b, x), (ta, tb, t) = primals, tangents
        y = bind1(self, a, b, x)
        if ta is not ZERO or tb is not ZERO:
            raise NotImplementedError(
                "the derivative of betainc in its first two arguments; take those for constants (stop_gradient)"
            )
        if t is ZERO:
            return [y], [ZERO]
        density = _density(*(broadcast_to_result(operand, y) for operand in (a, b, x)))
        return [y], [mul(broadcast_to_result(t, y), density)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *align(operands, axes))], [0]


def betainc(a: Any, b: Any, x: Any) -> Any:
    """Return the regularized incomplete beta function I_x(a, b), elementwise.

    It can be differentiated with respect to ``x``; derivatives with respect to ``a`` and ``b`` raise
    NotImplementedError.

    >>> from xlascope import lax
    >>> print(f"{lax.betainc(2.0, 3.0, 0.4):.4f}")
    0.5248
    """
    operands = [as_float(operand) for operand in (a, b, x)]
    array_operand = next((operand for operand in operands if operand.__class__ not in PYTHON_SCALAR_TYPES), None)
    if array_operand is not None:
        operands = [match(operand, array_operand)[0] for operand in operands]
    return bind1(RegularizedIncompleteBeta.instance, *operands)
