"""The Poisson distribution, exp(-μ) μ^k / k!.

``loc`` shifts the distribution; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...control.flow.fori_loop import fori_loop
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import machine_epsilon, promote_args_inexact
from ..special.gamma_functions import gammaincc, gammaln
from ..special.logarithms import xlogy
from .distribution_utils import mask_to_integers
from .large_parameters import log_gamma_factor


def _entropy_term(k: Any, mu: Any) -> Any:
    k = jnp.full_like(mu, 1) * k
    log_p = xlogy(k, mu) - gammaln(k + 1) - mu
    return -jnp.exp(log_p) * log_p


@jit_wrapped()
def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """Return the logarithm of the probability mass function at k, -inf unless k is one of 0, 1, …."""
    k, mu, loc = promote_args_inexact(k, mu, loc)
    k, in_support = mask_to_integers(k - loc)
    factor, large = log_gamma_factor(k, mu)
    return jnp.where(in_support, jnp.where(large, factor, xlogy(k, mu) - gammaln(k + 1) - mu), -math.inf)


@jit_wrapped()
def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """Return the probability mass function at k.

    >>> from xlascope.scipy.stats import poisson
    >>> print(f"{poisson.pmf(2, 1.0):.4f}")
    0.1839
    """
    return jnp.exp(logpmf(k, mu, loc))


@jit_wrapped()
def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """Return the cumulative distribution function, P(X ≤ k)."""
    k, mu, loc = promote_args_inexact(k, mu, loc)
    k = jnp.floor(k - loc)
    mu = jnp.where((k == math.inf) & (mu == math.inf), 1, mu)  # all of the distribution is at infinity or below
    return jnp.where(k < 0, 0.0, gammaincc(jnp.maximum(k, 0) + 1, mu))


@jit_wrapped()
def entropy(mu: Any, loc: Any = 0) -> Any:
    """Return the entropy in nats, by a sum or, for large μ, an asymptotic series; NaN for negative μ."""
    mu, _ = promote_args_inexact(mu, loc)
    # ½ log(2πeμ) - 1/(12μ) - 1/(24μ²) - 19/(360μ³) (R. J. Evans, J. Boersma, N. M. Blachman and A. A. Jagers, SIAM
    # Review 30, 1988); below the bound from which it is accurate, the sum of all significant terms
    bound, count = (500, 750) if machine_epsilon(mu.dtype) < 1e-10 else (30, 90)
    large = mu > bound
    v = jnp.where(large, mu, bound)
    series = 0.5 * jnp.log(2 * math.pi * math.e * v) - (1 / 12 + (1 / 24 + 19 / 360 / v) / v) / v
    small = jnp.where(large, 1, mu)
    summed = fori_loop(0, count, lambda k, total: total + _entropy_term(k, small), jnp.zeros_like(small))
    return jnp.where(mu < 0, math.nan, jnp.where(mu == 0, 0.0, jnp.where(large, series, summed)))
