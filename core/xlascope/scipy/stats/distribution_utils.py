"""Utilities of distributions: validation of probabilities, accurate logarithms, integers of the support."""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ..arguments import machine_epsilon


def nan_unless_probability(q: Any) -> Any:
    """Return values from 0 to 1 unchanged, and NaN in place of others."""
    return jnp.where((q >= 0) & (q <= 1), q, math.nan)


def log1mexp(x: Any) -> Any:
    """Return log(1 - exp(x)) for negative x, accurate near both ends.

    (M. Mächler, "Accurately computing log(1 - exp(-|a|))".)
    """
    near = x > -math.log(2)
    by_difference = jnp.log(-jnp.expm1(jnp.where(near, x, -1)))
    return jnp.where(near, by_difference, jnp.log1p(-jnp.exp(jnp.where(near, -1, x))))


def log1p_of_square(z: Any, divisor: Any = 1) -> Any:
    """Return log(1 + z²/divisor), without overflow of z²."""
    far = jnp.abs(z) > 2 / math.sqrt(machine_epsilon(z.dtype)) * jnp.sqrt(jnp.maximum(divisor, 1))
    near = jnp.where(far, 0, z)
    logarithm = 2 * jnp.log(jnp.where(far, jnp.abs(z), 1)) - jnp.log(divisor)
    return jnp.where(far, logarithm, jnp.log1p(near * near / divisor))


def mask_to_integers(k: Any, maximum: Any = math.inf) -> tuple[Any, Any]:
    """Return k with 0 in place of all but integers from 0 to ``maximum``, and a mask of those integers.

    The mask is true for NaN, which is kept so that it propagates.
    """
    outside = (k < 0) | (k > maximum) | (k != jnp.floor(k)) & ~jnp.isnan(k)
    return jnp.where(outside, 0, k), ~outside
