"""Multinomial distribution: the counts of k outcomes among n trials."""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ...numpy.promotion import promote_inexact
from ..arguments import promote_dtypes_inexact
from ..special.gamma_functions import gammaln
from ..special.logarithms import xlogy


@jit_wrapped()
def logpmf(x: Any, n: Any, p: Any) -> Any:
    """Return the logarithm of the probability of counts ``x``, -inf unless their sum is ``n``.

    ``x`` and the probabilities ``p`` have the outcomes along their last axis; other axes broadcast, with ``n``.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.stats import multinomial
    >>> print(f"{multinomial.logpmf(jnp.array([1, 2]), 3, jnp.array([0.5, 0.5])):.4f}")
    -0.9808
    """
    x, n, p = promote_dtypes_inexact(promote_inexact(x), promote_inexact(n), p)
    x, p = jnp.atleast_1d(x), jnp.atleast_1d(p)
    result = gammaln(n + 1) + jnp.sum(xlogy(x, p) - gammaln(x + 1), -1)
    return jnp.where(jnp.sum(x, -1) == n, result, -math.inf)


@jit_wrapped()
def pmf(x: Any, n: Any, p: Any) -> Any:
    """Return the probability of counts; see :func:`logpmf`."""
    return jnp.exp(logpmf(x, n, p))
