"""The gamma distribution, z^(a-1) exp(-z) / Γ(a) for z = (x - loc) / scale of at least 0.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from ..special.gamma_functions import gammainc, gammaincc, gammaln
from ..special.logarithms import xlogy
from .large_parameters import log_gamma_factor


def _replace_infinite_shape(z: Any, a: Any) -> Any:
    """Return ``a``, replaced by 1 where both it and z are infinite.

    All of the distribution lies below an infinite z, so that any finite shape gives the right result.
    """
    return jnp.where((z == math.inf) & (a == math.inf), 1, a)


@jit_wrapped()
def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function, -inf below ``loc``.

    >>> from xlascope.scipy.stats import gamma
    >>> print(f"{gamma.logpdf(2.0, 3.0):.4f}")
    -1.3069
    """
    x, a, loc, scale = promote_args_inexact(x, a, loc, scale)
    z = (x - loc) / scale
    inside = jnp.where(z < 0, 1, z)
    factor, large = log_gamma_factor(a, inside)
    by_factor = factor + jnp.log(jnp.where(large, a, 1)) - jnp.log(jnp.where(large, inside, 1))
    result = jnp.where(large, by_factor, xlogy(a - 1, inside) - inside - gammaln(a)) - jnp.log(scale)
    return jnp.where(z < 0, -math.inf, result)


@jit_wrapped()
def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function, 0 below ``loc``."""
    return jnp.exp(logpdf(x, a, loc, scale))


@jit_wrapped()
def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x)."""
    x, a, loc, scale = promote_args_inexact(x, a, loc, scale)
    z = (x - loc) / scale
    return gammainc(_replace_infinite_shape(z, a), jnp.maximum(z, 0))


@jit_wrapped()
def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`cdf`."""
    return jnp.log(cdf(x, a, loc, scale))


@jit_wrapped()
def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function, P(X > x)."""
    x, a, loc, scale = promote_args_inexact(x, a, loc, scale)
    z = (x - loc) / scale
    return gammaincc(_replace_infinite_shape(z, a), jnp.maximum(z, 0))


@jit_wrapped()
def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`sf`."""
    return jnp.log(sf(x, a, loc, scale))
