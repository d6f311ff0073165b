"""Distributions of functions of uniform and normal numbers; each sampler is one compiled call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..control.jit.jit_function import jit_normalized
from ..dtypes import dtype_kind, finfo
from ..ir.requested_dtypes import resolve_requested_dtype
from ..operations.arithmetic import square
from ..operations.comparisons import le, lt
from ..operations.exponentials import exp, log, log1p, sqrt
from ..operations.out_shardings import with_out_sharding
from ..operations.selection import select
from ..operations.shapes import reduce_sum
from ..operations.trigonometry import tan
from .continuous import Shape, convert_parameter, require_float_dtype, shape_or_broadcast, uniform_values
from .continuous import exponential as _exponential
from .continuous import normal as _normal
from .counts import rademacher_values
from .keys import check_key, shape_of
from .sampler_helpers import split_key


@with_out_sharding
def cauchy(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Draw from the Cauchy distribution with median 0 and scale 1, tan(π (u - 1/2)) for a uniform u.

    >>> import xlascope as xs
    >>> x = xs.random.cauchy(xs.random.PRNGKey(0), (3,))
    """
    sizes, real = shape_of(shape, "cauchy"), require_float_dtype(dtype, "cauchy")
    return _cauchy(check_key(key, "cauchy"), sizes, real)


