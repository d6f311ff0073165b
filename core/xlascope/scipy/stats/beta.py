"""The beta distribution, z^(a-1) (1-z)^(b-1) / B(a, b) for z = (x - loc) / scale from 0 to 1.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from ..special.gamma_functions import betainc, betaln
from ..special.logarithms import xlog1py, xlogy
from .large_parameters import log_beta_factor


def _replace_infinite_parameters(z: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return ``a`` and ``b``, replaced by 1 where both are infinite and z is at an end or outside.

    All of that distribution lies between the ends, so that any finite parameters give the right result.
    """
    degenerate = ((z <= 0) | (z >= 1)) & (a == math.inf) & (b == math.inf)
    return jnp.where(degenerate, 1, a), jnp.where(degenerate, 1, b)


@jit_wrapped()
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function, -inf outside of the interval."""
    x, a, b, loc, scale = promote_args_inexact(x, a, b, loc, scale)
    z = (x - loc) / scale
    outside = (z < 0) | (z > 1)
    inside = jnp.where(outside, 0.5, z)
    factor, large = log_beta_factor(a, b, inside)
    valid = jnp.where(large, 0.5, inside)
    by_factor = factor - jnp.log(jnp.where(large, inside, 1)) - jnp.log1p(-jnp.where(large, inside, 0))
    result = jnp.where(large, by_factor, xlogy(a - 1, valid) + xlog1py(b - 1, -valid) - betaln(a, b)) - jnp.log(scale)
    return jnp.where(outside, -math.inf, result)


@jit_wrapped()
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function, 0 outside of the interval."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


@jit_wrapped()
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x).

    >>> from xlascope.scipy.stats import beta
    >>> print(f"{beta.cdf(0.4, 2.0, 3.0):.4f}")
    0.5248
    """
    x, a, b, loc, scale = promote_args_inexact(x, a, b, loc, scale)
    z = (x - loc) / scale
    a, b = _replace_infinite_parameters(z, a, b)
    return betainc(a, b, jnp.clip(z, 0, 1))


@jit_wrapped()
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`cdf`."""
    return jnp.log(cdf(x, a, b, loc, scale))


@jit_wrapped()
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function, P(X > x)."""
    x, a, b, loc, scale = promote_args_inexact(x, a, b, loc, scale)
    z = (x - loc) / scale
    a, b = _replace_infinite_parameters(z, a, b)
    return betainc(b, a, 1 - jnp.clip(z, 0, 1))


@jit_wrapped()
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`sf`."""
    return jnp.log(sf(x, a, b, loc, scale))
