"""What distributions share: probabilities, logarithms near one, whole numbers."""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as jnp
from ..arguments import epsilon


def probability(q: Any) -> Any:
    """The values from 0 to 1, NaN in place of others."""
    return jnp.where((q >= 0) & (q <= 1), q, math.nan)


def log_one_minus_exp(x: Any) -> Any:
    """log(1 - exp(x)) for negative x, exact near both ends (M. Mächler, "Accurately computing log(1 - exp(-|a|))")."""
    near = x > -math.log(2)
    by_difference = jnp.log(-jnp.expm1(jnp.where(near, x, -1)))
    return jnp.where(near, by_difference, jnp.log1p(-jnp.exp(jnp.where(near, -1, x))))


def log1p_of_square(z: Any, divisor: Any = 1) -> Any:
    """Return log(1 + z²/divisor), also where z² is infinite."""
    far = jnp.abs(z) > 2 / math.sqrt(epsilon(z.dtype)) * jnp.sqrt(jnp.maximum(divisor, 1))
    near = jnp.where(far, 0, z)
    logarithm = 2 * jnp.log(jnp.where(far, jnp.abs(z), 1)) - jnp.log(divisor)
    return jnp.where(far, logarithm, jnp.log1p(near * near / divisor))


def whole_within(k: Any, most: Any = math.inf) -> tuple[Any, Any]:
    """Whole numbers from 0 to ``most``, with 0 in place of others; and which are such numbers, NaN among them."""
    unknown = (k < 0) | (k > most) | (k != jnp.floor(k)) & ~jnp.isnan(k)
    return jnp.where(unknown, 0, k), ~unknown
