"""The negative binomial distribution: the failures before the n-th success of probability p.

``loc`` moves the distribution; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.together import together
from ..arguments import floats
from ..special.gammas import betaln
from ..special.logarithms import xlog1py, xlogy
from .cancellation import log_beta_factor
from .tails import whole_within


@together()
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k, -inf for other numbers than 0, 1 and so on."""
    k, n, p, loc = floats(k, n, p, loc)
    k, known = whole_within(k - loc)
    ways = jnp.where(k == 0, 0, -betaln(n, k + 1) - jnp.log(n + k))
    # log1p has fewer digits than log where p is not small
    rest = jnp.where(p > 0.25, xlogy(k, 1 - p), xlog1py(k, -jnp.where(p > 0.25, 0, p)))
    factor, large = log_beta_factor(n, k, p)
    found = jnp.where(large, factor - jnp.log(jnp.where(large, k, 1)), ways + xlogy(n, p) + rest)
    return jnp.where(known, found, -math.inf)


@together()
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k.

    >>> from xlascope.scipy.stats import nbinom
    >>> print(f"{nbinom.pmf(1, 2, 0.5):.4f}")
    0.2500
    """
    return jnp.exp(logpmf(k, n, p, loc))
