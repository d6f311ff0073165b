"""Continuous distributions; each sampler is one compiled call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from ml_dtypes import finfo

from ..control.jit.jit_function import jit_normalized
from ..dtypes import is_floating
from ..ir.requested_dtypes import resolve_requested_dtype
from ..operations import arithmetic, complex_numbers, extremes
from ..operations.arithmetic import add, div, mul, sign, sub
from ..operations.barriers import stop_gradient
from ..operations.bits import bitwise_or, shift_right_logical
from ..operations.comparisons import eq, ge, gt, lt
from ..operations.complex_numbers import real_dtype
from ..operations.conversion import convert_element_type, to_bits, to_dtype
from ..operations.exponentials import log, log1p
from ..operations.out_shardings import with_out_sharding
from ..operations.selection import select
from ..operations.shapes import broadcast_in_dim, squeeze
from ..operations.slicing import slice_in_dim
from ..operations.special import erf, erf_inv
from ..operations.tangent_arithmetic import neg
from ..trace.state import STATE
from ..trace.values import aval_of
from .key_algorithms import new_keys, random_bits
from .keys import check_key, shape_of
from .threefry_bits import UNSIGNED

Shape = Sequence[int]
_finfo: Callable[[Any], Any] = finfo


@with_out_sharding
def uniform(key: Any, shape: Shape = (), dtype: Any = float, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
    """Draw numbers uniformly from [minval, maxval), which broadcast to ``shape``.

    >>> import xlascope as xs
    >>> xs.random.uniform(xs.random.PRNGKey(0), (2,)).shape
    (2,)
    """
    sizes, real, words = shape_of(shape, "uniform"), require_float_dtype(dtype, "uniform"), check_key(key, "uniform")
    if STATE.trace is None and minval.__class__ is maxval.__class__ is float and (minval, maxval) == (0.0, 1.0):
        return _unit_uniform(words, sizes, real)  # two numbers less to transfer
    return _uniform(words, sizes, real, minval, maxval)


@with_out_sharding
def normal(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Draw from the normal distribution with mean 0 and standard deviation 1.

    For a complex dtype the real and the imaginary part have variance 1/2 each.

    >>> import xlascope as xs
    >>> xs.random.normal(xs.random.PRNGKey(0), (2, 3)).dtype
    dtype('float32')
    """
    sizes, requested = shape_of(shape, "normal"), resolve_requested_dtype(dtype)
    if requested.kind != "c":
        require_float_dtype(requested, "normal")
    return _normal(check_key(key, "normal"), sizes, requested)


@with_out_sharding
def truncated_normal(key: Any, lower: Any, upper: Any, shape: Shape | None = None, dtype: Any = float) -> Any:
    """Draw from the normal distribution between ``lower`` and ``upper``, which broadcast to ``shape``.

    >>> import xlascope as xs
    >>> x = xs.random.truncated_normal(xs.random.PRNGKey(0), -2.0, 2.0, (3,))
    """
    sizes = shape_or_broadcast(shape, "truncated_normal", lower, upper)
    real = require_float_dtype(dtype, "truncated_normal")
    return _truncated_normal(check_key(key, "truncated_normal"), lower, upper, sizes, real)


