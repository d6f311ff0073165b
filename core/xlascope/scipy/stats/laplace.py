"""The Laplace distribution, exp(-|z|) / 2 with z = (x - loc) / scale.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact


@jit_wrapped()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return -jnp.abs(z) - jnp.log(scale) - math.log(2)


@jit_wrapped()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function."""
    return jnp.exp(logpdf(x, loc, scale))


@jit_wrapped()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x).

    >>> from xlascope.scipy.stats import laplace
    >>> print(f"{laplace.cdf(0.0):.4f}")
    0.5000
    """
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    half = jnp.exp(-jnp.abs(z)) / 2
    return jnp.where(z < 0, half, 1 - half)
