"""Bernoulli distribution: 1 with probability p, else 0.

``loc`` shifts the distribution; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact, to_strong_type
from ..special.logarithms import xlog1py, xlogy
from .distribution_utils import nan_unless_probability


@jit_wrapped()
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """Return the logarithm of the probability mass function at k, -inf unless k is 0 or 1."""
    k, p, loc = promote_args_inexact(k, p, loc)
    k = k - loc
    in_support = (k == 0) | (k == 1) | jnp.isnan(k)
    k = jnp.where(in_support, k, 0)
    return jnp.where(in_support, xlogy(k, p) + xlog1py(1 - k, -p), -math.inf)


@jit_wrapped()
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """Return the probability mass function at k.

    >>> from xlascope.scipy.stats import bernoulli
    >>> print(f"{bernoulli.pmf(1, 0.25):.4f}")
    0.2500
    """
    return jnp.exp(logpmf(k, p, loc))


@jit_wrapped()
def cdf(k: Any, p: Any) -> Any:
    """Return the cumulative distribution function, P(X ≤ k); NaN unless p lies in [0, 1]."""
    k, p = promote_args_inexact(k, p)
    result = jnp.where(k < 0, 0.0, jnp.where(k < 1, 1 - p, 1.0))
    return to_strong_type(jnp.where(jnp.isnan(nan_unless_probability(p)) | jnp.isnan(k), math.nan, result))


@jit_wrapped()
def ppf(q: Any, p: Any) -> Any:
    """Return the quantile function, the least k with cdf(k) ≥ q; NaN unless p and q lie in [0, 1]."""
    q, p = promote_args_inexact(q, p)
    result = jnp.where(q <= 1 - p, jnp.zeros_like(p), 1)
    return to_strong_type(
        jnp.where(jnp.isnan(nan_unless_probability(p)) | jnp.isnan(nan_unless_probability(q)), math.nan, result)
    )
