"""Bernoulli distribution: 1 with probability p, else 0.

``loc`` shifts the distribution; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.together import together
from ..arguments import floats, strong
from ..special.logarithms import xlog1py, xlogy
from .tails import probability


@together()
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """Return the logarithm of the probability mass function at k, -inf unless k is 0 or 1."""
    k, p, loc = floats(k, p, loc)
    k = k - loc
    in_support = (k == 0) | (k == 1) | jnp.isnan(k)
    k = jnp.where(in_support, k, 0)
    return jnp.where(in_support, xlogy(k, p) + xlog1py(1 - k, -p), -math.inf)


@together()
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """Return the probability mass function at k.

    >>> from xlascope.scipy.stats import bernoulli
    >>> print(f"{bernoulli.pmf(1, 0.25):.4f}")
    0.2500
    """
    return jnp.exp(logpmf(k, p, loc))


@together()
def cdf(k: Any, p: Any) -> Any:
    """Return the cumulative distribution function, P(X ≤ k); NaN unless p lies in [0, 1]."""
    k, p = floats(k, p)
    result = jnp.where(k < 0, 0.0, jnp.where(k < 1, 1 - p, 1.0))
    return strong(jnp.where(jnp.isnan(probability(p)) | jnp.isnan(k), math.nan, result))


@together()
def ppf(q: Any, p: Any) -> Any:
    """Return the quantile function, the least k with cdf(k) ≥ q; NaN unless p and q lie in [0, 1]."""
    q, p = floats(q, p)
    result = jnp.where(q <= 1 - p, jnp.zeros_like(p), 1)
    return strong(jnp.where(jnp.isnan(probability(p)) | jnp.isnan(probability(q)), math.nan, result))
