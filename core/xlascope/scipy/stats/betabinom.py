"""The beta-binomial distribution: the binomial one whose p follows the beta distribution of a and b.

``loc`` moves the distribution; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.together import together
from ..arguments import floats
from ..special.gammas import betaln
from .tails import whole_within


@together()
def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k, -inf for other numbers than 0 to n."""
    k, n, a, b, loc = floats(k, n, a, b, loc)
    k, known = whole_within(k - loc, n)
    ways = -betaln(n - k + 1, k + 1) - jnp.log1p(n)
    return jnp.where(known, ways + betaln(k + a, n - k + b) - betaln(a, b), -math.inf)


@together()
def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The probability of k.

    >>> from xlascope.scipy.stats import betabinom
    >>> print(f"{betabinom.pmf(1, 2, 1.0, 1.0):.4f}")
    0.3333
    """
    return jnp.exp(logpmf(k, n, a, b, loc))
