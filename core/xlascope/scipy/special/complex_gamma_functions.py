"""Gamma function of complex numbers, its principal logarithm, and the derivatives of the logarithm.

The logarithm is Stirling's series (DLMF 5.11.1), reached from near the origin by the recurrence Γ(z + 1) = z
Γ(z); the power series at 1 (DLMF 5.7.3) around its zeros 1 and 2; and left of 1/2, near the real axis, the
reflection formula (DLMF 5.5.3), written so that each of its terms is analytic in the upper half plane. The
branch is then the principal one, after D. E. G. Hare, Computing the principal branch of log-Gamma (Journal of
Algorithms 25, 1997). In the lower half plane it is the conjugate of that. Everything is computed in double
precision.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...api import jvp
from ...control.rules.custom_jvp import custom_jvp
from ...control.special.factors import horner
from ...control.special.gamma import LOG_GAMMA_AT_ONE
from ...numpy.logic import signbit, where
from ...operations.arithmetic import abs
from ...operations.complex_numbers import complex as complex_of
from ...operations.complex_numbers import conj, imag
from ...operations.complex_numbers import real as real_part
from ...operations.exponentials import exp, expm1, log, log1p
from ...operations.rounding import floor
from ...operations.trigonometry import atan2
from .numerics import evaluate_in_double

#: Stirling's series is accurate in double precision where the real or imaginary part is at least this large.
_STIRLING_THRESHOLD = 8
#: Exponentials of smaller numbers underflow to 0 in double precision.
_LOG_UNDERFLOW = -750.0
#: B_2k/(2k (2k - 1)) for k = 1, 2, … with Bernoulli's numbers B.
_STIRLING_COEFFICIENTS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)


def complex_gamma(z: Any) -> Any:
    """Return the gamma function of an array of complex numbers."""
    return _gamma(z)


def complex_loggamma(z: Any) -> Any:
    """Return the principal logarithm of the gamma function of an array of complex numbers."""
    return _make_loggamma_derivative(0)(z)


def complex_digamma(z: Any) -> Any:
    """Return the derivative of :func:`complex_loggamma`."""
    return _make_loggamma_derivative(1)(z)


@custom_jvp
def _gamma(z: Any) -> Any:
    return complex_of(*evaluate_in_double(_gamma_formula, real_part(z), imag(z), results=2))


@_gamma.defjvp
def _gamma_jvp(primals: Any, tangents: Any) -> Any:
    (z,), (t,) = primals, tangents
    y = _gamma(z)
    return y, t * (y * complex_digamma(z))


def _gamma_formula(x: Any, y: Any, _: float) -> tuple[Any, Any]:
    inside = _is_regular(x, y)
    logarithm = _log_gamma(_replace_irregular(x, y, inside))
    vanishes = inside & (real_part(logarithm) < _LOG_UNDERFLOW) | (abs(y) == math.inf) & (abs(x) < math.inf)
    value = exp(where(vanishes, 0.0, logarithm))
    p, q = where(inside, real_part(value), math.nan), where(inside, where(y == 0, y, imag(value)), math.nan)
    p, q = where(vanishes, 0.0, p), where(vanishes, 0.0, q)
    at_end = (x == math.inf) & (y == 0)
    return where(at_end, math.inf, p), where(at_end, y, q)


@functools.lru_cache(maxsize=32)
def _make_loggamma_derivative(order: int) -> Callable[[Any], Any]:
    """Return the derivative of that order of the principal logarithm of the gamma function.

    It is a function of an array, whose own derivative is the next order.
    """

    def formula(x: Any, y: Any, _: float) -> tuple[Any, Any]:
        inside = _is_regular(x, y)
        value = _log_gamma_derivative(order)(_replace_irregular(x, y, inside))
        p, q = where(inside, real_part(value), math.nan), where(inside, imag(value), math.nan)
        return _LIMITS_BY_ORDER[order](x, y, p, q) if order < len(_LIMITS_BY_ORDER) else (p, q)

    @custom_jvp
    def loggamma(z: Any) -> Any:
        return complex_of(*evaluate_in_double(formula, real_part(z), imag(z), results=2))

    @loggamma.defjvp
    def loggamma_jvp(primals: Any, tangents: Any) -> Any:
        (z,), (t,) = primals, tangents
        return loggamma(z), t * _make_loggamma_derivative(order + 1)(z)

    return loggamma


def _log_gamma_derivative(order: int) -> Callable[[Any], Any]:
    if order == 0:
        return _log_gamma
    below = _log_gamma_derivative(order - 1)
    return lambda z: jvp(below, (z,), (z * 0 + 1,))[1]


def _is_regular(x: Any, y: Any) -> Any:
    """Return where x + iy is finite and not a pole of the gamma function."""
    pole = (y == 0) & (x <= 0) & (x == floor(x))
    return (abs(x) < math.inf) & (abs(y) < math.inf) & ~pole


def _replace_irregular(x: Any, y: Any, inside: Any) -> Any:
    return complex_of(where(inside, x, 3.0), where(inside, y, 0.0))


def _apply_loggamma_limits(x: Any, y: Any, p: Any, q: Any) -> tuple[Any, Any]:
    """Return real and imaginary part of the logarithm, with its limits at infinity inserted.

    ``p`` and ``q`` are the parts at z = x + iy. Limits exist along the positive real axis and parallel to the imaginary
    axis.
    """
    right = (x == math.inf) & (abs(y) < math.inf)
    upward = (abs(y) == math.inf) & (abs(x) < math.inf)
    p = where(right, math.inf, where(upward, -math.inf, p))
    imaginary_limit = where(y == 0, y, where(y > 0, math.inf, -math.inf))
    return p, where(right | upward, imaginary_limit, q)


def _apply_digamma_limits(x: Any, y: Any, p: Any, q: Any) -> tuple[Any, Any]:
    """Return real and imaginary part of digamma, with its limits at infinity inserted.

    ``p`` and ``q`` are the parts at z = x + iy. Away from the negative real axis the limits are those of log(z).
    """
    is_infinite = (x == math.inf) & (y == y) | (abs(y) == math.inf) & (abs(x) < math.inf)
    return where(is_infinite, math.inf, p), where(is_infinite, atan2(y, x), q)


#: Functions that insert limits at infinity, indexed by the order of the derivative.
_LIMITS_BY_ORDER = (_apply_loggamma_limits, _apply_digamma_limits)


def _log_gamma(z: Any) -> Any:
    """Return the principal logarithm of the gamma function at finite numbers that are not poles."""
    lower = signbit(imag(z))
    w = where(lower, conj(z), z)
    x, y = real_part(w), imag(w)
    reflected = (x < 0.5) & (y < _STIRLING_THRESHOLD)
    right_value = _log_gamma_upper_half(where(reflected, 1 - conj(w), w))
    left_value = _log_reflection_factor(where(reflected, w, 0.5)) - conj(right_value)
    value = where(reflected, left_value, right_value)
    return where(lower, conj(value), value)


def _log_reflection_factor(w: Any) -> Any:
    """Return log(π/sin(πw)) in the upper half plane.

    There log(sin(πw)) = -iπ(w - 1/2) - log(2) + log(1 - e^(2πiw)).
    """
    exp_minus_one = expm1(2j * math.pi * (w - floor(real_part(w) + 0.5)))
    return math.log(2 * math.pi) + 1j * math.pi * (w - 0.5) - log(-exp_minus_one)


def _log_gamma_upper_half(v: Any) -> Any:
    """Return the principal logarithm of the gamma function at ``v`` in the upper half plane.

    Real parts have to be at least 1/2, or imaginary parts large.
    """
    first, second = abs(v - 1) < 0.5, abs(v - 2) < 0.5
    a = where(first, v - 1, where(second, v - 2, 0.0))
    series = a * horner(a, LOG_GAMMA_AT_ONE) - log1p(where(first, a, 0.0))
    near = (real_part(v) < _STIRLING_THRESHOLD) & (imag(v) < _STIRLING_THRESHOLD)
    s = where(near, v, 1.0)
    far = where(near, s + _STIRLING_THRESHOLD, v)
    return where(first | second, series, _stirling_series(far) - where(near, _log_rising_factorial(s), 0.0))


def _log_rising_factorial(s: Any) -> Any:
    """Return the sum of log(s + k) for k = 0, …, 7, with s in the upper half plane.

    It is the logarithm of the product, corrected by 2πi for each time that the product crossed the branch cut.
    """
    product, windings = s, real_part(s) * 0
    for k in range(1, _STIRLING_THRESHOLD):
        before, product = imag(product), product * (s + k)
        windings = windings + where((before >= 0) & (imag(product) < 0), 1.0, 0.0)
    return log(product) + complex_of(windings * 0, 2 * math.pi * windings)


def _stirling_series(u: Any) -> Any:
    """Return the logarithm of the gamma function at large ``u``, by Stirling's series."""
    moderate = (abs(real_part(u)) < 1e100) & (abs(imag(u)) < 1e100)
    inverse = 1 / where(moderate, u, 1e100)
    return (
        (u - 0.5) * log(u)
        - u
        + 0.5 * math.log(2 * math.pi)
        + inverse * horner(inverse * inverse, _STIRLING_COEFFICIENTS)
    )
