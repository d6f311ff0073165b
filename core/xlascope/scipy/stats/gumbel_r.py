"""The right-skewed Gumbel distribution, of the largest of many: exp(-z - exp(-z)) with z = (x - loc) / scale.

``loc`` moves the distribution, ``scale`` stretches it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from ...numpy.together import together
from ..arguments import floats
from .tails import log_one_minus_exp, probability


@together()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density."""
    x, loc, scale = floats(x, loc, scale)
    z = (x - loc) / scale
    return -z - jnp.exp(-z) - jnp.log(scale)


@together()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density."""
    return jnp.exp(logpdf(x, loc, scale))


@together()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of at most x.

    >>> from xlascope.scipy.stats import gumbel_r
    >>> print(f"{gumbel_r.cdf(0.0):.4f}")
    0.3679
    """
    return jnp.exp(logcdf(x, loc, scale))


@together()
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`cdf`."""
    x, loc, scale = floats(x, loc, scale)
    z = (x - loc) / scale
    return -jnp.exp(-z)


@together()
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x, exact in both tails."""
    x, loc, scale = floats(x, loc, scale)
    z = (x - loc) / scale
    return -jnp.expm1(-jnp.exp(-z))


@together()
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of :func:`sf`."""
    x, loc, scale = floats(x, loc, scale)
    z = (x - loc) / scale
    return log_one_minus_exp(-jnp.exp(-z))


@together()
def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x of which :func:`cdf` is p; NaN outside of 0 to 1."""
    p, loc, scale = floats(p, loc, scale)
    return loc - scale * jnp.log(-jnp.log(probability(p)))
