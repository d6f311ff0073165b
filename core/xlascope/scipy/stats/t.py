"""Student's t distribution with ``df`` degrees of freedom, (1 + z²/df)^(-(df+1)/2) / (√df B(1/2, df/2)).

``loc`` moves the distribution, ``scale`` stretches it; all arguments broadcast, integers become floats.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.together import together
from ..arguments import floats
from ..special.gammas import betaln
from . import norm
from .tails import log1p_of_square


@together()
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density, without cancellation for many degrees of freedom; the normal one for infinity."""
    x, df, loc, scale = floats(x, df, loc, scale)
    z = (x - loc) / scale
    endless = df == math.inf
    df = jnp.where(endless, 1, df)
    constant = betaln(jnp.full_like(df, 0.5), df / 2) + jnp.log(df) / 2 + jnp.log(scale)
    found = -(df + 1) / 2 * log1p_of_square(z, df) - constant
    return jnp.where(endless, norm.logpdf(x, loc, scale), found)


@together()
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density.

    >>> from xlascope.scipy.stats import t
    >>> print(f"{t.pdf(0.0, 1.0):.4f}")
    0.3183
    """
    return jnp.exp(logpdf(x, df, loc, scale))
