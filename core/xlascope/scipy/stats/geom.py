"""The geometric distribution: the trials up to the first success of probability p.

``loc`` shifts the distribution; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from ..special.logarithms import xlog1py
from .distribution_utils import mask_to_integers


@jit_wrapped()
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """Return the logarithm of the probability mass function at k, -inf unless k is one of 1, 2, …."""
    k, p, loc = promote_args_inexact(k, p, loc)
    failures, in_support = mask_to_integers(k - loc - 1)
    return jnp.where(in_support, xlog1py(failures, -p) + jnp.log(p), -math.inf)


@jit_wrapped()
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """Return the probability mass function at k.

    >>> from xlascope.scipy.stats import geom
    >>> print(f"{geom.pmf(2, 0.5):.4f}")
    0.2500
    """
    return jnp.exp(logpmf(k, p, loc))
