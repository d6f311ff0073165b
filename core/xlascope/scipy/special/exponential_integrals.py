"""The exponential, sine and cosine integrals.

Near 0 the smooth remainder beside the logarithm is approximated: E1(x) + log(x); and for Ei and Ci, which
have a zero there, (Ei(x) - log(x/x0))/(x - x0), after W. J. Cody and H. C. Thacher, Mathematics of
Computation 23, 1969, so that they are accurate near the zero too. Further out x e^x E1(x) and its analogues
are approximated in 1/x. The derivatives are the integrands.
"""

from __future__ import annotations

import math
from typing import Any

from ...control.flow.loop_api import scan
from ...control.rules.custom_jvp import custom_jvp
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.logic import where
from ...numpy.shaping import broadcast_arrays
from ...operations.arithmetic import abs
from ...operations.barriers import stop_gradient
from ...operations.exponentials import exp, log, log1p
from ...operations.rounding import floor
from ...operations.special import digamma, lgamma
from ...operations.trigonometry import cos, sin
from . import chebyshev_integrals as fits
from .numerics import (
    evaluate_at_least_float32,
    evaluate_chebyshev_on,
    evaluate_in_double,
    promote_real_args,
    where_or_safe,
)

#: The zero of Ei and the first zero of Ci, each as a single-precision number and a remainder.
_EI_ZERO = 0.3725074231624603, -1.23810936926864456e-08
_CI_FIRST_ZERO = 0.61650550365448, -1.80337637466716396e-08
#: The second zero of Ci.
_CI_SECOND_ZERO = 3.3841803073883057, 1.1516288076233536e-07


def _subtract_split(v: Any, zero: tuple[float, float]) -> Any:
    """Return a positive v minus a number that is given as a pair: its single-precision value and a remainder.

    The ``where`` between the differences prevents compilers from merging them.
    """
    return where(v > 0, v - zero[0], math.nan) - zero[1]


@jit_wrapped()
def exp1(x: Any) -> Any:
    """Return the exponential integral E1(x) = ∫ e^-t/t dt from ``x`` to infinity.

    It is infinite at 0 and NaN for negative ``x``. The result has the shape of ``x`` and its floating-point
    dtype. Raises ValueError for complex numbers (Abramowitz and Stegun, 5.1).

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.exp1(1.0):.5f}")
    0.21938
    """
    return evaluate_at_least_float32(_exp1, *promote_real_args("exp1", x))


@custom_jvp
def _exp1(x: Any) -> Any:
    small = evaluate_chebyshev_on(x, 0.0, 1.0, fits.E1_SMALL) - log(where_or_safe(x, x <= 1, 1.0))
    u = 1 / where_or_safe(x, x > 1, 1.0)
    scaled = where(
        u > 0.25,
        evaluate_chebyshev_on(u, 0.25, 1.0, fits.E1_MIDDLE),
        1 + u * evaluate_chebyshev_on(u, 0.0, 0.25, fits.E1_LARGE),
    )
    result = where(x <= 1, small, exp(-x) * u * scaled)
    return where(x >= 0, result, math.nan)


@_exp1.defjvp
def _exp1_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _exp1(x), t * (-exp(-x) / x)


@jit_wrapped()
def expn(n: Any, x: Any) -> Any:
    """Return the exponential integral E_n(x) = ∫ e^(-xt)/t^n dt from 1 to infinity, for n ≥ 0 and x ≥ 0.

    It is NaN elsewhere. The result has the shape to which ``n`` and ``x`` broadcast, in their floating-point
    dtype. Raises ValueError for complex numbers. ``n`` is a constant: the derivative is that in ``x``,
    -E_(n-1)(x). Up to 1 it is a series, beyond a continued fraction (Abramowitz and Stegun, 5.1.12 and 5.1.22).
    It is meant for integer ``n``; between them, precision is lost where ``x`` is below 1 and ``n`` is nearly an
    integer.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.expn(2, 1.0):.5f}")
    0.14850
    """
    order, y = broadcast_arrays(*promote_real_args("expn", n, x))
    return evaluate_at_least_float32(_expn, stop_gradient(order), y)


@custom_jvp
def _expn(n: Any, x: Any) -> Any:
    (result,) = evaluate_in_double(_expn_formula, n, x)
    return result