@with_out_sharding
def logistic(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Draw from the logistic distribution with mean 0 and scale 1, log(u / (1 - u)) for a uniform u.

    >>> import xlascope as xs
    >>> x = xs.random.logistic(xs.random.PRNGKey(0), (3,))
    """
    sizes, real = shape_of(shape, "logistic"), require_float_dtype(dtype, "logistic")
    return _logistic(check_key(key, "logistic"), sizes, real)


@with_out_sharding
def maxwell(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Draw from the Maxwell distribution with scale 1: lengths of vectors of three normal numbers.

    >>> import xlascope as xs
    >>> x = xs.random.maxwell(xs.random.PRNGKey(0), (3,))
    """
    sizes, real = shape_of(shape, "maxwell"), require_float_dtype(dtype, "maxwell")
    return _maxwell(check_key(key, "maxwell"), sizes, real)


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Draw numbers at ``scale`` times Maxwell-distributed distances from ``loc``, on either side.

    The result has ``shape``, followed by the shape to which ``loc`` and ``scale`` broadcast; without a shape it has
    the latter twice, as in JAX.

    >>> import xlascope as xs
    >>> x = xs.random.double_sided_maxwell(xs.random.PRNGKey(0), 1.0, 2.0, (3,))
    """
    name = "double_sided_maxwell"
    parameters = shape_or_broadcast(None, name, loc, scale)
    sizes = (*(shape_of(shape, name) or parameters), *parameters)
    return _double_sided_maxwell(check_key(key, name), loc, scale, sizes, require_float_dtype(dtype, name))


@with_out_sharding
def pareto(key: Any, b: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw from the Pareto distribution on [1, ∞) with density b x^(-b - 1); ``b`` broadcasts to ``shape``.

    >>> import xlascope as xs
    >>> x = xs.random.pareto(xs.random.PRNGKey(0), 3.0, (3,))
    """
    sizes, real = shape_or_broadcast(shape, "pareto", b), require_float_dtype(dtype, "pareto")
    return _pareto(check_key(key, "pareto"), b, sizes, real)


@with_out_sharding
def rayleigh(key: Any, scale: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw from the Rayleigh distribution with the scale ``scale``, which broadcasts to ``shape``.

    The numbers are the lengths of vectors of two normal numbers with the standard deviation ``scale``.

    >>> import xlascope as xs
    >>> x = xs.random.rayleigh(xs.random.PRNGKey(0), 2.0, (3,))
    """
    sizes, real = shape_or_broadcast(shape, "rayleigh", scale), require_float_dtype(dtype, "rayleigh")
    return _rayleigh(check_key(key, "rayleigh"), scale, sizes, real)


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Draw from the Weibull distribution on [0, ∞): ``scale`` times (-log(1 - u))^(1 / concentration).

    One uniform u is drawn for each element of ``shape``; the result has the shape to which that and the parameters
    broadcast.

    >>> import xlascope as xs
    >>> x = xs.random.weibull_min(xs.random.PRNGKey(0), 2.0, 1.5, (3,))
    """
    sizes, real = shape_of(shape, "weibull_min"), require_float_dtype(dtype, "weibull_min")
    return _weibull_min(check_key(key, "weibull_min"), scale, concentration, sizes, real)


@with_out_sharding
def lognormal(key: Any, sigma: Any = 1.0, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw numbers whose logarithm is normal with mean 0 and standard deviation ``sigma``.

    ``sigma`` broadcasts to ``shape``. ``dtype`` may be complex, as that of :func:`normal`.

    >>> import xlascope as xs
    >>> x = xs.random.lognormal(xs.random.PRNGKey(0), 0.5, (3,))
    """
    sizes, requested = shape_or_broadcast(shape, "lognormal", sigma), resolve_requested_dtype(dtype)
    if dtype_kind(requested) != "c":
        require_float_dtype(requested, "lognormal")
    return _lognormal(check_key(key, "lognormal"), sigma, sizes, requested)


@with_out_sharding
def triangular(key: Any, left: Any, mode: Any, right: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw numbers between ``left`` and ``right`` whose density is a triangle with its top at ``mode``.

    The three parameters broadcast to ``shape``.

    >>> import xlascope as xs
    >>> x = xs.random.triangular(xs.random.PRNGKey(0), -1.0, 0.0, 2.0, (3,))
    """
    sizes, real = shape_or_broadcast(shape, "triangular", left, mode, right), require_float_dtype(dtype, "triangular")
    return _triangular(check_key(key, "triangular"), left, mode, right, sizes, real)


@with_out_sharding
def wald(key: Any, mean: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw from Wald's distribution (the inverse Gaussian one) with the mean ``mean`` and concentration 1.

    ``mean`` broadcasts to ``shape``. After J. R. Michael, W. R. Schucany, R. W. Haas: "Generating random variates
    using transformations with multiple roots", The American Statistician 30, 1976.

    >>> import xlascope as xs
    >>> x = xs.random.wald(xs.random.PRNGKey(0), 2.0, (3,))
    """
    sizes, real = shape_or_broadcast(shape, "wald", mean), require_float_dtype(dtype, "wald")
    return _wald(check_key(key, "wald"), mean, sizes, real)


# Traced bodies ------------------------------------------------------------------------------------------------------


@jit_normalized((1, 2))
def _cauchy(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    u = uniform_values(key, shape, dtype, finfo(dtype).eps, 1.0)
    return tan((u - 0.5) * math.pi)


@jit_normalized((1, 2))
def _logistic(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    u = uniform_values(key, shape, dtype, finfo(dtype).tiny, 1.0)
    return log(u) - log1p(-u)


@jit_normalized((1, 2))
def _maxwell(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    x = _normal(key, (*shape, 3), dtype)
    return sqrt(reduce_sum(x * x, (len(shape),)))


@jit_normalized((3, 4))
def _double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    of_length, of_side = split_key(key, 2)
    return rademacher_values(of_side, shape, dtype) * _maxwell(of_length, shape, dtype) * scale + loc


@jit_normalized((2, 3))
def _pareto(key: Any, b: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return exp(_exponential(key, shape, dtype) / convert_parameter(b, shape, dtype, "pareto"))


@jit_normalized((2, 3))
def _rayleigh(key: Any, scale: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    u = uniform_values(key, shape, dtype, 0.0, 1.0)
    return convert_parameter(scale, shape, dtype, "rayleigh") * sqrt(log(u) * -2.0)


@jit_normalized((3, 4))
def _weibull_min(key: Any, scale: Any, concentration: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    u = uniform_values(key, shape, dtype, 0.0, 1.0)
    return (-log1p(-u)) ** (1.0 / concentration) * scale


@jit_normalized((2, 3))
def _lognormal(key: Any, sigma: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return exp(_normal(key, shape, dtype) * convert_parameter(sigma, shape, dtype, "lognormal"))


@jit_normalized((4, 5))
def _triangular(key: Any, low: Any, mode: Any, high: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    # The inverse of the distribution function, which is a parabola on each side of the mode.
    low, mode, high = (convert_parameter(x, shape, dtype, "triangular") for x in (low, mode, high))
    below = (mode - low) / (high - low)
    u = uniform_values(key, shape, dtype, 0.0, 1.0)
    rising = low + sqrt(u * (high - low) * (mode - low))
    falling = high - sqrt((1.0 - u) * (high - low) * (high - mode))
    return select(lt(u, below), rising, falling)


@jit_normalized((2, 3))
def _wald(key: Any, mean: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    # y is distributed as chi-square; x and mean²/x are the two numbers that it may come from.
    of_root, of_choice = split_key(key, 2)
    mean = convert_parameter(mean, shape, dtype, "wald")
    y, u = square(_normal(of_root, shape, dtype)), uniform_values(of_choice, shape, dtype, 0.0, 1.0)
    root = sqrt(4.0 * mean * y + square(mean) * square(y))
    x = mean + square(mean) * y / 2.0 - mean / 2.0 * root
    return select(le(u, mean / (mean + x)), x, square(mean) / x)
