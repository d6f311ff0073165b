"""The beta distribution, z^(a-1) (1-z)^(b-1) / B(a, b) for z = (x - loc) / scale from 0 to 1.

``loc`` moves the distribution, ``scale`` stretches it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.together import together
from ..arguments import floats
from ..special.gammas import betainc, betaln
from ..special.logarithms import xlog1py, xlogy
from .cancellation import log_beta_factor


def _at_ends(z: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """``a`` and ``b``, or where both are infinite and z is at an end or outside, others: all lies between the ends."""
    known = ((z <= 0) | (z >= 1)) & (a == math.inf) & (b == math.inf)
    return jnp.where(known, 1, a), jnp.where(known, 1, b)


@together()
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density, -inf outside of the interval."""
    x, a, b, loc, scale = floats(x, a, b, loc, scale)
    z = (x - loc) / scale
    outside = (z < 0) | (z > 1)
    inside = jnp.where(outside, 0.5, z)
    factor, large = log_beta_factor(a, b, inside)
    usual = jnp.where(large, 0.5, inside)
    by_factor = factor - jnp.log(jnp.where(large, inside, 1)) - jnp.log1p(-jnp.where(large, inside, 0))
    found = jnp.where(large, by_factor, xlogy(a - 1, usual) + xlog1py(b - 1, -usual) - betaln(a, b)) - jnp.log(scale)
    return jnp.where(outside, -math.inf, found)


@together()
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density, 0 outside of the interval."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


@together()
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x.

    >>> from xlascope.scipy.stats import beta
    >>> print(f"{beta.cdf(0.4, 2.0, 3.0):.4f}")
    0.5248
    """
    x, a, b, loc, scale = floats(x, a, b, loc, scale)
    z = (x - loc) / scale
    a, b = _at_ends(z, a, b)
    return betainc(a, b, jnp.clip(z, 0, 1))


@together()
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`."""
    return jnp.log(cdf(x, a, b, loc, scale))


@together()
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x."""
    x, a, b, loc, scale = floats(x, a, b, loc, scale)
    z = (x - loc) / scale
    a, b = _at_ends(z, a, b)
    return betainc(b, a, 1 - jnp.clip(z, 0, 1))


@together()
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`."""
    return jnp.log(sf(x, a, b, loc, scale))
