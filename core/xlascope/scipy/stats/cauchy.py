"""The Cauchy distribution, 1 / (π (1 + z²)) with z = (x - loc) / scale.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from .distribution_utils import log1p_of_square, nan_unless_probability


@jit_wrapped()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return -log1p_of_square(z) - jnp.log(scale) - math.log(math.pi)


@jit_wrapped()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function."""
    return jnp.exp(logpdf(x, loc, scale))


@jit_wrapped()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x), accurate in both tails.

    >>> from xlascope.scipy.stats import cauchy
    >>> print(f"{cauchy.cdf(1.0):.4f}")
    0.7500
    """
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return jnp.arctan2(jnp.ones_like(z), -z) / math.pi


@jit_wrapped()
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`cdf`, accurate in both tails."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    return _log_tail(-(x - loc) / scale)


@jit_wrapped()
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function, P(X > x), accurate in both tails."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return jnp.arctan2(jnp.ones_like(z), z) / math.pi


@jit_wrapped()
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`sf`, accurate in both tails."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    return _log_tail((x - loc) / scale)


def _log_tail(z: Any) -> Any:
    """Return log P(X > z), from P(X ≤ z) where the tail is nearly 1."""
    y = jnp.ones_like(z)
    return jnp.where(z > 0, jnp.log(jnp.arctan2(y, z) / math.pi), jnp.log1p(-jnp.arctan2(y, jnp.abs(z)) / math.pi))


@jit_wrapped()
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile function at q, the inverse of :func:`cdf`; NaN outside [0, 1]."""
    q, loc, scale = promote_args_inexact(q, loc, scale)
    return loc + scale * _quantile(nan_unless_probability(q))


@jit_wrapped()
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the inverse survival function at q, the inverse of :func:`sf`; NaN outside [0, 1]."""
    q, loc, scale = promote_args_inexact(q, loc, scale)
    return loc - scale * _quantile(nan_unless_probability(q))


def _quantile(q: Any) -> Any:
    """Return tan(π (q - 1/2)).

    In the tails, where that grows without bound, it is the cotangent of π times the smaller one of q and 1 - q.
    """
    small = jnp.minimum(q, 1 - q)
    tail = small < 0.25
    far = 1 / jnp.tan(math.pi * jnp.where(tail, small, 0.25))
    return jnp.where(tail, jnp.where(q < 0.5, -far, far), jnp.tan(math.pi * (jnp.where(tail, 0.5, q) - 0.5)))
