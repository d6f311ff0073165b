"""Logarithms of probabilities with large parameters, arranged so that large terms cancel analytically.

After C. Loader, Fast and accurate computation of binomial probabilities (2000). Each function also returns a
mask of where it is valid; elsewhere its value and its derivatives are arbitrary finite numbers.
"""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ...control.special.factors import MIN_STIRLING_ARGUMENT, log_beta_factor_of_large, log_gamma_factor_of_large


def log_gamma_factor(a: Any, x: Any) -> tuple[Any, Any]:
    """Return log(x^a e^-x / Γ(a + 1)), and a mask of where a is large."""
    large = _is_large(a) & (x > 0) & (x < math.inf)
    a, x = jnp.where(large, a, MIN_STIRLING_ARGUMENT), jnp.where(large, x, MIN_STIRLING_ARGUMENT)
    return log_gamma_factor_of_large(a, x), large


def log_beta_factor(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """Return log(x^a (1 - x)^b / B(a, b)), and a mask of where a and b are large."""
    large = _is_large(a) & _is_large(b) & (x > 0) & (x < 1)
    a, b, x = (
        jnp.where(large, a, MIN_STIRLING_ARGUMENT),
        jnp.where(large, b, MIN_STIRLING_ARGUMENT),
        jnp.where(large, x, 0.5),
    )
    return log_beta_factor_of_large(a, b, x, 1 - x), large


def log_binomial(k: Any, n: Any, p: Any) -> tuple[Any, Any]:
    """Return the logarithm of the binomial probability of k, and a mask of where k and n - k are large."""
    factor, large = log_beta_factor(k, n - k, p)
    k, n = jnp.where(large, k, MIN_STIRLING_ARGUMENT), jnp.where(large, n, 2 * MIN_STIRLING_ARGUMENT)
    return factor - jnp.log(k) - jnp.log1p(-k / n), large


def _is_large(a: Any) -> Any:
    return (a > MIN_STIRLING_ARGUMENT) & (a < math.inf)
