"""The uniform distribution on the interval from loc to loc + scale.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from .distribution_utils import nan_unless_probability


@jit_wrapped()
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function, -inf outside of the interval."""
    x, loc, scale = promote_args_inexact(x, loc, scale)
    outside = (x < loc) | (x > loc + scale)
    return jnp.where(outside, -math.inf, jnp.where(jnp.isnan(x), x, -jnp.log(scale)))


@jit_wrapped()
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function, 0 outside of the interval."""
    return jnp.exp(logpdf(x, loc, scale))


@jit_wrapped()
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x).

    >>> from xlascope.scipy.stats import uniform
    >>> print(f"{uniform.cdf(0.25):.4f}")
    0.2500
    """
    x, loc, scale = promote_args_inexact(x, loc, scale)
    z = (x - loc) / scale
    return jnp.clip(z, 0, 1)


@jit_wrapped()
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the quantile function at q, the inverse of :func:`cdf`; NaN outside [0, 1]."""
    q, loc, scale = promote_args_inexact(q, loc, scale)
    return loc + scale * nan_unless_probability(q)
