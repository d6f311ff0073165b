"""The beta-binomial distribution: the binomial one whose p follows the beta distribution of a and b.

``loc`` shifts the distribution; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from ..special.gamma_functions import betaln
from ..special.logarithms import xlog1py, xlogy
from .distribution_utils import mask_to_integers
from .large_parameters import log_beta_factor, log_binomial


@jit_wrapped()
def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """Return the logarithm of the probability mass function at k, -inf unless k is an integer from 0 to n."""
    k, n, a, b, loc = promote_args_inexact(k, n, a, b, loc)
    k, in_support = mask_to_integers(k - loc, n)
    ways = -betaln(n - k + 1, k + 1) - jnp.log1p(n)
    result = ways + betaln(k + a, n - k + b) - betaln(a, b)
    by_mean, large = _logpmf_by_mean(k, n, a, b, ways)
    return jnp.where(in_support, jnp.where(large, by_mean, result), -math.inf)


def _logpmf_by_mean(k: Any, n: Any, a: Any, b: Any, ways: Any) -> tuple[Any, Any]:
    """Return the logarithm of the probability for large a and b, and a mask of where it is valid.

    It is that of the binomial distribution with the mean p = a / (a + b), corrected; ``ways`` is the logarithm of the
    binomial coefficient. Successes and failures are exchanged where p is above 1/2, since 1 - p would lose precision.
    """
    swapped = a > b
    k, a, b = jnp.where(swapped, n - k, k), jnp.where(swapped, b, a), jnp.where(swapped, a, b)
    p = a / (a + b)
    before, large = log_beta_factor(a, b, p)
    after, both_large = log_beta_factor(k + a, n - k + b, p)
    large = large & both_large
    log_probability, many = log_binomial(k, n, p)
    p = jnp.where(large, p, 0.5)
    few = ways + xlogy(k, p) + xlog1py(n - k, -p)
    return jnp.where(many, log_probability, few) + before - after, large


@jit_wrapped()
def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """Return the probability mass function at k.

    >>> from xlascope.scipy.stats import betabinom
    >>> print(f"{betabinom.pmf(1, 2, 1.0, 1.0):.4f}")
    0.3333
    """
    return jnp.exp(logpmf(k, n, a, b, loc))
