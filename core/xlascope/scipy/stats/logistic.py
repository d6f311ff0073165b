"""The logistic distribution, exp(-z) / (1 + exp(-z))² with z = (x - loc) / scale.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from ...numpy.together import together
from ..arguments import floats
from ..special.logarithms import expit, logit


@together()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function."""
    x, loc, scale = floats(x, loc, scale)
    z = (x - loc) / scale
    size = jnp.abs(z)
    return -size - 2 * jnp.log1p(jnp.exp(-size)) - jnp.log(scale)


@together()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function."""
    return jnp.exp(logpdf(x, loc, scale))


@together()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x).

    >>> from xlascope.scipy.stats import logistic
    >>> print(f"{logistic.cdf(0.0):.4f}")
    0.5000
    """
    x, loc, scale = floats(x, loc, scale)
    z = (x - loc) / scale
    return expit(z)


@together()
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function, P(X > x)."""
    x, loc, scale = floats(x, loc, scale)
    z = (x - loc) / scale
    return expit(-z)


@together()
def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile function at x, the inverse of :func:`cdf`; NaN outside [0, 1]."""
    x, loc, scale = floats(x, loc, scale)
    return loc + scale * logit(x)


@together()
def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the inverse survival function at x, the inverse of :func:`sf`; NaN outside [0, 1]."""
    x, loc, scale = floats(x, loc, scale)
    return loc - scale * logit(x)
