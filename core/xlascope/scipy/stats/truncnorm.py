"""The normal distribution cut to the interval from a to b, in units of z = (x - loc) / scale.

``loc`` moves the distribution, ``scale`` stretches it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.together import together
from ..arguments import floats
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
    same = far >= near
    log_high, log_low = log_ndtr(near), log_ndtr(jnp.where(same, near - 1, far))
    in_tail = jnp.where(same, -math.inf, log_high + log_one_minus_exp(log_low - log_high))
    around = jnp.log1p(-ndtr(jnp.where(tail, -1, low)) - ndtr(jnp.where(tail, -1, -high)))
    return jnp.where(tail, in_tail, around)


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
    found = _log_mass(a, inside) - _log_mass(a, b)
    return _known(a, b, jnp.where(z <= a, -math.inf, jnp.where(z >= b, 0.0, found)))


@together()
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x.

    >>> from xlascope.scipy.stats import truncnorm
    >>> print(f"{truncnorm.cdf(0.5, 0.0, 1.0):.4f}")
    0.5609
    """
    return jnp.exp(logcdf(x, a, b, loc, scale))


@together()
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`."""
    x, a, b, loc, scale = floats(x, a, b, loc, scale)
    z = (x - loc) / scale
    inside = jnp.clip(z, a, b)
    found = _log_mass(inside, b) - _log_mass(a, b)
    return _known(a, b, jnp.where(z <= a, 0.0, jnp.where(z >= b, -math.inf, found)))


@together()
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x."""
    return jnp.exp(logsf(x, a, b, loc, scale))
