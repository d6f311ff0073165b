"""The chi-squared distribution with ``df`` degrees of freedom: the gamma distribution of a = df / 2, scale 2.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

from typing import Any

from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from . import gamma


@jit_wrapped()
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function, -inf below ``loc``."""
    x, df, loc, scale = promote_args_inexact(x, df, loc, scale)
    return gamma.logpdf(x, df / 2, loc, 2 * scale)


@jit_wrapped()
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function, 0 below ``loc``."""
    x, df, loc, scale = promote_args_inexact(x, df, loc, scale)
    return gamma.pdf(x, df / 2, loc, 2 * scale)


@jit_wrapped()
def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x)."""
    x, df, loc, scale = promote_args_inexact(x, df, loc, scale)
    return gamma.cdf(x, df / 2, loc, 2 * scale)


@jit_wrapped()
def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`cdf`."""
    x, df, loc, scale = promote_args_inexact(x, df, loc, scale)
    return gamma.logcdf(x, df / 2, loc, 2 * scale)


@jit_wrapped()
def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function, P(X > x).

    >>> from xlascope.scipy.stats import chi2
    >>> print(f"{chi2.sf(3.841, 1):.4f}")
    0.0500
    """
    x, df, loc, scale = promote_args_inexact(x, df, loc, scale)
    return gamma.sf(x, df / 2, loc, 2 * scale)


@jit_wrapped()
def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`sf`."""
    x, df, loc, scale = promote_args_inexact(x, df, loc, scale)
    return gamma.logsf(x, df / 2, loc, 2 * scale)
