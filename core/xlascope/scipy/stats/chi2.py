"""The chi-squared distribution with ``df`` degrees of freedom: the gamma distribution of a = df / 2, scale 2.

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

from typing import Any

from ...numpy.together import together
from ..arguments import floats
from . import gamma


@together()
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function, -inf below ``loc``."""
    x, df, loc, scale = floats(x, df, loc, scale)
    return gamma.logpdf(x, df / 2, loc, 2 * scale)


@together()
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function, 0 below ``loc``."""
    x, df, loc, scale = floats(x, df, loc, scale)
    return gamma.pdf(x, df / 2, loc, 2 * scale)


@together()
def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the cumulative distribution function, P(X ≤ x)."""
    x, df, loc, scale = floats(x, df, loc, scale)
    return gamma.cdf(x, df / 2, loc, 2 * scale)


@together()
def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`cdf`."""
    x, df, loc, scale = floats(x, df, loc, scale)
    return gamma.logcdf(x, df / 2, loc, 2 * scale)


@together()
def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the survival function, P(X > x).

    >>> from xlascope.scipy.stats import chi2
    >>> print(f"{chi2.sf(3.841, 1):.4f}")
    0.0500
    """
    x, df, loc, scale = floats(x, df, loc, scale)
    return gamma.sf(x, df / 2, loc, 2 * scale)


@together()
def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of :func:`sf`."""
    x, df, loc, scale = floats(x, df, loc, scale)
    return gamma.logsf(x, df / 2, loc, 2 * scale)
