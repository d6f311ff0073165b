"""Student's t distribution with ``df`` degrees of freedom, (1 + z²/df)^(-(df+1)/2) / (√df B(1/2, df/2)).

``loc`` shifts the distribution and ``scale`` scales it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ..arguments import promote_args_inexact
from ..special.gamma_functions import betaln
from . import norm
from .distribution_utils import log1p_of_square


@jit_wrapped()
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the logarithm of the probability density function, accurate for many degrees of freedom.

    For infinite ``df`` it is that of the normal distribution.
    """
    x, df, loc, scale = promote_args_inexact(x, df, loc, scale)
    z = (x - loc) / scale
    is_infinite = df == math.inf
    df = jnp.where(is_infinite, 1, df)
    constant = betaln(jnp.full_like(df, 0.5), df / 2) + jnp.log(df) / 2 + jnp.log(scale)
    result = -(df + 1) / 2 * log1p_of_square(z, df) - constant
    return jnp.where(is_infinite, norm.logpdf(x, loc, scale), result)


@jit_wrapped()
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """Return the probability density function.

    >>> from xlascope.scipy.stats import t
    >>> print(f"{t.pdf(0.0, 1.0):.4f}")
    0.3183
    """
    return jnp.exp(logpdf(x, df, loc, scale))
