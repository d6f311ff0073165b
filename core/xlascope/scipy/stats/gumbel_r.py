"""The right-skewed Gumbel distribution, of the largest of many: exp(-z - exp(-z)) with z = (x - loc) / scale.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from .distribution_utils import log1mexp, nan_unless_probability


@jit_wrapped()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return -z - jnp.exp(-z) - jnp.log(scale)


@jit_wrapped()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function."""
    return jnp.exp(logpdf(x, loc, scale))


@jit_wrapped()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x).

    >>> from xlascope.scipy.stats import gumbel_r
    >>> print(f"{gumbel_r.cdf(0.0):.4f}")
    0.3679
    """
    return jnp.exp(logcdf(x, loc, scale))


@jit_wrapped()
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`cdf`."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return -jnp.exp(-z)


@jit_wrapped()
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function, P(X > x), accurate in both tails."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return -jnp.expm1(-jnp.exp(-z))


@jit_wrapped()
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`sf`."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return log1mexp(-jnp.exp(-z))


@jit_wrapped()
def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile function at p, the inverse of :func:`cdf`; NaN outside [0, 1]."""
    p, loc, scale = promote_args_inexact(p, loc, scale)
    return loc - scale * jnp.log(-jnp.log(nan_unless_probability(p)))
