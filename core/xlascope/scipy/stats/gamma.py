"""The gamma distribution, z^(a-1) exp(-z) / Γ(a) for z = (x - loc) / scale of at least 0.

``loc`` moves the distribution, ``scale`` stretches it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.together import together
from ..arguments import floats
from ..special.gammas import gammainc, gammaincc, gammaln
from ..special.logarithms import xlogy
from .cancellation import log_gamma_factor


def _at_end(z: Any, a: Any) -> Any:
    """``a``, or where it is infinite and z is, too, another one: all of the distribution is below an infinite z."""
    return jnp.where((z == math.inf) & (a == math.inf), 1, a)


@together()
def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density, -inf below ``loc``.

    >>> from xlascope.scipy.stats import gamma
    >>> print(f"{gamma.logpdf(2.0, 3.0):.4f}")
    -1.3069
    """
    x, a, loc, scale = floats(x, a, loc, scale)
    z = (x - loc) / scale
    inside = jnp.where(z < 0, 1, z)
    factor, large = log_gamma_factor(a, inside)
    by_factor = factor + jnp.log(jnp.where(large, a, 1)) - jnp.log(jnp.where(large, inside, 1))
    found = jnp.where(large, by_factor, xlogy(a - 1, inside) - inside - gammaln(a)) - jnp.log(scale)
    return jnp.where(z < 0, -math.inf, found)


@together()
def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density, 0 below ``loc``."""
    return jnp.exp(logpdf(x, a, loc, scale))


@together()
def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x."""
    x, a, loc, scale = floats(x, a, loc, scale)
    z = (x - loc) / scale
    return gammainc(_at_end(z, a), jnp.maximum(z, 0))


@together()
def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`."""
    return jnp.log(cdf(x, a, loc, scale))


@together()
def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x."""
    x, a, loc, scale = floats(x, a, loc, scale)
    z = (x - loc) / scale
    return gammaincc(_at_end(z, a), jnp.maximum(z, 0))


@together()
def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`."""
    return jnp.log(sf(x, a, loc, scale))
