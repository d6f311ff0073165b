"""The Poisson distribution: small numbers are counted, large ones drawn by rejection."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..control.flow.loop_api import while_loop
from ..dtypes import iinfo
from ..operations.arithmetic import abs
from ..operations.comparisons import eq, ge, gt, le, lt, ne
from ..operations.conversion import convert_element_type
from ..operations.exponentials import log, sqrt
from ..operations.rounding import floor
from ..operations.selection import select
from ..operations.special import lgamma
from ..trace.values import aval_of
from .continuous import uniform_values
from .sampler_helpers import filled_like, split_key, while_any

#: The smallest mean for which numbers are drawn by rejection.
_MIN_REJECTION_MEAN = 10.0


def poisson_values(key: Any, lam: Any, dtype: np.dtype[Any]) -> Any:
    """Draw the numbers of :func:`poisson` inside another sampler, in the shape of ``lam`` and in ``dtype``.

    ``key`` is a result of ``check_key``; ``lam`` has the means, in float32.
    """
    is_small = ne(lam, lam) | lt(lam, _MIN_REJECTION_MEAN)
    by_counting = _count_events(key, select(is_small, lam, filled_like(lam, 0)), dtype)
    samples = select(is_small, by_counting, _by_rejection(key, select(is_small, filled_like(lam, 1e5), lam), dtype))
    return select(eq(lam, 0.0), filled_like(samples, 0), samples)


def _count_events(key: Any, lam: Any, dtype: np.dtype[Any]) -> Any:
    """Count events with mean ``lam`` by multiplying uniform numbers until the product is below e^-λ (D. Knuth)."""
    shape = aval_of(lam).shape

    def condition(state: Any) -> Any:
        return gt(state[3], -lam)

    def step(state: Any) -> Any:
        count, events, key, product = state
        next_key, subkey = split_key(key, 2)
        events = select(condition(state), events + 1, events)
        return count + 1, events, next_key, product + log(uniform_values(subkey, shape, aval_of(lam).dtype, 0.0, 1.0))

    none = convert_element_type(filled_like(lam, 0), dtype)
    _, events, _, _ = while_loop(while_any(condition, iinfo(dtype).max), step, (0, none, key, filled_like(lam, 0)))
    return events - 1


def _by_rejection(key: Any, lam: Any, dtype: np.dtype[Any]) -> Any:
    """Draw from the Poisson distribution with mean ``lam``, at least 10, as integers of ``dtype``.

    The algorithm is Hörmann's PTRS (1993), with its constants and names.
    """
    shape, single = aval_of(lam).shape, aval_of(lam).dtype
    log_lam = log(lam)
    b = 0.931 + 2.53 * sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2.0)

    def condition(state: Any) -> Any:
        return ~state[2]

    def step(state: Any) -> Any:
        count, samples, accepted, key = state
        next_key, first, second = split_key(key, 3)
        u = uniform_values(first, shape, single, 0.0, 1.0) - 0.5
        v = uniform_values(second, shape, single, 0.0, 1.0)
        u_s = 0.5 - abs(u)
        k = floor((2.0 * a / u_s + b) * u + lam + 0.43)
        s = log(v * inverse_alpha / (a / (u_s * u_s) + b))
        t = -lam + k * log_lam - lgamma(k + 1.0)
        at_once = ge(u_s, 0.07) & le(v, v_r)
        never = lt(k, 0.0) | (lt(u_s, 0.013) & gt(v, u_s))
        accept = at_once | (~never & le(s, t))
        return count + 1, select(accept, k, samples), accepted | accept, next_key

    start = (0, filled_like(lam, -1), ne(lam, lam) & False, key)
    _, samples, _, _ = while_loop(while_any(condition, iinfo(dtype).max), step, start)
    return convert_element_type(samples, dtype)
