"""The geometric distribution: the trials up to the first success of probability p.

``loc`` moves the distribution; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.together import together
from ..arguments import floats
from ..special.logarithms import xlog1py
from .tails import whole_within


@together()
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k, -inf for other numbers than 1, 2 and so on."""
    k, p, loc = floats(k, p, loc)
    before, known = whole_within(k - loc - 1)
    return jnp.where(known, xlog1py(before, -p) + jnp.log(p), -math.inf)


@together()
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k.

    >>> from xlascope.scipy.stats import geom
    >>> print(f"{geom.pmf(2, 0.5):.4f}")
    0.2500
    """
    return jnp.exp(logpmf(k, p, loc))
