"""The binomial distribution: few successes are counted, many are drawn by rejection."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..control.flow.loop_api import while_loop
from ..control.jit.jit_function import jit_normalized
from ..dtypes import finfo, is_floating, to_canonical_dtype
from ..operations.arithmetic import abs
from ..operations.comparisons import eq, ge, gt, le, lt, ne
from ..operations.conversion import convert_element_type
from ..operations.exponentials import log, log1p, sqrt
from ..operations.extremes import clamp
from ..operations.indexing import GatherDimensionNumbers, gather
from ..operations.rounding import ceil, floor
from ..operations.selection import select
from ..operations.shapes import expand_dims
from ..trace.values import aval_of
from .continuous import Shape, require_float_dtype, shape_or_broadcast, uniform_values
from .keys import check_key
from .sampler_helpers import broadcast_parameter, filled_like, split_key, while_any

#: log(k!) less Stirling's formula for it, (k + 1/2) log(k + 1) - (k + 1) + log(2π)/2, for k = 0, …, 9.
_STIRLING_CORRECTIONS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.0207906721037650, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def binomial(key: Any, n: Any, p: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw the number of successes in ``n`` trials with probability ``p``; both broadcast to ``shape``.

    The numbers are integers of a floating-point dtype; NaN where ``n`` is negative or ``p`` is no probability.
    Few successes are counted by the trials between them, others drawn by rejection (W. Hörmann: "The generation of
    binomial random variates", Journal of Statistical Computation and Simulation 46, 1993).

    >>> import xlascope as xs
    >>> x = xs.random.binomial(xs.random.PRNGKey(0), 10, 0.3, (3,))
    """
    sizes, real = shape_or_broadcast(shape, "binomial", n, p), require_float_dtype(dtype, "binomial")
    return _binomial(check_key(key, "binomial"), n, p, sizes, real)


@jit_normalized((3, 4))
def _binomial(key: Any, n: Any, p: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    p_dtype = aval_of(p).dtype
    draw_dtype = p_dtype if is_floating(p_dtype) else to_canonical_dtype(float)  # independent of the result's dtype
    n, p = (broadcast_parameter(x, shape, draw_dtype, "binomial") for x in (n, p))
    return convert_element_type(binomial_values(key, n, p), dtype)


def binomial_values(key: Any, n: Any, p: Any) -> Any:
    """Draw the numbers of :func:`binomial` inside another sampler.

    ``key`` is a result of ``check_key``; ``n`` and ``p`` have the shape and the floating-point dtype of the
    result.
    """
    rare = lt(p, 0.5)
    q = select(rare, p, 1.0 - p)  # count the rarer outcome
    no_count, endless = ne(n, n) | lt(n, 0.0), eq(abs(n), np.inf)
    no_chance = ne(q, q) | lt(q, 0.0)
    q = select(no_chance, filled_like(q, 0.01), q)
    is_small = no_count | le(n * q, 10.0)
    n = floor(n)
    by_counting = _count_successes(key, select(is_small, n, filled_like(n, 0)), q)
    rejected = _by_rejection(key, select(is_small, filled_like(n, 1e4), n), select(is_small, filled_like(q, 0.5), q))
    samples = select(is_small, by_counting, rejected)
    wrong = no_count | no_chance
    samples = select(wrong, filled_like(samples, np.nan), samples)
    samples = select(endless & ~wrong, filled_like(samples, np.inf), samples)
    return select(rare | wrong | endless, samples, n - samples)


def _count_successes(key: Any, n: Any, q: Any) -> Any:
    """Count the successes in ``n`` trials of probability ``q``.

    It draws the geometrically distributed number of trials to the next success, until ``n`` is exceeded.
    """
    aval = aval_of(n)
    log_failure = log1p(-q)

    def condition(state: Any) -> Any:
        return le(state[2], n)

    def step(state: Any) -> Any:
        count, successes, trials, key = state
        subkey, next_key = split_key(key, 2)
        u = uniform_values(subkey, aval.shape, aval.dtype, 0.0, 1.0)
        successes = select(condition(state), successes + 1.0, successes)
        # Both logarithms are negative; for a certain failure the compiler may produce 0 as well as -0.
        return count + 1, successes, trials + ceil(abs(log(u) / log_failure)), next_key

    start = (0, filled_like(n, 0), filled_like(n, 0), key)
    return while_loop(while_any(condition, float(finfo(aval.dtype).max)), step, start)[1] - 1.0


def _by_rejection(key: Any, n: Any, q: Any) -> Any:
    """Draw from the binomial distribution of ``n`` trials of probability ``q``, at most 1/2, with n q above 10.

    The algorithm is Hörmann's BTRS (1993), with its constants and names.
    """
    aval = aval_of(n)
    spq = sqrt(n * q * (1.0 - q))
    b = 1.15 + 2.53 * spq
    a = -0.0873 + 0.0248 * b + 0.01 * q
    c = n * q + 0.5
    v_r = 0.92 - 4.2 / b
    r = q / (1.0 - q)
    alpha = (2.83 + 5.1 / b) * spq
    m = floor((n + 1.0) * q)

    def condition(state: Any) -> Any:
        return ~state[2]

    def step(state: Any) -> Any:
        count, samples, accepted, key = state
        next_key, first, second = split_key(key, 3)
        u = uniform_values(first, aval.shape, aval.dtype, 0.0, 1.0)
        v = uniform_values(second, aval.shape, aval.dtype, 0.0, 1.0)
        u = u - 0.5
        u_s = 0.5 - abs(u)
        k = floor((2.0 * a / u_s + b) * u + c)
        at_once = ge(u_s, 0.07) & le(v, v_r)
        never = lt(k, 0.0) | gt(k, n)
        bound = (
            (m + 0.5) * log((m + 1.0) / (r * (n - m + 1.0)))
            + (n + 1.0) * log((n - m + 1.0) / (n - k + 1.0))
            + (k + 0.5) * log(r * (n - k + 1.0) / (k + 1.0))
            + _stirling_correction(m)
            + _stirling_correction(n - m)
            - _stirling_correction(k)
            - _stirling_correction(n - k)
        )
        accept = at_once | (~never & le(log(v * alpha / (a / (u_s * u_s) + b)), bound))
        return count + 1, select(accept, k, samples), accepted | accept, next_key

    start = (0, filled_like(n, -1), ne(n, n) & False, key)
    return while_loop(while_any(condition, float(finfo(aval.dtype).max)), step, start)[1]


def _stirling_correction(k: Any) -> Any:
    # From 9 on JAX uses the value for 9 (about 1/1080); the results have to match JAX's.
    """Return log(k!) minus Hörmann's form of Stirling's approximation: from a table up to 9, above by a series."""
    aval = aval_of(k)
    table = np.array(_STIRLING_CORRECTIONS).astype(aval.dtype)
    small = clamp(np.array(0, aval.dtype)[()], k, np.array(9, aval.dtype)[()])
    next_ = small + 1.0
    series = (1 / 12 - (1 / 360 - 1 / 1260 / (next_ * next_)) / (next_ * next_)) / next_
    index = expand_dims(convert_element_type(floor(small), np.dtype("int32")), (len(aval.shape),))
    numbers = GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))
    return select(le(k, 9.0), gather(table, index, numbers, (1,)), series)