@with_out_sharding
def exponential(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Draw from the exponential distribution with mean 1."""
    sizes, real = shape_of(shape, "exponential"), require_float_dtype(dtype, "exponential")
    return _exponential(check_key(key, "exponential"), sizes, real)


@with_out_sharding
def gumbel(key: Any, shape: Shape = (), dtype: Any = float, mode: str | None = None) -> Any:
    """Draw from the Gumbel distribution, -log(-log(u)) for a uniform u.

    In float32 no number exceeds about 16, or with ``mode`` "high", which draws two words for each number, about
    32. None stands for "low".
    """
    sizes, real = shape_of(shape, "gumbel"), require_float_dtype(dtype, "gumbel")
    return _gumbel(check_key(key, "gumbel"), sizes, real, is_high("low" if mode is None else mode, "gumbel"))


def is_high(mode: Any, user: str) -> bool:
    """Return whether ``mode`` is "high", which draws two words for each number, rather than "low".

    Raises ValueError for other values; ``user`` is the sampler's name.
    """
    if mode not in ("low", "high"):
        raise ValueError(f'random.{user} takes mode as "low" or "high", got {mode!r}')
    return bool(mode == "high")


@with_out_sharding
def laplace(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Draw from the Laplace distribution with mean 0 and scale 1."""
    sizes, real = shape_of(shape, "laplace"), require_float_dtype(dtype, "laplace")
    return _laplace(check_key(key, "laplace"), sizes, real)


# Traced bodies ------------------------------------------------------------------------------------------------------


@jit_normalized((1, 2))
def _uniform(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any], minval: Any, maxval: Any) -> Any:
    return uniform_values(key, shape, dtype, minval, maxval)


@jit_normalized((1, 2))
def _unit_uniform(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return uniform_values(key, shape, dtype, 0.0, 1.0)


def uniform_values(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any], minval: Any, maxval: Any) -> Any:
    """Draw the numbers of :func:`uniform` inside another sampler; ``key`` is a result of ``check_key``."""
    low, high = (convert_parameter(x, shape, dtype, "uniform") for x in (minval, maxval))
    unit = _unit_interval(key, shape, dtype)
    return extremes.max(low, add(mul(unit, sub(high, low)), low))


