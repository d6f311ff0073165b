"""The exponential distribution, exp(-z) for z = (x - loc) / scale of at least 0.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from .distribution_utils import log1mexp, nan_unless_probability


@jit_wrapped()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function, -inf below ``loc``."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return jnp.where(x < loc, -math.inf, -jnp.log(scale) - z)


@jit_wrapped()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function, 0 below ``loc``."""
    return jnp.exp(logpdf(x, loc, scale))


@jit_wrapped()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x)."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return jnp.where(z < 0, 0.0, -jnp.expm1(-jnp.maximum(z, 0)))


@jit_wrapped()
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`cdf`."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    below = z <= 0
    return jnp.where(below, -math.inf, log1mexp(-jnp.where(below, 1, z)))


@jit_wrapped()
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function, P(X > x).

    >>> from xlascope.scipy.stats import expon
    >>> print(f"{expon.sf(2.0):.4f}")
    0.1353
    """
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return jnp.where(z < 0, 1.0, jnp.exp(-jnp.maximum(z, 0)))


@jit_wrapped()
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`sf`."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return jnp.where(z <= 0, 0.0, -z)


@jit_wrapped()
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile function at q, the inverse of :func:`cdf`; NaN outside [0, 1]."""
    q, loc, scale = promote_args_inexact(q, loc, scale)
    return loc - scale * jnp.log1p(-nan_unless_probability(q))
