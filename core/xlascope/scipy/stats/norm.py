"""The normal distribution, exp(-z²/2) / √(2π) with z = (x - loc) / scale.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from ..special.gaussian import log_ndtr, ndtr, ndtri
from ..special.numerics import exp_of_square

_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


@jit_wrapped()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function.

    >>> from xlascope.scipy.stats import norm
    >>> print(f"{norm.logpdf(1.0):.4f}")
    -1.4189
    """
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return -z * z / 2 - jnp.log(scale) - _LOG_SQRT_2PI


@jit_wrapped()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    return exp_of_square((x - loc) / scale, -0.5) / (math.sqrt(2 * math.pi) * scale)


@jit_wrapped()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x)."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return ndtr(z)


@jit_wrapped()
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`cdf`, accurate in both tails."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return log_ndtr(z)


@jit_wrapped()
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function, P(X > x), accurate in both tails."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return ndtr(-z)


@jit_wrapped()
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`sf`, accurate in both tails."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return log_ndtr(-z)


@jit_wrapped()
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile function at q, the inverse of :func:`cdf`; NaN outside [0, 1]."""
    q, loc, scale = promote_args_inexact(q, loc, scale)
    return ndtri(q) * scale + loc


@jit_wrapped()
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the inverse survival function at q, the inverse of :func:`sf`; NaN outside [0, 1]."""
    q, loc, scale = promote_args_inexact(q, loc, scale)
    return loc - ndtri(q) * scale
