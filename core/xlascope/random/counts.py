"""Numbers of events, and signs. Each sampler is one compiled call."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api import jit
from ..control.flow.loops import scan
from ..dtypes import canonical, is_floating, is_integer
from ..ir.requested_dtypes import requested_dtype
from ..numpy.promotion import common_dtype, to_inexact
from ..operations.comparisons import eq, lt
from ..operations.conversion import convert_element_type
from ..operations.cumulative import cumsum
from ..operations.exponentials import log, log1p
from ..operations.extremes import clamp
from ..operations.out_shardings import out_sharded
from ..operations.rounding import floor
from ..operations.selection import select
from ..operations.shapes import moveaxis
from ..trace.values import aval_of
from .binomials import binomial_values
from .continuous import Shape, fitted, shape_or_broadcast, uniform_values
from .drawing import new_keys
from .keys import checked, shape_of
from .parts import filled, spread
from .rejection import poisson_values


@out_sharded
def rademacher(key: Any, shape: Shape = (), dtype: Any = int) -> Any:
    """Signs: 1 and -1, each with probability 1/2, as numbers of ``dtype``.

    >>> import xlascope as xs
    >>> x = xs.random.rademacher(xs.random.PRNGKey(0), (3,))
    """
    return _rademacher(checked(key, "rademacher"), shape_of(shape, "rademacher"), requested_dtype(dtype))


@out_sharded
def geometric(key: Any, p: Any, shape: Shape | None = None, dtype: Any = int) -> Any:
    """How many trials it takes to the first success, each having the probability ``p``, which broadcasts to ``shape``.

    >>> import xlascope as xs
    >>> x = xs.random.geometric(xs.random.PRNGKey(0), 0.2, (3,))
    """
    sizes, whole = shape_or_broadcast(shape, "geometric", p), integer_of(dtype, "geometric")
    return _geometric(checked(key, "geometric"), p, sizes, whole)


@out_sharded
def poisson(key: Any, lam: Any, shape: Shape | None = None, dtype: Any = int) -> Any:
    """How many events there are when ``lam`` are expected; ``lam`` broadcasts to ``shape``. -1 for a negative ``lam``.

    Small numbers are counted (D. Knuth, The Art of Computer Programming 2, 3.4.1), others drawn by rejection
    (W. Hörmann: "The transformed rejection method for generating Poisson random variables", 1993).

    >>> import xlascope as xs
    >>> x = xs.random.poisson(xs.random.PRNGKey(0), 3.5, (3,))
    """
    sizes, whole = shape_or_broadcast(shape, "poisson", lam), integer_of(dtype, "poisson")
    return _poisson(checked(key, "poisson"), lam, sizes, whole)


def multinomial(
    key: Any, n: Any, p: Any, *, shape: Shape | None = None, dtype: Any = None, unroll: int | bool = 1
) -> Any:
    """How often each category is drawn in ``n`` draws with the probabilities ``p``, which stand along its last axis.

    ``p`` broadcasts to ``shape``, ``n`` to ``shape`` without its last axis. The result has ``shape`` and the dtype of
    floats unless ``dtype`` is another. Categories are drawn one after the other, each from what is left, in a loop of
    which ``unroll`` steps are written out.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> x = xs.random.multinomial(xs.random.PRNGKey(0), 10, jnp.array([0.2, 0.3, 0.5]))
    >>> print(x.sum())
    10.0
    """
    if not aval_of(p).shape:
        raise ValueError("random.multinomial takes p with the probabilities along its last axis, got a scalar")
    sizes = aval_of(p).shape if shape is None else shape_of(shape, "multinomial")
    found = requested_dtype(float if dtype is None else dtype)
    return _multinomial(checked(key, "multinomial"), n, p, sizes, found, unroll)


def integer_of(dtype: Any, user: str) -> np.dtype[Any]:
    """The integer dtype that was asked for; raises TypeError for another."""
    found = requested_dtype(dtype)
    if not is_integer(found):
        raise TypeError(f"random.{user} gives numbers of an integer dtype, got dtype={found.name}")
    return found


# Traced bodies ------------------------------------------------------------------------------------------------------


@jit(static_argnums=(1, 2))
def _rademacher(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return rademacher_values(key, shape, dtype)


def rademacher_values(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The numbers of :func:`rademacher`, for use inside other samplers."""
    up = lt(uniform_values(key, shape, canonical(float), 0.0, 1.0), 0.5)
    two, one = (np.array(each).astype(dtype)[()] for each in (2, 1))
    if dtype.kind == "b":
        return up
    return convert_element_type(up, dtype) * two - one


@jit(static_argnums=(2, 3))
def _geometric(key: Any, p: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    own = aval_of(p).dtype if is_floating(aval_of(p).dtype) else canonical(float)
    u = uniform_values(key, shape, own, 0.0, 1.0)
    u = select(eq(u, 0.0), filled(u, 1), u)
    return convert_element_type(floor(log(u) / log1p(-fitted(p, shape, own, "geometric"))) + 1.0, dtype)


@jit(static_argnums=(2, 3))
def _poisson(key: Any, lam: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return poisson_values(key, spread(lam, shape, np.dtype("float32"), "poisson"), dtype)


@jit(static_argnums=(3, 4, 5))
def _multinomial(key: Any, n: Any, p: Any, shape: tuple[int, ...], dtype: np.dtype[Any], unroll: int | bool) -> Any:
    own = to_inexact(common_dtype([aval_of(n), aval_of(p)])[0])
    if not is_floating(own):
        raise TypeError(f"random.multinomial takes real numbers and probabilities, got dtype={own.name}")
    n, p = spread(n, shape[:-1], own, "multinomial"), moveaxis(spread(p, shape, own, "multinomial"), len(shape) - 1, 0)
    left = cumsum(p, 0, reverse=True)
    conditional = p / select(eq(left, 0.0), filled(left, 1), left)

    def draw(left: Any, given: Any) -> Any:
        key, ratio = given
        zero, one = (np.array(each, own)[()] for each in (0, 1))
        drawn = binomial_values(key, left, clamp(zero, ratio, one), shape[:-1], own)
        return left - drawn, drawn

    _, drawn = scan(draw, n, (new_keys(key, (shape[-1],)), conditional), unroll=unroll)
    return convert_element_type(moveaxis(drawn, 0, len(shape) - 1), dtype)
