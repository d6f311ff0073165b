"""The negative binomial distribution: the failures before the n-th success of probability p.

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
from .large_parameters import log_beta_factor


@jit_wrapped()
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """Return the logarithm of the probability mass function at k, -inf unless k is one of 0, 1, …."""
    k, n, p, loc = promote_args_inexact(k, n, p, loc)
    k, in_support = mask_to_integers(k - loc)
    ways = jnp.where(k == 0, 0, -betaln(n, k + 1) - jnp.log(n + k))
    # log1p is less accurate than log where p is not small
    log_failures = jnp.where(p > 0.25, xlogy(k, 1 - p), xlog1py(k, -jnp.where(p > 0.25, 0, p)))
    factor, large = log_beta_factor(n, k, p)
    result = jnp.where(large, factor - jnp.log(jnp.where(large, k, 1)), ways + xlogy(n, p) + log_failures)
    return jnp.where(in_support, result, -math.inf)


@jit_wrapped()
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """Return the probability mass function at k.

    >>> from xlascope.scipy.stats import nbinom
    >>> print(f"{nbinom.pmf(1, 2, 0.5):.4f}")
    0.2500
    """
    return jnp.exp(logpmf(k, n, p, loc))