def _expn_formula(n: Any, x: Any, small: float) -> Any:
    valid = (n > 0) & (x > 0) & (x < math.inf) & (n < math.inf)
    n_safe, v = where(valid, n, 2.0), where(valid, x, 2.0)
    near = v <= 1
    series = _expn_series(where(near, n_safe, 2.0), where(near, v, 1.0))
    fraction = exp(-v) * _expn_fraction(n_safe, where(near, 2.0, v), small)
    first = _exp1(v)
    result = where(near, _expn_recurrence(n_safe, v, first, series), fraction)
    result = where(n_safe == 1, first, result)
    at_zero = where(n > 1, 1 / where(n > 1, n - 1, 1.0), math.inf)
    at_infinity = where((x == math.inf) & (n >= 0) | (n == math.inf) & (x >= 0), 0.0, math.nan)
    edge = where((x == 0) & (n >= 0), at_zero, at_infinity)
    is_order_zero = (n == 0) & (x > 0)
    outside = where(is_order_zero, exp(-x) / where(is_order_zero, x, 1.0), edge)
    return where(valid, result, outside)


#: Up to this integer order the recurrence from E_1 is used, since the terms of the series cancel near x = 1.
_MAX_RECURRENCE_ORDER = 6


def _expn_recurrence(n: Any, x: Any, first: Any, between: Any) -> Any:
    """Return E_n(x) for small integers n, by the recurrence E_(n+1)(x) = (e^-x - x E_n(x))/n (5.1.14).

    ``first`` is E_1(x); for other n the result is ``between``.
    """
    result, value, power = between, first, exp(-x)
    for k in range(1, _MAX_RECURRENCE_ORDER):
        value = (power - x * value) / k
        result = where(n == k + 1, value, result)
    return result


def _expn_series(n: Any, x: Any) -> Any:
    """Return E_n(x) for 0 < x ≤ 1, by its series -Σ (-x)^m/((m - n + 1) m!).

    For integer n the term m = n - 1 is replaced by one with a logarithm.
    """
    is_integer = n == floor(n)
    total = x * 0
    for m in reversed(range(22)):
        gap = m + 1 - n
        total = where(gap == 0, 0.0, 1 / where(gap == 0, 1.0, gap)) * (1 / math.factorial(m)) - x * total
    order = where(n < 30, n, 30.0)
    power = exp((order - 1) * log(x) - lgamma(order))
    alternating = where(order / 2 == floor(order / 2), -1.0, 1.0)
    # between integers Γ(1 - n) x^(n - 1) = π x^(n - 1)/(sin(π n) Γ(n))
    between = math.pi / where(is_integer, 1.0, sin(math.pi * (order - 2 * floor(order / 2))))
    return where(is_integer, alternating * (digamma(order) - log(x)), between) * power - total


def _expn_fraction(n: Any, x: Any, small: float) -> Any:
    """Return e^x E_n(x) for x ≥ 1, by its continued fraction.

    That is 1/(x + n - n/(x + n + 2 - 2 (n + 1)/(x + n + 4 - …))), evaluated backwards; ``small`` is the relative error
    that it may leave.
    """
    count = 50 if small > 1e-14 else 110

    def step(state: tuple[Any, Any], _: None) -> tuple[Any, None]:
        below, k = state
        return (x + n + 2 * (k - 1) - k * (n + k - 1) / below, k - 1), None

    (denominator, _), _ = scan(step, (x + n + 2 * count, x * 0 + count), None, length=count)
    return 1 / denominator


@_expn.defjvp
def _expn_jvp(primals: Any, tangents: Any) -> Any:
    (n, x), (_, t) = primals, tangents
    below = where(n >= 1, _expn(where(n >= 1, n - 1, 1.0), x), exp(-x) * (1 / x + 1 / (x * x)))
    return _expn(n, x), t * -below


@jit_wrapped()
def expi(x: Any) -> Any:
    """Return the exponential integral Ei(x) = ∫ e^t/t dt from -infinity to ``x``, the principal value.

    It is -infinite at 0. The result has the shape of ``x`` and its floating-point dtype. Raises ValueError for
    complex numbers.

    >>> import xlascope.scipy.special as sp
    >>> print(f"{sp.expi(1.0):.5f}")
    1.89512
    """
    return evaluate_at_least_float32(_expi, *promote_real_args("expi", x))


