"""Leading factors of the incomplete gamma and beta functions, computed without cancellation.

After C. Loader, Fast and accurate computation of binomial probabilities (2000), and N. Temme, Numerical
methods for special functions (2007), chapter 8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dtypes import finfo
from ...operations.arithmetic import abs, mul
from ...operations.comparisons import eq
from ...operations.conversion import to_dtype
from ...operations.exponentials import exp, log, log1p, pow
from ...operations.operand_values import dtype_of, shape_of
from ...operations.reductions import reduce_or
from ...operations.selection import select
from ...operations.special import lgamma
from ..flow.loop_api import while_loop

#: Smallest argument for which Stirling's series is exact to double precision.
MIN_STIRLING_ARGUMENT = 10.0
_STIRLING_COEFFICIENTS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
#: Largest x for which e^-x does not underflow in single precision.
_MAX_FLOAT32_EXPONENT = 80.0
#: Maximum number of steps of a loop that does not converge.
_MAX_STEPS = 200_000


def epsilon(x: Any) -> float:
    """Return the machine epsilon of a value's dtype."""
    return float(finfo(dtype_of(x)).eps)


def horner(x: Any, coefficients: Sequence[float]) -> Any:
    """Return the polynomial in ``x`` with these coefficients, the lowest power's first, by Horner's scheme."""
    value = x * 0.0 + coefficients[-1]
    for c in reversed(coefficients[:-1]):
        value = value * x + c
    return value


def log1p_minus(u: Any, ratio: Any) -> Any:
    """Return log(1 + u) - u without cancellation for small u; ``ratio`` is 1 + u, and both have to be exact.

    With r = u/(2 + u), log(1 + u) = 2 (r + r³/3 + r⁵/5 + …), and 2r - u = -u r.
    """
    near = abs(u) < 0.5
    v = select(near, u, u * 0.0)
    r = v / (v + 2.0)
    series = horner(r * r, [1 / (2 * k + 3) for k in range(18)])
    return select(near, 2.0 * r * r * r * series - v * r, log(ratio) - u)


def log_of_power(exponent: Any, logarithm: Any) -> Any:
    """Return the logarithm of a power, exponent · log(base): 0 for the exponent 0, also of an infinite logarithm."""
    is_zero = eq(exponent, 0.0)
    return select(is_zero, mul(exponent, 0.0), mul(exponent, select(is_zero, mul(exponent, 0.0), logarithm)))


def stirling_correction(a: Any) -> Any:
    """Return lgamma(a) - ((a - 1/2) log(a) - a + log(2π)/2) for large a (Abramowitz and Stegun, 6.1.40)."""
    inverse = 1.0 / a
    return inverse * horner(inverse * inverse, _STIRLING_COEFFICIENTS)


def log_gamma_factor(a: Any, x: Any) -> Any:
    """Return log(x^a e^-x / Γ(a + 1))."""
    large = a > MIN_STIRLING_ARGUMENT
    by_ratio = log_gamma_factor_of_large(select(large, a, a * 0.0 + MIN_STIRLING_ARGUMENT), x)
    return select(large, by_ratio, a * log(x) - x - lgamma(a + 1.0))


def log_gamma_factor_of_large(a: Any, x: Any) -> Any:
    """Return :func:`log_gamma_factor` for a ≥ MIN_STIRLING_ARGUMENT."""
    return a * log1p_minus((x - a) / a, x / a) - stirling_correction(a) - 0.5 * log(2 * math.pi * a)


def gamma_factor(a: Any, x: Any) -> Any:
    """Return x^a e^-x / Γ(a + 1).

    For small a it is computed by the power itself, since the logarithm of a small x loses digits.
    """
    direct = (a <= MIN_STIRLING_ARGUMENT) & (x < _MAX_FLOAT32_EXPONENT)
    b, y = select(direct, a, a * 0.0 + 1.0), select(direct, x, x * 0.0 + 1.0)
    return select(direct, pow(y, b) * exp(-y - lgamma(b + 1.0)), exp(log_gamma_factor(a, x)))


def log_beta_factor(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Return log(x^a y^b / B(a, b)), where y is 1 - x.

    Both are operands, because the difference to 1 of the larger one may be less than its rounding error.
    """
    are_large = (a > MIN_STIRLING_ARGUMENT) & (b > MIN_STIRLING_ARGUMENT)
    p, q = (select(are_large, operand, operand * 0.0 + MIN_STIRLING_ARGUMENT) for operand in (a, b))
    by_ratio = log_beta_factor_of_large(p, q, x, y)
    less, more = select(a < b, a, b), select(a < b, b, a)
    is_large = more > MIN_STIRLING_ARGUMENT
    m = select(is_large, more, more * 0.0 + MIN_STIRLING_ARGUMENT)
    growth = (
        (m - 0.5) * log1p(less / m)
        + less * log(m + less)
        - less
        + stirling_correction(m + less)
        - stirling_correction(m)
    )
    growth = select(is_large, growth, lgamma(a + b) - lgamma(more))
    powers = a * select(x < 0.5, log(x), log1p(-y)) + b * select(y < 0.5, log(y), log1p(-x))
    return select(are_large, by_ratio, powers + growth - lgamma(less))


def log_beta_factor_of_large(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Return :func:`log_beta_factor` for a ≥ MIN_STIRLING_ARGUMENT and b ≥ MIN_STIRLING_ARGUMENT."""
    stirling = stirling_correction(a + b) - stirling_correction(a) - stirling_correction(b)
    square = a / half_of_sum(a, b) * (b / (4 * math.pi))
    return log_of_powers_by_mode(a, b, x, y) + stirling + 0.5 * log(square)


def log_of_powers_by_mode(a: Any, b: Any, x: Any, y: Any) -> Any:
    """Return the logarithm of x^a y^b divided by its maximum, which is at x = a/(a + b); y is 1 - x.

    Its two terms are negative, so that they do not cancel.
    """
    distance, half_total = x * b - a * y, half_of_sum(a, b)
    of_x = a * log1p_minus(distance / a, x * (half_total / (0.5 * a)))
    return of_x + b * log1p_minus(-distance / b, y * (half_total / (0.5 * b)))


def half_of_sum(a: Any, b: Any) -> Any:
    """Return (a + b)/2 of positive numbers, whose sum may overflow; XLA makes a product of that of a/2 + b/2."""
    return b + 0.5 * (a - b)


def iterate_while(start: tuple[Any, ...], step: Callable[..., tuple[Any, ...]]) -> tuple[Any, ...]:
    """Iterate ``values = step(n, *values)`` for n = 1, 2, … from ``start``, and return the final values.

    The first value is a boolean array: the iteration ends when none of its elements is true, or after a maximum
    number of iterations.
    """
    axes = tuple(range(len(shape_of(start[0]))))

    def is_any_active(state: tuple[Any, ...]) -> Any:
        count, active = state[:2]
        return reduce_or(active, axes) & (count < _MAX_STEPS)

    def body(state: tuple[Any, ...]) -> tuple[Any, ...]:
        count = state[0] + 1
        return count, *step(to_dtype(count, dtype_of(state[2])), *state[1:])

    final_state: tuple[Any, ...] = while_loop(is_any_active, body, (np.int32(0), *start))
    return final_state[1:]
