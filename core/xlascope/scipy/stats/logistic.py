"""The logistic distribution, exp(-z) / (1 + exp(-z))² with z = (x - loc) / scale.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from ..special.logarithms import expit, logit


@jit_wrapped()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    size = jnp.abs(z)
    return -size - 2 * jnp.log1p(jnp.exp(-size)) - jnp.log(scale)


@jit_wrapped()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function."""
    return jnp.exp(logpdf(x, loc, scale))


@jit_wrapped()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x).

    >>> from xlascope.scipy.stats import logistic
    >>> print(f"{logistic.cdf(0.0):.4f}")
    0.5000
    """
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return expit(z)


@jit_wrapped()
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function, P(X > x)."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return expit(-z)


@jit_wrapped()
def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile function at x, the inverse of :func:`cdf`; NaN outside [0, 1]."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    return loc + scale * logit(x)


@jit_wrapped()
def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the inverse survival function at x, the inverse of :func:`sf`; NaN outside [0, 1]."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    return loc - scale * logit(x)
