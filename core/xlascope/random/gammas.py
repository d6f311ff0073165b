"""The gamma distribution and distributions derived from it; each sampler is one compiled call.

G. Marsaglia, W. W. Tsang: "A simple method for generating gamma variables", ACM Transactions on Mathematical Software
26, 2000. A number is d v for d = a - 1/3 and v = (1 + x / √(9d))³ of a normal x, which is redrawn until a uniform u
accepts it. For a < 1 a number for a + 1 is multiplied by u^(1/a).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..api import vmap
from ..control.flow.loop_api import scan, while_loop
from ..control.jit.jit_function import jit_normalized
from ..control.rules.custom_jvp import custom_jvp
from ..control.rules.custom_vmap import custom_vmap
from ..control.special.gamma import random_gamma_grad
from ..dtypes import finfo
from ..key_types import is_key
from ..numpy.reductions import sum_in_float32
from ..operations.barriers import stop_gradient
from ..operations.comparisons import eq, ge, le
from ..operations.exponentials import exp, log, pow, sqrt
from ..operations.extremes import max
from ..operations.out_shardings import with_out_sharding
from ..operations.reductions import reduce_max_unless_nan
from ..operations.selection import select
from ..operations.shapes import broadcast_in_dim, expand_dims, reshape
from ..trace.values import aval_of
from .continuous import Shape, convert_parameter, require_float_dtype, shape_or_broadcast, uniform_values
from .continuous import exponential as _exponential
from .continuous import normal as _normal
from .key_algorithms import new_keys
from .keys import check_key, shape_of
from .sampler_helpers import split_key


@with_out_sharding
def gamma(key: Any, a: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw from the gamma distribution with shape parameter ``a`` and scale 1; ``a`` broadcasts to ``shape``.

    The density is x^(a - 1) e^-x / Γ(a). A number has a derivative with respect to ``a``, along which the
    probability of exceeding it is constant (:func:`lax.random_gamma_grad`). For small ``a`` numbers may be 0; see
    :func:`loggamma`.

    >>> import xlascope as xs
    >>> x = xs.random.gamma(xs.random.PRNGKey(0), 2.0, (3,))
    """
    sizes, real = shape_or_broadcast(shape, "gamma", a), require_float_dtype(dtype, "gamma")
    return _gamma(check_key(key, "gamma"), a, sizes, real, False)


