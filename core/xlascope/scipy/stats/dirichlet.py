"""Dirichlet distribution on vectors of positive components with sum 1: Π xᵢ^(αᵢ-1) Γ(Σ α) / Π Γ(αᵢ)."""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...numpy.jit_wrapped import jit_wrapped
from ...trace.source import here
from ..arguments import machine_epsilon, promote_dtypes_inexact
from ..special.gamma_functions import gammaln
from ..special.logarithms import xlogy


@jit_wrapped()
def logpdf(x: Any, alpha: Any) -> Any:
    """Return the logarithm of the probability density function, -inf outside of the simplex.

    ``alpha`` has shape ``(n,)``; ``x`` has n components along its first axis, or n - 1, in which case the last is 1
    minus their sum. Raises ValueError for other shapes.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.stats import dirichlet
    >>> print(f"{dirichlet.logpdf(jnp.array([0.25, 0.75]), jnp.array([1.0, 2.0])):.4f}")
    0.4055
    """
    x, alpha = promote_dtypes_inexact(x, alpha)
    if alpha.ndim != 1:
        raise ValueError(f"dirichlet takes alpha as a vector, got shape {alpha.shape}{here()}")
    n = alpha.shape[0]
    if not x.ndim or x.shape[0] not in (n - 1, n):
        raise ValueError(
            f"dirichlet takes {n} parts along the first axis of x, or {n - 1}, got shape {x.shape}{here()}"
        )
    if x.shape[0] == n - 1:
        x = jnp.concatenate([x, 1 - jnp.sum(x, 0, keepdims=True)], 0)
    alphas = jnp.expand_dims(alpha, tuple(range(1, x.ndim)))
    constant = jnp.sum(gammaln(alpha)) - gammaln(jnp.sum(alpha))
    near = 16 * machine_epsilon(x.dtype)
    inside = (jnp.abs(jnp.sum(x, 0) - 1) < near * n) & jnp.all(x >= 0, 0)
    parts = jnp.where(inside, x, 1 / n)
    return jnp.where(inside, jnp.sum(xlogy(alphas - 1, parts), 0) - constant, -math.inf)


@jit_wrapped()
def pdf(x: Any, alpha: Any) -> Any:
    """Return the probability density function, 0 outside of the simplex; see :func:`logpdf`."""
    return jnp.exp(logpdf(x, alpha))
