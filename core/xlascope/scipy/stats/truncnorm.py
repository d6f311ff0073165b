"""Normal distribution truncated to the interval from a to b, in units of z = (x - loc) / scale.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import machine_epsilon, promote_args_inexact
from ..special.gaussian import log_ndtr, ndtr
from . import norm
from .distribution_utils import log1mexp


def _nan_unless_ordered(a: Any, b: Any, value: Any) -> Any:
    return jnp.where(b > a, value, math.nan)


def _log_mass(a: Any, b: Any) -> Any:
    """Return the logarithm of the normal probability between a and b, computed in the tail that contains both."""
    right = a > 0
    low, high = jnp.where(right, -b, a), jnp.where(right, -a, b)
    tail = high <= 0
    near = jnp.where(tail, high, -1)
    far = jnp.where(tail, low, -2)
    same, far_is_infinite = far >= near, far == -math.inf
    log_high, log_low = log_ndtr(near), log_ndtr(jnp.where(same | far_is_infinite, near - 1, far))
    empty = same | (log_high == -math.inf)
    difference = log_low - jnp.where(empty, 0, log_high)
    log_correction = jnp.where(far_is_infinite, 0, log1mexp(jnp.where(empty, -1, difference)))
    in_tail = jnp.where(empty, -math.inf, log_high + log_correction)
    two_sided = jnp.log1p(-ndtr(jnp.where(tail, -1, low)) - ndtr(jnp.where(tail, -1, -high)))
    return jnp.where(tail, in_tail, two_sided)


def _narrow_interval_mass(low: Any, high: Any) -> tuple[Any, Any]:
    """Return a mask of intervals that 8 quadrature nodes integrate accurately, and their normal probabilities.

    A difference of tails would lose precision there. The error of Gauss-Legendre quadrature is w¹⁷ (8!)⁴ / (17 (16!)³)
    times the 16th derivative, for the width w: 10⁻¹⁷ of the integral where w max(1, |low|) is below 1.
    """
    near = (high - low) * jnp.maximum(1, jnp.abs(low)) < 1
    width, middle = jnp.where(near, high - low, 0), jnp.where(near, (low + high) / 2, 0)
    total: Any = 0
    for node, weight in zip(*np.polynomial.legendre.leggauss(8), strict=True):
        total = total + float(weight) * jnp.exp(-jnp.square(middle + width * float(node / 2)) / 2)
    return near, width * total / (2 * math.sqrt(2 * math.pi))


def _mass(a: Any, b: Any) -> Any:
    """Return the normal probability between a and b, computed in the tail that contains both."""
    right = a > 0
    low, high = jnp.where(right, -b, a), jnp.where(right, -a, b)
    near, small = _narrow_interval_mass(low, high)
    return jnp.where(near, small, jnp.where(high <= 0, ndtr(high) - ndtr(low), 1 - ndtr(low) - ndtr(-high)))


def _min_accurate_number(dtype: Any) -> float:
    """Return the smallest number that, even multiplied by epsilon, is a normal number of the dtype."""
    return float(ml_dtypes.finfo(dtype).tiny) / machine_epsilon(dtype)  # type: ignore[no-untyped-call]


def _mass_fraction(a: Any, b: Any, low: Any, high: Any) -> Any:
    """Return the fraction of the normal probability between low and high that lies between a and b.

    It is a quotient where the tails do not underflow: a difference of their logarithms, which are large compared with
    their precision, would be less accurate. Further out only logarithms are available.
    """
    total_mass = _mass(low, high)
    is_accurate = total_mass > _min_accurate_number(total_mass.dtype)
    quotient = _mass(a, b) / jnp.where(is_accurate, total_mass, 1)
    return jnp.where(is_accurate, quotient, jnp.exp(_log_mass(a, b) - _log_mass(low, high)))


def _log_mass_fraction(a: Any, b: Any, low: Any, high: Any, complement: Any) -> Any:
    """Return the logarithm of :func:`_mass_fraction`.

    It is computed from ``complement``, one minus the fraction, where that is below 1/2.
    """
    fraction, is_most = _mass_fraction(a, b, low, high), complement < 0.5
    is_accurate = fraction > _min_accurate_number(fraction.dtype)
    logarithm = jnp.log(jnp.where(is_accurate, fraction, 1))
    smaller = jnp.where(is_accurate, logarithm, _log_mass(a, b) - _log_mass(low, high))
    return jnp.where(is_most, jnp.log1p(-jnp.where(is_most, complement, 0)), smaller)


@jit_wrapped()
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function, -inf outside of the interval."""
    x, a, b, loc, scale = promote_args_inexact(x, a, b, loc, scale)
    z = (x - loc) / scale
    result = norm.logpdf(z) - _log_mass(a, b) - jnp.log(scale)
    return _nan_unless_ordered(a, b, jnp.where((z < a) | (z > b), -math.inf, result))


@jit_wrapped()
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function, 0 outside of the interval."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


@jit_wrapped()
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`cdf`."""
    x, a, b, loc, scale = promote_args_inexact(x, a, b, loc, scale)
    z = (x - loc) / scale
    inside = jnp.clip(z, a, b)
    result = _log_mass_fraction(a, inside, a, b, complement=_mass_fraction(inside, b, a, b))
    return _nan_unless_ordered(a, b, jnp.where(z <= a, -math.inf, jnp.where(z >= b, 0.0, result)))


@jit_wrapped()
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x).

    >>> from xlascope.scipy.stats import truncnorm
    >>> print(f"{truncnorm.cdf(0.5, 0.0, 1.0):.4f}")
    0.5609
    """
    x, a, b, loc, scale = promote_args_inexact(x, a, b, loc, scale)
    z = (x - loc) / scale
    result = _mass_fraction(a, jnp.clip(z, a, b), a, b)
    return _nan_unless_ordered(a, b, jnp.where(z <= a, 0.0, jnp.where(z >= b, 1.0, result)))


@jit_wrapped()
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`sf`."""
    x, a, b, loc, scale = promote_args_inexact(x, a, b, loc, scale)
    z = (x - loc) / scale
    inside = jnp.clip(z, a, b)
    result = _log_mass_fraction(inside, b, a, b, complement=_mass_fraction(a, inside, a, b))
    return _nan_unless_ordered(a, b, jnp.where(z <= a, 0.0, jnp.where(z >= b, -math.inf, result)))


@jit_wrapped()
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function, P(X > x)."""
    x, a, b, loc, scale = promote_args_inexact(x, a, b, loc, scale)
    z = (x - loc) / scale
    result = _mass_fraction(jnp.clip(z, a, b), b, a, b)
    return _nan_unless_ordered(a, b, jnp.where(z <= a, 1.0, jnp.where(z >= b, 0.0, result)))