@with_out_sharding
def loggamma(key: Any, a: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw logarithms of gamma-distributed numbers, exact where the numbers are too small for the dtype.

    >>> import xlascope as xs
    >>> x = xs.random.loggamma(xs.random.PRNGKey(0), 0.001, (3,))
    """
    sizes, real = shape_or_broadcast(shape, "loggamma", a), require_float_dtype(dtype, "loggamma")
    return _gamma(check_key(key, "loggamma"), a, sizes, real, True)


@with_out_sharding
def chisquare(key: Any, df: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw from the chi-square distribution with ``df`` degrees of freedom, which broadcast to ``shape``.

    >>> import xlascope as xs
    >>> x = xs.random.chisquare(xs.random.PRNGKey(0), 3.0, (4,))
    """
    sizes, real = shape_or_broadcast(shape, "chisquare", df), require_float_dtype(dtype, "chisquare")
    return _chisquare(check_key(key, "chisquare"), df, sizes, real)


@with_out_sharding
def f(key: Any, dfnum: Any, dfden: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw from the F distribution: quotients of chi-square numbers, each over its degrees of freedom.

    ``dfnum`` and ``dfden``, the degrees of freedom of numerator and denominator, broadcast to ``shape``.

    >>> import xlascope as xs
    >>> x = xs.random.f(xs.random.PRNGKey(0), 3.0, 5.0, (4,))
    """
    sizes, real = shape_or_broadcast(shape, "f", dfnum, dfden), require_float_dtype(dtype, "f")
    return _f(check_key(key, "f"), dfnum, dfden, sizes, real)


@with_out_sharding
def t(key: Any, df: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw from Student's t distribution with ``df`` degrees of freedom, which broadcast to ``shape``.

    >>> import xlascope as xs
    >>> x = xs.random.t(xs.random.PRNGKey(0), 3.0, (4,))
    """
    sizes, real = shape_or_broadcast(shape, "t", df), require_float_dtype(dtype, "t")
    return _t(check_key(key, "t"), df, sizes, real)


@with_out_sharding
def beta(key: Any, a: Any, b: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw numbers in (0, 1) from the beta distribution with density x^(a - 1) (1 - x)^(b - 1) / B(a, b).

    ``a`` and ``b`` broadcast to ``shape``.

    >>> import xlascope as xs
    >>> x = xs.random.beta(xs.random.PRNGKey(0), 2.0, 3.0, (4,))
    """
    sizes, real = shape_or_broadcast(shape, "beta", a, b), require_float_dtype(dtype, "beta")
    return _beta(check_key(key, "beta"), a, b, sizes, real)


@with_out_sharding
def dirichlet(key: Any, alpha: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw vectors of positive numbers with the sum 1, from Dirichlet's distribution.

    ``alpha`` has the parameters along its last axis; its other axes broadcast to ``shape``, and the result has
    the axes of ``shape`` followed by that last axis. Raises ValueError for an ``alpha`` without axes.

    >>> import xlascope as xs
    >>> xs.random.dirichlet(xs.random.PRNGKey(0), xs.numpy.ones(3), (4,)).shape
    (4, 3)
    """
    alpha_shape = aval_of(alpha).shape
    if not alpha_shape:
        raise ValueError("random.dirichlet takes alpha with the parameters along its last axis, got a scalar")
    sizes = alpha_shape[:-1] if shape is None else shape_of(shape, "dirichlet")
    return _dirichlet(
        check_key(key, "dirichlet"), alpha, (*sizes, alpha_shape[-1]), require_float_dtype(dtype, "dirichlet")
    )


# Traced bodies ------------------------------------------------------------------------------------------------------


@jit_normalized((2, 3, 4))
def _gamma(key: Any, a: Any, shape: tuple[int, ...], dtype: np.dtype[Any], logarithm: bool) -> Any:
    return gamma_values(key, a, shape, dtype, logarithm)


@jit_normalized((2, 3))
def _chisquare(key: Any, df: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return _chisquare_values(key, convert_parameter(df, shape, dtype, "chisquare"), shape, dtype)


def _chisquare_values(key: Any, df: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return exp(gamma_values(key, df / 2.0, shape, dtype, True)) * 2.0


@jit_normalized((3, 4))
def _f(key: Any, dfnum: Any, dfden: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    below, above = split_key(key, 2)
    dfnum, dfden = (convert_parameter(df, shape, dtype, "f") for df in (dfnum, dfden))
    x, y = _chisquare_values(above, dfnum, shape, dtype), _chisquare_values(below, dfden, shape, dtype)
    return (x / dfnum) / (y / dfden)


@jit_normalized((2, 3))
def _t(key: Any, df: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    of_normal, of_gamma = split_key(key, 2)
    half = convert_parameter(df, shape, dtype, "t") / 2.0
    return _normal(of_normal, shape, dtype) * sqrt(half / gamma_values(of_gamma, half, shape, dtype, False))


@jit_normalized((3, 4))
def _beta(key: Any, a: Any, b: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    # x / (x + y) for gamma numbers x and y, scaled by the larger of them: no 0 / 0 where both are tiny.
    x, y = (gamma_values(k, p, shape, dtype, True) for k, p in zip(split_key(key, 2), (a, b), strict=True))
    larger = max(x, y)
    x, y = exp(x - larger), exp(y - larger)
    return x / (x + y)


@jit_normalized((2, 3))
def _dirichlet(key: Any, alpha: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    x, last = gamma_values(key, alpha, shape, dtype, True), len(shape) - 1
    x = exp(x - expand_dims(stop_gradient(reduce_max_unless_nan(x, (last,))), (last,)))
    return x / expand_dims(sum_in_float32(x, (last,)), (last,))


# With XLA's generator ------------------------------------------------------------------------------------------------

# Mapped over keys it would draw from the first one only. So numbers are drawn in a loop, also under vmap,
# each with its own key, as JAX does on CPUs.


@custom_vmap
def _gamma_sequential(keys: Any, a: Any) -> Any:
    return _draw_sequentially(keys, a, False)


@custom_vmap
def _loggamma_sequential(keys: Any, a: Any) -> Any:
    return _draw_sequentially(keys, a, True)


@_gamma_sequential.def_vmap
def _gamma_sequential_vmap(size: int, mapped: list[bool], keys: Any, a: Any) -> tuple[Any, bool]:
    return _gamma_sequential(*_broadcast_unmapped(size, mapped, keys, a)), True


@_loggamma_sequential.def_vmap
def _loggamma_sequential_vmap(size: int, mapped: list[bool], keys: Any, a: Any) -> tuple[Any, bool]:
    return _loggamma_sequential(*_broadcast_unmapped(size, mapped, keys, a)), True


def _broadcast_unmapped(size: int, mapped: list[bool], *operands: Any) -> list[Any]:
    """Return the operands with a leading batch axis of ``size`` examples; unmapped ones are repeated.

    ``mapped`` says for each operand whether it has that axis already.
    """
    shapes = [aval_of(x).shape for x in operands]
    return [
        x if is_mapped else broadcast_in_dim(x, (size, *shape), range(1, 1 + len(shape)))
        for x, is_mapped, shape in zip(operands, mapped, shapes, strict=True)
    ]


def _draw_sequentially(keys: Any, a: Any, logarithm: bool) -> Any:
    """Draw gamma-distributed numbers, or their logarithms, one after the other for all elements of ``a``.

    ``keys`` has a key for each index of the leading axes of ``a``, from which one is derived for each index of
    the last axis.
    """
    shape = aval_of(a).shape

    def of_key(key: Any) -> Any:
        return new_keys(key, shape[-1:])

    for _ in shape[:-1]:
        of_key = vmap(of_key)
    size = math.prod(shape)
    inputs = (reshape(of_key(keys), (size,)), reshape(a, (size,)))
    return reshape(scan(lambda carry, pair: (carry, _draw_one(pair[0], pair[1], logarithm)), None, inputs)[1], shape)


# One number ---------------------------------------------------------------------------------------------------------


def gamma_values(key: Any, a: Any, shape: tuple[int, ...], dtype: np.dtype[Any], logarithm: bool) -> Any:
    """Draw the numbers of :func:`gamma`, or their logarithms, inside another sampler.

    ``key`` is a result of ``check_key``.
    """
    a = convert_parameter(a, shape, dtype, "gamma")
    if not aval_of(a).shape and shape:
        a = broadcast_in_dim(a, shape, ())
    size = aval_of(a).size
    if not size:
        return a
    sampler = _draw_loggamma if logarithm else _draw_gamma
    keys = key if is_key(aval_of(key).dtype) else new_keys(key, (size,))
    return reshape(sampler(keys, reshape(a, (size,))), shape)


@custom_jvp
def _draw_gamma(keys: Any, a: Any) -> Any:
    if is_key(aval_of(keys).dtype):
        return _gamma_sequential(keys, a)
    return vmap(lambda key, a: _draw_one(key, a, False))(keys, a)


@custom_jvp
def _draw_loggamma(keys: Any, a: Any) -> Any:
    if is_key(aval_of(keys).dtype):
        return _loggamma_sequential(keys, a)
    return vmap(lambda key, a: _draw_one(key, a, True))(keys, a)


@_draw_gamma.defjvp
def _draw_gamma_jvp(primals: Any, tangents: Any) -> Any:
    (keys, a), (_, a_tangent) = primals, tangents
    x = _draw_gamma(keys, a)
    return x, a_tangent * random_gamma_grad(a, x)


@_draw_loggamma.defjvp
def _draw_loggamma_jvp(primals: Any, tangents: Any) -> Any:
    (keys, a), (_, a_tangent) = primals, tangents
    y = _draw_loggamma(keys, a)
    x = max(exp(y), finfo(aval_of(y).dtype).tiny)  # y' is x' / x, also for an x that is too small
    return y, a_tangent * (random_gamma_grad(a, x) / x)


def _draw_one(key: Any, a: Any, logarithm: bool) -> Any:
    """Draw one gamma-distributed number with the parameter ``a``, or its logarithm; see the module docstring."""
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
        next_key, of_normal, of_even = split_key(state[0], 3)
        _, x, v = while_loop(lambda s: le(s[2], 0.0), draw_normal, (of_normal, zero, -unit))
        return next_key, x * x, cube(v), uniform_values(of_even, (), dtype, 0.0, 1.0)

    def draw_normal(state: Any) -> Any:
        next_key, subkey = split_key(state[0], 2)
        x = _normal(subkey, (), dtype)
        return next_key, x, 1.0 + x * c

    of_draws, of_boost = split_key(key, 2)
    _, _, v, _ = while_loop(is_rejected, draw, (of_draws, zero, unit, two))
    if logarithm:
        logarithm_of_u = -_exponential(of_boost, (), dtype)
        none = large | eq(logarithm_of_u, 0.0)
        return log(d) + log(v) + select(none, zero, logarithm_of_u * (1.0 / a))
    u = 1.0 - uniform_values(of_boost, (), dtype, 0.0, 1.0)
    return d * v * select(large, unit, pow(u, 1.0 / a))
