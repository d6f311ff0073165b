"""The Cauchy distribution wrapped around the circle: (1 - c²) / (2π (1 + c² - 2c cos x)) for x from 0 to 2π.

All arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact


@jit_wrapped()
def logpdf(x: Any, c: Any) -> Any:
    """Return the logarithm of the probability density function, -inf outside [0, 2π].

    It is NaN unless c lies between 0 and 1.
    """
    x, c = promote_args_inexact(x, c)
    result = jnp.log1p(-c * c) - jnp.log(2 * math.pi * _denominator(x, c))
    result = jnp.where((x < 0) | (x > 2 * math.pi), -math.inf, result)
    return jnp.where((c > 0) & (c < 1), result, math.nan)


@jit_wrapped()
def pdf(x: Any, c: Any) -> Any:
    """Return the probability density function.

    >>> from xlascope.scipy.stats import wrapcauchy
    >>> print(f"{wrapcauchy.pdf(0.0, 0.5):.4f}")
    0.4775
    """
    x, c = promote_args_inexact(x, c)
    result = (1 - c) * (1 + c) / (2 * math.pi * _denominator(x, c))
    result = jnp.where((x < 0) | (x > 2 * math.pi), 0, result)
    return jnp.where((c > 0) & (c < 1), result, math.nan)


def _denominator(x: Any, c: Any) -> Any:
    """Return 1 + c² - 2c cos(x), without cancellation."""
    return (1 - c) ** 2 + 4 * c * jnp.sin(x / 2) ** 2
