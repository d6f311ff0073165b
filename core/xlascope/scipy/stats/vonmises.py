"""The von Mises distribution on angles, exp(κ cos x) / (2π I₀(κ)).

All arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from ..special.modified_bessel import i0, i0e


@jit_wrapped()
def logpdf(x: Any, kappa: Any) -> Any:
    """Return the logarithm of the probability density function, without overflow for large κ.

    It is uniform for κ = 0, and NaN for negative κ.
    """
    x, kappa = promote_args_inexact(x, kappa)
    half, small = jnp.sin(x / 2), kappa < 0.5
    result = -2 * kappa * half * half - jnp.log(2 * math.pi * i0e(kappa))  # cos x - 1 would cancel near the mean
    # i0e has a kink at 0, i0 has none
    by_cosine = kappa * jnp.cos(x) - jnp.log(2 * math.pi * i0(jnp.where(small, kappa, 0)))
    result = jnp.where(small, by_cosine, result)
    return jnp.where(kappa >= 0, result, math.nan)


@jit_wrapped()
def pdf(x: Any, kappa: Any) -> Any:
    """Return the probability density function.

    >>> from xlascope.scipy.stats import vonmises
    >>> print(f"{vonmises.pdf(0.0, 1.0):.4f}")
    0.3417
    """
    return jnp.exp(logpdf(x, kappa))