def _unit_interval(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    # Random bits for the mantissa of a number in [1, 2), less 1.
    mantissa, width = _finfo(dtype).nmant, 8 * dtype.itemsize
    bit_count = 8 if mantissa < 8 else width
    bits = shift_right_logical(random_bits(key, bit_count, shape), bit_count - mantissa)
    exponent_bits = np.ones((), dtype).view(UNSIGNED[width])[()]
    number = to_bits(bitwise_or(to_dtype(bits, UNSIGNED[width]), exponent_bits), dtype)
    return sub(number, 1.0)


@jit_normalized((1, 2))
def _normal(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    if dtype.kind != "c":
        return normal_values(key, shape, dtype)
    part = real_dtype(dtype)
    first, second = (squeeze(slice_in_dim(new_keys(key, (2,)), i, i + 1), (0,)) for i in (0, 1))
    parts = (normal_values(k, shape, part) for k in (first, second))
    return div(complex_numbers.complex(*parts), math.sqrt(2))


def normal_values(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Draw the numbers of :func:`normal` inside another sampler: √2 erf⁻¹(u) for uniform u in (-1, 1).

    ``key`` is a result of ``check_key``; ``dtype`` is real.
    """
    low = np.nextafter(np.array(-1, dtype), np.array(0, dtype))
    u = uniform_values(key, shape, dtype, low, np.ones((), dtype)[()])
    return mul(math.sqrt(2), erf_inv(u))


@jit_normalized((3, 4))
def _truncated_normal(key: Any, lower: Any, upper: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    low, high = (convert_parameter(x, shape, dtype, "truncated_normal") for x in (lower, upper))
    root = math.sqrt(2)
    u = uniform_values(key, shape, dtype, erf(div(low, root)), erf(div(high, root)))
    number = mul(root, erf_inv(u))
    # rounding must not put a number onto or beyond the limits
    inner_low, inner_high = (
        _adjacent_float(stop_gradient(low), up=True),
        _adjacent_float(stop_gradient(high), up=False),
    )
    return extremes.min(extremes.max(number, inner_low), inner_high)


def _adjacent_float(x: Any, *, up: bool) -> Any:
    """Return the next floating-point number above (``up``) or below, by incrementing its bits as an integer."""
    dtype = aval_of(x).dtype
    signed = np.dtype(f"int{8 * dtype.itemsize}")
    bits = to_bits(x, signed)
    smallest = np.array(1 if up else np.iinfo(signed).min + 1, signed)[()]
    away = gt(bits, 0) if up else lt(bits, 0)
    adjacent = select(away, add(bits, 1), sub(bits, 1))
    adjacent = to_bits(select(eq(x, 0.0), smallest, adjacent), dtype)
    limit = np.array(np.inf if up else -np.inf, dtype)[()]
    return select(eq(x, limit), x, adjacent)


@jit_normalized((1, 2))
def _exponential(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return neg(log1p(neg(uniform_values(key, shape, dtype, 0.0, 1.0))))


@jit_normalized((1, 2, 3))
def _gumbel(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any], high: bool) -> Any:
    return gumbel_values(key, shape, dtype, high)


def gumbel_values(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any], high: bool = False) -> Any:
    """Draw the numbers of :func:`gumbel` inside another sampler.

    ``key`` is a result of ``check_key``; ``high`` draws two words for each number.
    """
    tiny = _finfo(dtype).tiny
    if not high:
        return neg(log(neg(log(uniform_values(key, shape, dtype, tiny, 1.0)))))
    # u = 1 - x: large numbers come from small x, where a float has digits for the second word too.
    coarse, fine = two_word_uniform_values(key, shape, dtype)
    x = select(ge(coarse, 0.5), coarse, add(add(coarse, fine), tiny))
    return neg(log(neg(log1p(neg(x)))))


def two_word_uniform_values(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Draw uniform numbers in [0, 1) with twice the digits of ``dtype``, each as the sum of two numbers.

    Returns (coarse, fine): uniform numbers of the usual digits, and numbers to add, which are below their last
    place.
    """
    both = uniform_values(key, (2, *shape), dtype, 0.0, 1.0)
    coarse, fine = (squeeze(slice_in_dim(both, i, i + 1), (0,)) for i in (0, 1))
    return coarse, mul(fine, 2.0 ** -_finfo(dtype).nmant)


@jit_normalized((1, 2))
def _laplace(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    least = np.array(-1 + _finfo(dtype).epsneg, dtype)[()]
    u = uniform_values(key, shape, dtype, least, 1.0)
    return mul(sign(u), log1p(neg(arithmetic.abs(u))))


# Arguments ----------------------------------------------------------------------------------------------------------


def require_float_dtype(dtype: Any, user: str) -> np.dtype[Any]:
    """Return the dtype requested from the sampler ``user``; raise TypeError unless it is floating-point."""
    requested = resolve_requested_dtype(dtype)
    if not is_floating(requested):
        raise TypeError(f"random.{user} gives numbers of a floating-point dtype, got dtype={requested.name}")
    return requested


def shape_or_broadcast(shape: Any, user: str, *parameters: Any) -> tuple[int, ...]:
    """Return the requested shape, or for None the one to which the parameters broadcast.

    ``user`` is the sampler's name, for messages.
    """
    return np.broadcast_shapes(*(aval_of(x).shape for x in parameters)) if shape is None else shape_of(shape, user)


def convert_parameter(x: Any, shape: tuple[int, ...], dtype: np.dtype[Any], user: str) -> Any:
    """Convert a parameter of a distribution to ``dtype``, and broadcast it to ``shape`` unless it is a scalar.

    Raises ValueError if it does not broadcast; ``user`` is the sampler's name.
    """
    converted = convert_element_type(x, dtype)
    parameter_shape = aval_of(converted).shape
    if not parameter_shape or parameter_shape == shape:
        return converted
    if len(parameter_shape) > len(shape) or np.broadcast_shapes(parameter_shape, shape) != shape:
        raise ValueError(f"random.{user}: a parameter of shape {parameter_shape} does not broadcast to shape {shape}")
    return broadcast_in_dim(converted, shape, range(len(shape) - len(parameter_shape), len(shape)))
