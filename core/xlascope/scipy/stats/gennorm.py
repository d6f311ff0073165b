"""The generalized normal distribution, β exp(-|x|^β) / (2 Γ(1/β)).

All arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from ..special.gamma_functions import gammainc, gammaincc, gammaln


@jit_wrapped()
def logpdf(x: Any, beta: Any) -> Any:
    """Return the logarithm of the probability density function."""
    x, beta = promote_args_inexact(x, beta)
    result = jnp.log(beta) - math.log(2) - gammaln(1 / beta) - jnp.abs(x) ** beta
    return jnp.where(jnp.isnan(x), x, result)  # NaN to the power 0 is 1


@jit_wrapped()
def pdf(x: Any, beta: Any) -> Any:
    """Return the probability density function."""
    return jnp.exp(logpdf(x, beta))


@jit_wrapped()
def cdf(x: Any, beta: Any) -> Any:
    """Return the cumulative distribution function, P(X ≤ x), accurate in both tails.

    >>> from xlascope.scipy.stats import gennorm
    >>> print(f"{gennorm.cdf(0.0, 1.5):.4f}")
    0.5000
    """
    x, beta = promote_args_inexact(x, beta)
    power = jnp.where(jnp.isnan(x), x, jnp.abs(x) ** beta)  # NaN to the power 0 is 1
    return jnp.where(x < 0, gammaincc(1 / beta, power) / 2, (1 + gammainc(1 / beta, power)) / 2)
