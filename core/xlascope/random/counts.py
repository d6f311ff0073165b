"""Distributions of counts and signs; each sampler is one compiled call."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..control.flow.loop_api import scan
from ..control.jit.jit_function import jit_normalized
from ..dtypes import is_floating, is_integer, to_canonical_dtype
from ..ir.requested_dtypes import resolve_requested_dtype
from ..numpy.promotion import common_dtype, to_inexact
from ..operations.comparisons import eq, lt
from ..operations.conversion import convert_element_type
from ..operations.cumulative import cumsum
from ..operations.exponentials import log, log1p
from ..operations.extremes import clamp
from ..operations.out_shardings import with_out_sharding
from ..operations.rounding import floor
from ..operations.selection import select
from ..operations.shapes import moveaxis
from ..trace.values import aval_of
from .binomials import binomial_values
from .continuous import Shape, convert_parameter, shape_or_broadcast, uniform_values
from .key_algorithms import new_keys
from .keys import check_key, shape_of
from .poisson_sampling import poisson_values
from .sampler_helpers import broadcast_parameter, filled_like


@with_out_sharding
def rademacher(key: Any, shape: Shape = (), dtype: Any = int) -> Any:
    """Draw signs: 1 and -1, each with probability 1/2, as numbers of ``dtype``.

    >>> import xlascope as xs
    >>> x = xs.random.rademacher(xs.random.PRNGKey(0), (3,))
    """
    return _rademacher(check_key(key, "rademacher"), shape_of(shape, "rademacher"), resolve_requested_dtype(dtype))


@with_out_sharding
def geometric(key: Any, p: Any, shape: Shape | None = None, dtype: Any = int) -> Any:
    """Draw the number of trials to the first success of probability ``p``, which broadcasts to ``shape``.

    >>> import xlascope as xs
    >>> x = xs.random.geometric(xs.random.PRNGKey(0), 0.2, (3,))
    """
    sizes, integer_dtype = shape_or_broadcast(shape, "geometric", p), require_integer_dtype(dtype, "geometric")
    return _geometric(check_key(key, "geometric"), p, sizes, integer_dtype)


@with_out_sharding
def poisson(key: Any, lam: Any, shape: Shape | None = None, dtype: Any = int) -> Any:
    """Draw from the Poisson distribution with the mean ``lam``; -1 for a negative ``lam``.

    ``lam`` broadcasts to ``shape``. Small numbers are counted (D. Knuth, The Art of Computer Programming 2,
    3.4.1), others drawn by rejection (W. Hörmann: "The transformed rejection method for generating Poisson random
    variables", 1993).

    >>> import xlascope as xs
    >>> x = xs.random.poisson(xs.random.PRNGKey(0), 3.5, (3,))
    """
    sizes, integer_dtype = shape_or_broadcast(shape, "poisson", lam), require_integer_dtype(dtype, "poisson")
    return _poisson(check_key(key, "poisson"), lam, sizes, integer_dtype)


def multinomial(
    key: Any, n: Any, p: Any, *, shape: Shape | None = None, dtype: Any = None, unroll: int | bool = 1
) -> Any:
    """Draw the counts of each category in ``n`` draws with the probabilities ``p`` along its last axis.

    ``p`` broadcasts to ``shape``, ``n`` to ``shape`` without its last axis. The result has ``shape`` and
    ``dtype`` (None: the default float). Categories are drawn one after the other, each from the remaining draws,
    in a loop of which ``unroll`` steps are unrolled.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> x = xs.random.multinomial(xs.random.PRNGKey(0), 10, jnp.array([0.2, 0.3, 0.5]))
    >>> print(x.sum())
    10.0
    """
    if not aval_of(p).shape:
        raise ValueError("random.multinomial takes p with the probabilities along its last axis, got a scalar")
    sizes = aval_of(p).shape if shape is None else shape_of(shape, "multinomial")
    result_dtype = resolve_requested_dtype(float if dtype is None else dtype)
    return _multinomial(check_key(key, "multinomial"), n, p, sizes, result_dtype, unroll)


def require_integer_dtype(dtype: Any, user: str) -> np.dtype[Any]:
    """Return the dtype requested from the sampler ``user``; raise TypeError unless it is an integer dtype."""
    requested = resolve_requested_dtype(dtype)
    if not is_integer(requested):
        raise TypeError(f"random.{user} gives numbers of an integer dtype, got dtype={requested.name}")
    return requested


# Traced bodies ------------------------------------------------------------------------------------------------------


@jit_normalized((1, 2))
def _rademacher(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return rademacher_values(key, shape, dtype)


def rademacher_values(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Draw the numbers of :func:`rademacher` inside another sampler; ``key`` is a result of ``check_key``."""
    up = lt(uniform_values(key, shape, to_canonical_dtype(float), 0.0, 1.0), 0.5)
    two, unit = (np.array(value).astype(dtype)[()] for value in (2, 1))
    if dtype.kind == "b":
        return up
    return convert_element_type(up, dtype) * two - unit


@jit_normalized((2, 3))
def _geometric(key: Any, p: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    draw_dtype = aval_of(p).dtype if is_floating(aval_of(p).dtype) else to_canonical_dtype(float)
    u = uniform_values(key, shape, draw_dtype, 0.0, 1.0)
    u = select(eq(u, 0.0), filled_like(u, 1), u)
    return convert_element_type(
        floor(log(u) / log1p(-convert_parameter(p, shape, draw_dtype, "geometric"))) + 1.0, dtype
    )


@jit_normalized((2, 3))
def _poisson(key: Any, lam: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return poisson_values(key, broadcast_parameter(lam, shape, np.dtype("float32"), "poisson"), dtype)


@jit_normalized((3, 4, 5))
def _multinomial(key: Any, n: Any, p: Any, shape: tuple[int, ...], dtype: np.dtype[Any], unroll: int | bool) -> Any:
    draw_dtype = to_inexact(common_dtype([aval_of(n), aval_of(p)])[0])
    if not is_floating(draw_dtype):
        raise TypeError(f"random.multinomial takes real numbers and probabilities, got dtype={draw_dtype.name}")
    n, p = (
        broadcast_parameter(n, shape[:-1], draw_dtype, "multinomial"),
        moveaxis(broadcast_parameter(p, shape, draw_dtype, "multinomial"), len(shape) - 1, 0),
    )
    remaining = cumsum(p, 0, reverse=True)
    conditional = p / select(eq(remaining, 0.0), filled_like(remaining, 1), remaining)

    def draw(remaining: Any, inputs: Any) -> Any:
        key, ratio = inputs
        zero, unit = (np.array(value, draw_dtype)[()] for value in (0, 1))
        count = binomial_values(key, remaining, clamp(zero, ratio, unit))
        return remaining - count, count

    _, counts = scan(draw, n, (new_keys(key, (shape[-1],)), conditional), unroll=unroll)
    return convert_element_type(moveaxis(counts, 0, len(shape) - 1), dtype)
