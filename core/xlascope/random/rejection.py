"""The Poisson distribution: small numbers are counted, large ones drawn by rejection."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..control.flow.loops import while_loop
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
from .parts import filled, parts, while_any

#: The smallest mean for which numbers are drawn by rejection.
_MANY = 10.0


def poisson_values(key: Any, lam: Any, dtype: np.dtype[Any]) -> Any:
    """Draw the numbers of :func:`poisson` for means in single precision, of their shape."""
    few = ne(lam, lam) | lt(lam, _MANY)
    counted = _counted(key, select(few, lam, filled(lam, 0)), dtype)
    drawn = select(few, counted, _by_rejection(key, select(few, filled(lam, 1e5), lam), dtype))
    return select(eq(lam, 0.0), filled(drawn, 0), drawn)


def _counted(key: Any, lam: Any, dtype: np.dtype[Any]) -> Any:
    """Count events by multiplying uniform numbers until the product falls below e^-λ (D. Knuth)."""
    shape = aval_of(lam).shape

    def condition(state: Any) -> Any:
        return gt(state[3], -lam)

    def step(state: Any) -> Any:
        count, events, key, product = state
        following, now = parts(key, 2)
        events = select(condition(state), events + 1, events)
        return count + 1, events, following, product + log(uniform_values(now, shape, aval_of(lam).dtype, 0.0, 1.0))

    none = convert_element_type(filled(lam, 0), dtype)
    _, events, _, _ = while_loop(while_any(condition, iinfo(dtype).max), step, (0, none, key, filled(lam, 0)))
    return events - 1


def _by_rejection(key: Any, lam: Any, dtype: np.dtype[Any]) -> Any:
    """Draw by Hörmann's algorithm PTRS (1993), with its constants and names."""
    shape, single = aval_of(lam).shape, aval_of(lam).dtype
    log_lam = log(lam)
    b = 0.931 + 2.53 * sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2.0)

    def condition(state: Any) -> Any:
        return ~state[2]

    def step(state: Any) -> Any:
        count, drawn, accepted, key = state
        following, first, second = parts(key, 3)
        u = uniform_values(first, shape, single, 0.0, 1.0) - 0.5
        v = uniform_values(second, shape, single, 0.0, 1.0)
        u_s = 0.5 - abs(u)
        k = floor((2.0 * a / u_s + b) * u + lam + 0.43)
        s = log(v * inverse_alpha / (a / (u_s * u_s) + b))
        t = -lam + k * log_lam - lgamma(k + 1.0)
        at_once = ge(u_s, 0.07) & le(v, v_r)
        never = lt(k, 0.0) | (lt(u_s, 0.013) & gt(v, u_s))
        accept = at_once | (~never & le(s, t))
        return count + 1, select(accept, k, drawn), accepted | accept, following

    start = (0, filled(lam, -1), ne(lam, lam) & False, key)
    _, drawn, _, _ = while_loop(while_any(condition, iinfo(dtype).max), step, start)
    return convert_element_type(drawn, dtype)
