"""The gamma distribution and distributions derived from it; each sampler is one compiled call.

G. Marsaglia, W. W. Tsang: "A simple method for generating gamma variables", ACM Transactions on Mathematical Software
26, 2000. A number is d v for d = a - 1/3 and v = (1 + x / √(9d))³ of a normal x, which is redrawn until a uniform u
accepts it. For a < 1 a number for a + 1 is multiplied by u^(1/a).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..api import jit, vmap
from ..control.flow.loops import scan, while_loop
from ..control.rules.custom_jvp import custom_jvp
from ..control.rules.custom_vmap import custom_vmap
from ..control.special.gamma import random_gamma_grad
from ..dtypes import finfo
from ..key_types import is_key
from ..operations.barriers import stop_gradient
from ..operations.comparisons import eq, ge, le
from ..operations.exponentials import exp, log, pow, sqrt
from ..operations.extremes import max
from ..operations.out_shardings import out_sharded
from ..operations.reductions import reduce_max
from ..operations.selection import select
from ..operations.shapes import broadcast_in_dim, expand_dims, reduce_sum, reshape
from ..trace.values import aval_of
from .continuous import Shape, fitted, real_of, shape_or_broadcast, uniform_values
from .continuous import exponential as _exponential
from .continuous import normal as _normal
from .drawing import new_keys
from .keys import checked, shape_of
from .parts import parts


@out_sharded
def gamma(key: Any, a: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw from the gamma distribution with shape parameter ``a`` and scale 1; ``a`` broadcasts to ``shape``.

    The density is x^(a - 1) e^-x / Γ(a). A number can be differentiated in ``a``: it moves so that its probability to
    be exceeded stays (:func:`lax.random_gamma_grad`). For small ``a`` numbers may be 0; see :func:`loggamma`.

    >>> import xlascope as xs
    >>> x = xs.random.gamma(xs.random.PRNGKey(0), 2.0, (3,))
    """
    sizes, real = shape_or_broadcast(shape, "gamma", a), real_of(dtype, "gamma")
    return _gamma(checked(key, "gamma"), a, sizes, real, False)


