"""The Pareto distribution, b / z^(b+1) for z = (x - loc) / scale of at least 1.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from .distribution_utils import log1mexp, nan_unless_probability


def _log_power(z: Any, b: Any) -> Any:
    """Return b log(z), and 0 for z up to 1, also where b is infinite."""
    inside = jnp.where(z < 1, 1, z)
    return jnp.where((inside == 1) & (b == math.inf), 0, b) * jnp.log(inside)


@jit_wrapped()
def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function, -inf below z = 1."""
    x, b, loc, scale = promote_args_inexact(x, b, loc, scale)
    z = (x - loc) / scale
    result = jnp.log(b) - _log_power(z, b + 1) - jnp.log(scale)
    return jnp.where(z < 1, -math.inf, result)


@jit_wrapped()
def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function, 0 below z = 1."""
    return jnp.exp(logpdf(x, b, loc, scale))


@jit_wrapped()
def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x)."""
    x, b, loc, scale = promote_args_inexact(x, b, loc, scale)
    z = (x - loc) / scale
    power = _log_power(z, b)
    return -jnp.expm1(-power)


@jit_wrapped()
def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`cdf`."""
    x, b, loc, scale = promote_args_inexact(x, b, loc, scale)
    z = (x - loc) / scale
    below = z <= 1
    inside = jnp.where(below, math.e, z)
    power = b * jnp.log(inside)
    # far out, the power of the tail is more accurate than the exponential of a large logarithm
    far = power > 1
    result = jnp.where(far, jnp.log1p(-(jnp.where(far, inside, math.e) ** -b)), log1mexp(-power))
    return jnp.where(below, -math.inf, result)


@jit_wrapped()
def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function, P(X > x).

    >>> from xlascope.scipy.stats import pareto
    >>> print(f"{pareto.sf(2.0, 3.0):.4f}")
    0.1250
    """
    x, b, loc, scale = promote_args_inexact(x, b, loc, scale)
    z = (x - loc) / scale
    power = _log_power(z, b)
    return jnp.exp(-power)


@jit_wrapped()
def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`sf`."""
    x, b, loc, scale = promote_args_inexact(x, b, loc, scale)
    z = (x - loc) / scale
    power = _log_power(z, b)
    return 0 - power  # 0, not -0


@jit_wrapped()
def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile function at q, the inverse of :func:`cdf`; NaN outside [0, 1]."""
    q, b, loc, scale = promote_args_inexact(q, b, loc, scale)
    tail = 1 - nan_unless_probability(q)
    return loc + scale * jnp.where(jnp.isnan(tail), tail, tail ** (-1 / b))  # NaN to the power 0 is 1
