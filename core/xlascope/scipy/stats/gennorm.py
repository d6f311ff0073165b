"""The generalized normal distribution, β exp(-|x|^β) / (2 Γ(1/β)).

All arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.together import together
from ..arguments import floats
from ..special.gammas import gammainc, gammaincc, gammaln


@together()
def logpdf(x: Any, beta: Any) -> Any:
    """Return the logarithm of the probability density function."""
    x, beta = floats(x, beta)
    result = jnp.log(beta) - math.log(2) - gammaln(1 / beta) - jnp.abs(x) ** beta
    return jnp.where(jnp.isnan(x), x, result)  # NaN to the power 0 is 1


@together()
def pdf(x: Any, beta: Any) -> Any:
    """Return the probability density function."""
    return jnp.exp(logpdf(x, beta))


@together()
def cdf(x: Any, beta: Any) -> Any:
    """Return the cumulative distribution function, P(X ≤ x), accurate in both tails.

    >>> from xlascope.scipy.stats import gennorm
    >>> print(f"{gennorm.cdf(0.0, 1.5):.4f}")
    0.5000
    """
    x, beta = floats(x, beta)
    power = jnp.where(jnp.isnan(x), x, jnp.abs(x) ** beta)  # NaN to the power 0 is 1
    return jnp.where(x < 0, gammaincc(1 / beta, power) / 2, (1 + gammainc(1 / beta, power)) / 2)
