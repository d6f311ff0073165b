"""Multivariate normal distribution, exp(-(x - mean)ᵀ cov⁻¹ (x - mean) / 2) / √det(2π cov)."""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...lax import linalg as of_lax
from ...numpy.jit_wrapped import jit_wrapped
from ...trace.source import here
from ..arguments import promote_dtypes_inexact

_LOG_2PI = math.log(2 * math.pi)


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """Return the logarithm of the probability density function.

    ``x`` has the shape ``(…, n)``, ``mean`` ``(…, n)`` or ``()``, and ``cov`` ``(…, n, n)``, or ``()`` for a
    multiple of the identity. ``allow_singular`` has to be None (NotImplementedError). A matrix that is not
    positive definite gives NaN. Raises ValueError for other shapes.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.stats import multivariate_normal
    >>> print(f"{multivariate_normal.logpdf(jnp.zeros(2), jnp.zeros(2), jnp.eye(2)):.4f}")
    -1.8379
    """
    if allow_singular is not None:
        raise NotImplementedError(f"multivariate_normal.logpdf takes no allow_singular{here()}")
    return _logpdf(x, mean, cov)


@jit_wrapped()
def _logpdf(x: Any, mean: Any, cov: Any) -> Any:
    x, mean, cov = promote_dtypes_inexact(x, mean, cov)
    centered = x - mean
    if not mean.ndim and not cov.ndim:
        return -(centered * centered / cov + _LOG_2PI + jnp.log(cov)) / 2
    n = centered.shape[-1] if mean.ndim == 0 else mean.shape[-1]
    if not cov.ndim:
        return -(jnp.sum(centered * centered, -1) / cov + n * (_LOG_2PI + jnp.log(cov))) / 2
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal takes a number or a matrix of {n} rows and columns as cov, got {cov.shape}{here()}"
        )
    factor = of_lax.cholesky(cov)
    batch_shape = jnp.broadcast_shapes(centered.shape[:-1], cov.shape[:-2])
    if batch_shape and cov.ndim == 2:  # a single matrix: solve for all points as columns
        columns = jnp.reshape(centered, (-1, n)).T
        whitened = of_lax.triangular_solve(factor, columns, left_side=True, lower=True)
        distances = jnp.reshape(jnp.sum(whitened * whitened, 0), batch_shape)
    else:
        columns = jnp.broadcast_to(centered, (*batch_shape, n))[..., None]
        matrices = jnp.broadcast_to(factor, (*batch_shape, n, n))
        whitened = of_lax.triangular_solve(matrices, columns, left_side=True, lower=True)
        distances = jnp.sum(whitened * whitened, (-2, -1))
    determinants = jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), -1)
    return -distances / 2 - n / 2 * _LOG_2PI - determinants


def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """Return the probability density function; see :func:`logpdf`."""
    return jnp.exp(logpdf(x, mean, cov))