@out_sharded
def loggamma(key: Any, a: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw logarithms of gamma-distributed numbers, exact where the numbers are too small for the dtype.

    >>> import xlascope as xs
    >>> x = xs.random.loggamma(xs.random.PRNGKey(0), 0.001, (3,))
    """
    sizes, real = shape_or_broadcast(shape, "loggamma", a), real_of(dtype, "loggamma")
    return _gamma(checked(key, "loggamma"), a, sizes, real, True)


@out_sharded
def chisquare(key: Any, df: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw from the chi-square distribution with ``df`` degrees of freedom, which broadcast to ``shape``.

    >>> import xlascope as xs
    >>> x = xs.random.chisquare(xs.random.PRNGKey(0), 3.0, (4,))
    """
    sizes, real = shape_or_broadcast(shape, "chisquare", df), real_of(dtype, "chisquare")
    return _chisquare(checked(key, "chisquare"), df, sizes, real)


@out_sharded
def f(key: Any, dfnum: Any, dfden: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw from the F distribution: quotients of chi-square numbers, each over its degrees of freedom.

    ``dfnum`` and ``dfden``, the degrees of freedom of numerator and denominator, broadcast to ``shape``.

    >>> import xlascope as xs
    >>> x = xs.random.f(xs.random.PRNGKey(0), 3.0, 5.0, (4,))
    """
    sizes, real = shape_or_broadcast(shape, "f", dfnum, dfden), real_of(dtype, "f")
    return _f(checked(key, "f"), dfnum, dfden, sizes, real)


@out_sharded
def t(key: Any, df: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw from Student's t distribution with ``df`` degrees of freedom, which broadcast to ``shape``.

    >>> import xlascope as xs
    >>> x = xs.random.t(xs.random.PRNGKey(0), 3.0, (4,))
    """
    sizes, real = shape_or_broadcast(shape, "t", df), real_of(dtype, "t")
    return _t(checked(key, "t"), df, sizes, real)


@out_sharded
def beta(key: Any, a: Any, b: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw numbers in (0, 1) from the beta distribution, x^(a - 1) (1 - x)^(b - 1) / B(a, b).

    ``a`` and ``b`` broadcast to ``shape``.

    >>> import xlascope as xs
    >>> x = xs.random.beta(xs.random.PRNGKey(0), 2.0, 3.0, (4,))
    """
    sizes, real = shape_or_broadcast(shape, "beta", a, b), real_of(dtype, "beta")
    return _beta(checked(key, "beta"), a, b, sizes, real)


@out_sharded
def dirichlet(key: Any, alpha: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw vectors of positive numbers with the sum 1, from Dirichlet's distribution.

    ``alpha`` has the parameters along its last axis; the axes before broadcast to ``shape``, and the result has
    ``shape`` with that last axis behind it. Raises ValueError for an ``alpha`` without axes.

    >>> import xlascope as xs
    >>> xs.random.dirichlet(xs.random.PRNGKey(0), xs.numpy.ones(3), (4,)).shape
    (4, 3)
    """
    alpha_shape = aval_of(alpha).shape
    if not alpha_shape:
        raise ValueError("random.dirichlet takes alpha with the parameters along its last axis, got a scalar")
    sizes = alpha_shape[:-1] if shape is None else shape_of(shape, "dirichlet")
    return _dirichlet(checked(key, "dirichlet"), alpha, (*sizes, alpha_shape[-1]), real_of(dtype, "dirichlet"))


# Traced bodies ------------------------------------------------------------------------------------------------------


@jit(static_argnums=(2, 3, 4))
def _gamma(key: Any, a: Any, shape: tuple[int, ...], dtype: np.dtype[Any], logarithm: bool) -> Any:
    return gamma_values(key, a, shape, dtype, logarithm)


@jit(static_argnums=(2, 3))
def _chisquare(key: Any, df: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return _chisquare_values(key, fitted(df, shape, dtype, "chisquare"), shape, dtype)


def _chisquare_values(key: Any, df: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return exp(gamma_values(key, df / 2.0, shape, dtype, True)) * 2.0


@jit(static_argnums=(3, 4))
def _f(key: Any, dfnum: Any, dfden: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    below, above = parts(key, 2)
    dfnum, dfden = (fitted(df, shape, dtype, "f") for df in (dfnum, dfden))
    x, y = _chisquare_values(above, dfnum, shape, dtype), _chisquare_values(below, dfden, shape, dtype)
    return (x / dfnum) / (y / dfden)


@jit(static_argnums=(2, 3))
def _t(key: Any, df: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    of_normal, of_gamma = parts(key, 2)
    half = fitted(df, shape, dtype, "t") / 2.0
    return _normal(of_normal, shape, dtype) * sqrt(half / gamma_values(of_gamma, half, shape, dtype, False))


@jit(static_argnums=(3, 4))
def _beta(key: Any, a: Any, b: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    # x / (x + y) for gamma numbers x and y, scaled by the larger of them: no 0 / 0 where both are tiny.
    x, y = (gamma_values(k, p, shape, dtype, True) for k, p in zip(parts(key, 2), (a, b), strict=True))
    larger = max(x, y)
    x, y = exp(x - larger), exp(y - larger)
    return x / (x + y)


@jit(static_argnums=(2, 3))
def _dirichlet(key: Any, alpha: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    x, last = gamma_values(key, alpha, shape, dtype, True), len(shape) - 1
    x = exp(x - expand_dims(stop_gradient(reduce_max(x, (last,))), (last,)))
    return x / expand_dims(reduce_sum(x, (last,)), (last,))


# With XLA's generator ------------------------------------------------------------------------------------------------

# Mapped over keys it would draw from the first one only. So numbers are drawn in a loop, also under vmap,
# each with its own key, as JAX does on CPUs.


@custom_vmap
def _in_turn(keys: Any, a: Any) -> Any:
    return _each_in_turn(keys, a, False)


@custom_vmap
def _logarithms_in_turn(keys: Any, a: Any) -> Any:
    return _each_in_turn(keys, a, True)


@_in_turn.def_vmap
def _more_in_turn(size: int, mapped: list[bool], keys: Any, a: Any) -> tuple[Any, bool]:
    return _in_turn(*_all_mapped(size, mapped, keys, a)), True


@_logarithms_in_turn.def_vmap
def _more_logarithms_in_turn(size: int, mapped: list[bool], keys: Any, a: Any) -> tuple[Any, bool]:
    return _logarithms_in_turn(*_all_mapped(size, mapped, keys, a)), True


def _all_mapped(size: int, mapped: list[bool], *operands: Any) -> list[Any]:
    """Return the operands of all examples, unmapped ones repeated."""
    shapes = [aval_of(x).shape for x in operands]
    return [
        x if is_mapped else broadcast_in_dim(x, (size, *shape), range(1, 1 + len(shape)))
        for x, is_mapped, shape in zip(operands, mapped, shapes, strict=True)
    ]


def _each_in_turn(keys: Any, a: Any, logarithm: bool) -> Any:
    """Draw numbers for parameters along the last axis of ``a``, with a key for each index of the leading axes."""
    shape = aval_of(a).shape

    def of_key(key: Any) -> Any:
        return new_keys(key, shape[-1:])

    for _ in shape[:-1]:
        of_key = vmap(of_key)
    size = math.prod(shape)
    inputs = (reshape(of_key(keys), (size,)), reshape(a, (size,)))
    return reshape(scan(lambda carry, pair: (carry, _one(pair[0], pair[1], logarithm)), None, inputs)[1], shape)


# One number ---------------------------------------------------------------------------------------------------------


def gamma_values(key: Any, a: Any, shape: tuple[int, ...], dtype: np.dtype[Any], logarithm: bool) -> Any:
    """Draw the numbers of :func:`gamma`, or their logarithms, for use inside other samplers."""
    a = fitted(a, shape, dtype, "gamma")
    if not aval_of(a).shape and shape:
        a = broadcast_in_dim(a, shape, ())
    size = aval_of(a).size
    if not size:
        return a
    drawn = _drawn_logarithms if logarithm else _drawn
    keys = key if is_key(aval_of(key).dtype) else new_keys(key, (size,))
    return reshape(drawn(keys, reshape(a, (size,))), shape)


@custom_jvp
def _drawn(keys: Any, a: Any) -> Any:
    if is_key(aval_of(keys).dtype):
        return _in_turn(keys, a)
    return vmap(lambda key, a: _one(key, a, False))(keys, a)


@custom_jvp
def _drawn_logarithms(keys: Any, a: Any) -> Any:
    if is_key(aval_of(keys).dtype):
        return _logarithms_in_turn(keys, a)
    return vmap(lambda key, a: _one(key, a, True))(keys, a)


@_drawn.defjvp
def _drawn_moves(primals: Any, tangents: Any) -> Any:
    (keys, a), (_, moved) = primals, tangents
    x = _drawn(keys, a)
    return x, moved * random_gamma_grad(a, x)


@_drawn_logarithms.defjvp
def _drawn_logarithms_move(primals: Any, tangents: Any) -> Any:
    (keys, a), (_, moved) = primals, tangents
    y = _drawn_logarithms(keys, a)
    x = max(exp(y), finfo(aval_of(y).dtype).tiny)  # y' is x' / x, also for an x that is too small
    return y, moved * (random_gamma_grad(a, x) / x)


def _one(key: Any, a: Any, logarithm: bool) -> Any:
    dtype = aval_of(a).dtype
    unit, two, zero = (np.array(value, dtype)[()] for value in (1, 2, 0))
    third = np.array(1 / 3, dtype)[()]
    large = ge(a, 1.0)
    d = select(large, a, a + 1.0) - third
    c = third / sqrt(d)

    def cube(v: Any) -> Any:
        return v * v * v

    def is_rejected(state: Any) -> Any:
        _, squared, v, u = state
        unclear = ge(u, 1.0 - 0.0331 * (squared * squared))
        return unclear & ge(log(u), squared * 0.5 + d * ((1.0 - v) + log(v)))

    def draw(state: Any) -> Any:
        following, of_normal, of_even = parts(state[0], 3)
        _, x, v = while_loop(lambda s: le(s[2], 0.0), draw_normal, (of_normal, zero, -unit))
        return following, x * x, cube(v), uniform_values(of_even, (), dtype, 0.0, 1.0)

    def draw_normal(state: Any) -> Any:
        following, now = parts(state[0], 2)
        x = _normal(now, (), dtype)
        return following, x, 1.0 + x * c

    of_draws, of_boost = parts(key, 2)
    _, _, v, _ = while_loop(is_rejected, draw, (of_draws, zero, unit, two))
    if logarithm:
        logarithm_of_u = -_exponential(of_boost, (), dtype)
        none = large | eq(logarithm_of_u, 0.0)
        return log(d) + log(v) + select(none, zero, logarithm_of_u * (1.0 / a))
    u = 1.0 - uniform_values(of_boost, (), dtype, 0.0, 1.0)
    return d * v * select(large, unit, pow(u, 1.0 / a))