@custom_jvp
def _expi(x: Any) -> Any:
    v = where_or_safe(x, (x > 0) & (x <= 6), 1.0)
    distance = _subtract_split(v, _EI_ZERO)
    near = abs(distance) < 0.1
    logarithm = where(near, log1p(where_or_safe(distance, near, 0.0) / sum(_EI_ZERO)), log(v / sum(_EI_ZERO)))
    small = logarithm + distance * exp(v / 2) * evaluate_chebyshev_on(v, 0.0, 6.0, fits.EI_SMALL)
    u = 1 / where_or_safe(x, x > 6, 6.0)
    high = where(
        u > 1 / 24,
        evaluate_chebyshev_on(u, 1 / 24, 1 / 12, fits.EI_HIGH),
        1 + u * evaluate_chebyshev_on(u, 0.0, 1 / 24, fits.EI_LARGE),
    )
    scaled = where(u > 1 / 12, evaluate_chebyshev_on(u, 1 / 12, 1 / 6, fits.EI_MIDDLE), high)
    # e^x in two factors, where e^x overflows and e^x/x does not
    half = where(x > 80, x / 2, 0.0)
    large = where(x > 1000, math.inf, exp(x - half) * u * scaled * exp(half))
    result = where(x > 6, large, where(x > 0, small, -_exp1(-x)))
    return where(x == x, where(x == 0, -math.inf, result), x)


@_expi.defjvp
def _expi_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    growth = exp(x / 2)  # e^x in two factors, where e^x overflows and e^x/x does not
    return _expi(x), t * (growth / x * growth)


@jit_wrapped()
def sici(x: Any) -> tuple[Any, Any]:
    """Return the sine integral ∫ sin(t)/t dt from 0 to ``x``, and the cosine integral.

    The cosine integral is γ + log(x) + ∫ (cos(t) - 1)/t dt. Both have the shape of ``x`` and its floating-point
    dtype. For negative ``x`` the second is the real part of the cosine integral, that of -x. Raises ValueError
    for complex numbers (Abramowitz and Stegun, 5.2).

    >>> import xlascope.scipy.special as sp
    >>> print("{:.5f} {:.5f}".format(*sp.sici(1.0)))
    0.94608 0.33740
    """
    sine, cosine = evaluate_at_least_float32(_sici, *promote_real_args("sici", x))
    return sine, cosine


@custom_jvp
def _sici(x: Any) -> Any:
    sine, cosine = evaluate_in_double(_sici_formula, x, results=2)
    return sine, cosine


def _sici_formula(x: Any, small: float) -> Any:
    size = abs(x)
    v = where_or_safe(size, size <= 4, 4.0)
    square = v * v
    si = v * evaluate_chebyshev_on(square, 0.0, 16.0, fits.SI_SMALL)
    distance = _subtract_split(v, _CI_FIRST_ZERO)
    near = abs(distance) < 0.2
    logarithm = where(
        near, log1p(where_or_safe(distance, near, 0.0) / sum(_CI_FIRST_ZERO)), log(v / sum(_CI_FIRST_ZERO))
    )
    ci = logarithm + distance * (v + sum(_CI_FIRST_ZERO)) * evaluate_chebyshev_on(square, 0.0, 16.0, fits.CI_SMALL)
    second = _subtract_split(v, _CI_SECOND_ZERO) * evaluate_chebyshev_on(v, 2.5, 4.0, fits.CI_SECOND)
    ci = where(v > 2.5, second, ci)
    u = 1 / where_or_safe(size, size > 4, 4.0)
    w = u * u
    f = u * where(
        w > 1 / 64,
        evaluate_chebyshev_on(w, 1 / 64, 1 / 16, fits.F_MIDDLE),
        1 + w * evaluate_chebyshev_on(w, 0.0, 1 / 64, fits.F_LARGE),
    )
    g = w * where(
        w > 1 / 64,
        evaluate_chebyshev_on(w, 1 / 64, 1 / 16, fits.G_MIDDLE),
        1 + w * evaluate_chebyshev_on(w, 0.0, 1 / 64, fits.G_LARGE),
    )
    angle = where_or_safe(size, (size > 4) & (size < math.inf), 4.0)
    c, s = cos(angle), sin(angle)
    far_si, far_ci = math.pi / 2 - (f * c + g * s), f * s - g * c
    si, ci = where(size > 4, far_si, si), where(size > 4, far_ci, ci)
    ci = where(x == -math.inf, math.nan, where(size == 0, -math.inf, where(x == math.inf, 0.0, ci)))
    return where(x == x, where(x < 0, -si, where(x == 0, x, si)), x), where(x == x, ci, x)


@_sici.defjvp
def _sici_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    safe = where(x == 0, 1.0, x)
    return _sici(x), (t * where(x == 0, 1.0, sin(safe) / safe), t * (cos(x) / x))
