"""The binomial distribution: the successes among n trials, each with the probability p.

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
from .large_parameters import log_binomial


@jit_wrapped()
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """Return the logarithm of the probability mass function at k, -inf unless k is an integer from 0 to n."""
    k, n, p, loc = promote_args_inexact(k, n, p, loc)
    k, in_support = mask_to_integers(k - loc, n)
    result, large = log_binomial(k, n, p)
    ways = -betaln(n - k + 1, k + 1) - jnp.log1p(n)
    return jnp.where(in_support, jnp.where(large, result, ways + xlogy(k, p) + xlog1py(n - k, -p)), -math.inf)


@jit_wrapped()
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """Return the probability mass function at k.

    >>> from xlascope.scipy.stats import binom
    >>> print(f"{binom.pmf(2, 4, 0.5):.4f}")
    0.3750
    """
    return jnp.exp(logpmf(k, n, p, loc))
