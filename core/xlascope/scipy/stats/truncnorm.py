"""The normal distribution cut to the interval from a to b, in units of z = (x - loc) / scale.

``loc`` moves the distribution, ``scale`` stretches it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from ... import numpy as jnp
from ...numpy.together import together
from ..arguments import epsilon, floats
from ..special.gaussian import log_ndtr, ndtr
from . import norm
from .tails import log_one_minus_exp


def _known(a: Any, b: Any, found: Any) -> Any:
    return jnp.where(b > a, found, math.nan)


def _log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the probability between a and b, by the tail on whose side both are."""
    right = a > 0
    low, high = jnp.where(right, -b, a), jnp.where(right, -a, b)
    tail = high <= 0
    near = jnp.where(tail, high, -1)
    far = jnp.where(tail, low, -2)
    same, endless = far >= near, far == -math.inf
    log_high, log_low = log_ndtr(near), log_ndtr(jnp.where(same | endless, near - 1, far))
    empty = same | (log_high == -math.inf)
    difference = log_low - jnp.where(empty, 0, log_high)
    rest = jnp.where(endless, 0, log_one_minus_exp(jnp.where(empty, -1, difference)))
    in_tail = jnp.where(empty, -math.inf, log_high + rest)
    around = jnp.log1p(-ndtr(jnp.where(tail, -1, low)) - ndtr(jnp.where(tail, -1, -high)))
    return jnp.where(tail, in_tail, around)


def _narrow(low: Any, high: Any) -> tuple[Any, Any]:
    """Which intervals are so narrow that 8 places tell all digits of the density's integral; and that, for these.

    A difference of tails would lose digits. The rule of Gauss and Legendre is off by w¹⁷ (8!)⁴ / (17 (16!)³) times the
    16th derivative, for the width w: by 10⁻¹⁷ of the integral where w max(1, |low|) is below 1.
    """
    near = (high - low) * jnp.maximum(1, jnp.abs(low)) < 1
    width, middle = jnp.where(near, high - low, 0), jnp.where(near, (low + high) / 2, 0)
    total: Any = 0
    for node, weight in zip(*np.polynomial.legendre.leggauss(8), strict=True):
        total = total + float(weight) * jnp.exp(-jnp.square(middle + width * float(node / 2)) / 2)
    return near, width * total / (2 * math.sqrt(2 * math.pi))


def _mass(a: Any, b: Any) -> Any:
    """The probability between a and b, by the tail on whose side both are."""
    right = a > 0
    low, high = jnp.where(right, -b, a), jnp.where(right, -a, b)
    near, small = _narrow(low, high)
    return jnp.where(near, small, jnp.where(high <= 0, ndtr(high) - ndtr(low), 1 - ndtr(low) - ndtr(-high)))


def _least(dtype: Any) -> float:
    """Numbers above it have all digits of the dtype, and so has what is an epsilon of them."""
    return float(ml_dtypes.finfo(dtype).tiny) / epsilon(dtype)  # type: ignore[no-untyped-call]


def _part(a: Any, b: Any, low: Any, high: Any) -> Any:
    """The part of the probability between low and high that lies between a and b.

    It is a quotient where the tails are numbers of the dtype: a difference of their logarithms, which are large beside
    their digits, would lose some. Further out there are only these.
    """
    whole = _mass(low, high)
    known = whole > _least(whole.dtype)
    quotient = _mass(a, b) / jnp.where(known, whole, 1)
    return jnp.where(known, quotient, jnp.exp(_log_mass(a, b) - _log_mass(low, high)))


def _log_part(a: Any, b: Any, low: Any, high: Any, rest: Any) -> Any:
    """The logarithm of :func:`_part`: by the ``rest`` where this is the smaller one."""
    part, most = _part(a, b, low, high), rest < 0.5
    known = part > _least(part.dtype)
    logarithm = jnp.log(jnp.where(known, part, 1))
    smaller = jnp.where(known, logarithm, _log_mass(a, b) - _log_mass(low, high))
    return jnp.where(most, jnp.log1p(-jnp.where(most, rest, 0)), smaller)


@together()
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density, -inf outside of the interval."""
    x, a, b, loc, scale = floats(x, a, b, loc, scale)
    z = (x - loc) / scale
    found = norm.logpdf(z) - _log_mass(a, b) - jnp.log(scale)
    return _known(a, b, jnp.where((z < a) | (z > b), -math.inf, found))


@together()
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density, 0 outside of the interval."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


@together()
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`."""
    x, a, b, loc, scale = floats(x, a, b, loc, scale)
    z = (x - loc) / scale
    inside = jnp.clip(z, a, b)
    found = _log_part(a, inside, a, b, rest=_part(inside, b, a, b))
    return _known(a, b, jnp.where(z <= a, -math.inf, jnp.where(z >= b, 0.0, found)))


@together()
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x.

    >>> from xlascope.scipy.stats import truncnorm
    >>> print(f"{truncnorm.cdf(0.5, 0.0, 1.0):.4f}")
    0.5609
    """
    x, a, b, loc, scale = floats(x, a, b, loc, scale)
    z = (x - loc) / scale
    found = _part(a, jnp.clip(z, a, b), a, b)
    return _known(a, b, jnp.where(z <= a, 0.0, jnp.where(z >= b, 1.0, found)))


@together()
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`."""
    x, a, b, loc, scale = floats(x, a, b, loc, scale)
    z = (x - loc) / scale
    inside = jnp.clip(z, a, b)
    found = _log_part(inside, b, a, b, rest=_part(a, inside, a, b))
    return _known(a, b, jnp.where(z <= a, 0.0, jnp.where(z >= b, -math.inf, found)))


@together()
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x."""
    x, a, b, loc, scale = floats(x, a, b, loc, scale)
    z = (x - loc) / scale
    found = _part(jnp.clip(z, a, b), b, a, b)
    return _known(a, b, jnp.where(z <= a, 1.0, jnp.where(z >= b, 0.0, found)))
