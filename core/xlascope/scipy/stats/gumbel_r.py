"""The right-skewed Gumbel distribution, of the largest of many: exp(-z - exp(-z)) with z = (x - loc) / scale.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from ...numpy.together import together
from ..arguments import floats
from .tails import log_one_minus_exp, probability


@together()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function."""
    x, loc, scale = floats(x, loc, scale)
    z = (x - loc) / scale
    return -z - jnp.exp(-z) - jnp.log(scale)


@together()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function."""
    return jnp.exp(logpdf(x, loc, scale))


@together()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x).

    >>> from xlascope.scipy.stats import gumbel_r
    >>> print(f"{gumbel_r.cdf(0.0):.4f}")
    0.3679
    """
    return jnp.exp(logcdf(x, loc, scale))


@together()
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`cdf`."""
    x, loc, scale = floats(x, loc, scale)
    z = (x - loc) / scale
    return -jnp.exp(-z)


@together()
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function, P(X > x), accurate in both tails."""
    x, loc, scale = floats(x, loc, scale)
    z = (x - loc) / scale
    return -jnp.expm1(-jnp.exp(-z))


@together()
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`sf`."""
    x, loc, scale = floats(x, loc, scale)
    z = (x - loc) / scale
    return log_one_minus_exp(-jnp.exp(-z))


@together()
def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile function at p, the inverse of :func:`cdf`; NaN outside [0, 1]."""
    p, loc, scale = floats(p, loc, scale)
    return loc - scale * jnp.log(-jnp.log(probability(p)))
