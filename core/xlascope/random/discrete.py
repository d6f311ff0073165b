"""Random integers, booleans and categories; each sampler is one compiled call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..control.jit.jit_function import jit_normalized
from ..dtypes import is_floating, is_integer, to_canonical_dtype
from ..ir.requested_dtypes import resolve_requested_dtype
from ..operations.arithmetic import add, mul, rem, sub
from ..operations.bits import bitwise_and, bitwise_not
from ..operations.comparisons import gt, le, lt
from ..operations.conversion import convert_element_type
from ..operations.extreme_positions import argmax
from ..operations.extremes import clamp
from ..operations.out_shardings import with_out_sharding
from ..operations.selection import select
from ..operations.shapes import expand_dims, moveaxis, reshape, squeeze
from ..operations.slicing import slice_in_dim
from ..operations.sorting import top_k
from ..trace.values import aval_of
from .continuous import Shape, convert_parameter, gumbel_values, is_high, two_word_uniform_values, uniform_values
from .key_algorithms import new_keys, random_bits
from .keys import check_key, shape_of
from .threefry_bits import UNSIGNED


@with_out_sharding
def bits(key: Any, shape: Shape = (), dtype: Any = None) -> Any:
    """Draw random bits as unsigned integers: uint8, uint16, uint32 (the default), or with ``enable_x64`` uint64.

    >>> import xlascope as xs
    >>> xs.random.bits(xs.random.PRNGKey(0), (4,), "uint8").dtype
    dtype('uint8')
    """
    requested = to_canonical_dtype("uint64") if dtype is None else resolve_requested_dtype(dtype)
    if requested.kind != "u":
        raise TypeError(f"random.bits gives an unsigned integer dtype, got dtype={requested.name}")
    return _bits(check_key(key, "bits"), shape_of(shape, "bits"), requested)


@with_out_sharding
def randint(key: Any, shape: Shape, minval: Any, maxval: Any, dtype: Any = int) -> Any:
    """Draw integers uniformly from minval, …, maxval - 1; minval where maxval is not above it.

    Limits that are floating-point numbers (``1e6``) or booleans are converted to the default integer dtype first.

    >>> import xlascope as xs
    >>> x = xs.random.randint(xs.random.PRNGKey(0), (3,), 0, 10)
    """
    requested = resolve_requested_dtype(dtype)
    if not is_integer(requested):
        raise TypeError(f"random.randint gives an integer dtype, got dtype={requested.name}")
    low, high = (_as_integer(limit, name) for name, limit in (("minval", minval), ("maxval", maxval)))
    return _randint(check_key(key, "randint"), shape_of(shape, "randint"), low, high, requested)


@with_out_sharding
def bernoulli(key: Any, p: Any = 0.5, shape: Shape | None = None, mode: str = "low") -> Any:
    """Draw booleans that are true with probability ``p``, which broadcasts to ``shape``.

    In float32 a positive ``p`` below about 1e-7 counts as 1e-7; ``mode="high"`` draws two words for each boolean,
    which avoids that.

    >>> import xlascope as xs
    >>> coins = xs.random.bernoulli(xs.random.PRNGKey(0), 0.3, (10,))
    """
    if not is_floating(aval_of(p).dtype):
        raise TypeError(f"random.bernoulli takes p as a floating-point number, got {aval_of(p).str_short()}")
    sizes = aval_of(p).shape if shape is None else shape_of(shape, "bernoulli")
    return _bernoulli(check_key(key, "bernoulli"), p, sizes, is_high(mode, "bernoulli"))


@with_out_sharding
def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Shape | None = None,
    replace: bool = True,
    mode: str | None = None,
) -> Any:
    """Draw indices along ``axis`` of ``logits`` with probabilities proportional to exp(logits).

    ``shape`` is that of the result: any axes for repeated draws, then the shape of ``logits`` without ``axis``
    (None: one draw). Without ``replace`` repeated draws never give an index twice. ``mode`` is that of
    :func:`gumbel`.

    >>> import xlascope as xs
    >>> xs.random.categorical(xs.random.PRNGKey(0), xs.numpy.zeros(5), shape=(3,)).shape
    (3,)
    """
    aval = aval_of(logits)
    if not -len(aval.shape) <= axis < len(aval.shape):
        raise ValueError(f"random.categorical: logits of shape {aval.shape} have no axis {axis}")
    axis_number = int(axis) % len(aval.shape)
    batch = aval.shape[:axis_number] + aval.shape[axis_number + 1 :]
    sizes = batch if shape is None else shape_of(shape, "categorical")
    if sizes[len(sizes) - len(batch) :] != batch:
        raise ValueError(
            f"random.categorical: the result's shape has to end with {batch}, that of the logits without axis {axis}; "
            f"got {sizes}"
        )
    draws, high = sizes[: len(sizes) - len(batch)], is_high("low" if mode is None else mode, "categorical")
    if replace:
        return _categorical(check_key(key, "categorical"), logits, axis_number, draws, high)
    if math.prod(draws) > aval.shape[axis_number]:
        raise ValueError(
            f"random.categorical: {math.prod(draws)} cannot be drawn from {aval.shape[axis_number]} without replacement"
        )
    return _categorical_without_replacement(check_key(key, "categorical"), logits, axis_number, draws, high)


# Traced bodies ------------------------------------------------------------------------------------------------------


@jit_normalized((1, 2))
def _bits(key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return random_bits(key, 8 * dtype.itemsize, shape)


@jit_normalized((1, 4))
def _randint(key: Any, shape: tuple[int, ...], minval: Any, maxval: Any, dtype: np.dtype[Any]) -> Any:
    return randint_values(key, shape, minval, maxval, dtype)


def randint_values(key: Any, shape: tuple[int, ...], minval: Any, maxval: Any, dtype: np.dtype[Any]) -> Any:
    """Draw the numbers of :func:`randint` inside another sampler; ``key`` is a result of ``check_key``.

    With w-bit words, two words make one number below ``span`` = maxval - minval, so that the remainder favours
    none noticeably: (high 2^w + low) mod span, with 2^w mod span from the square of 2^(w/2) mod span.
    """
    width = max(32, 8 * dtype.itemsize)
    unsigned, limits = UNSIGNED[width], np.iinfo(dtype)
    above = _exceeds(maxval, int(limits.max))
    low, high = (convert_parameter(_clip_to_dtype(x, limits), shape, dtype, "randint") for x in (minval, maxval))
    first, second = (squeeze(slice_in_dim(new_keys(key, (2,)), i, i + 1), (0,)) for i in (0, 1))
    upper, lower = (random_bits(k, width, shape) for k in (first, second))
    empty = le(high, low)
    distance = sub(convert_element_type(high, unsigned), convert_element_type(low, unsigned))
    span = select(empty, np.ones((), unsigned)[()], distance)
    if above is not None:  # maxval exceeds the dtype, so the dtype's largest number is included
        span = select(bitwise_and(above, bitwise_not(empty)), add(span, 1), span)
    factor = rem(np.array(2 ** (width // 2), unsigned)[()], span)
    factor = rem(mul(factor, factor), span)
    offset = rem(add(mul(rem(upper, span), factor), rem(lower, span)), span)
    return add(low, convert_element_type(offset, dtype))


@jit_normalized((2, 3))
def _bernoulli(key: Any, p: Any, shape: tuple[int, ...], high: bool) -> Any:
    dtype = aval_of(p).dtype
    if high:
        coarse, fine = two_word_uniform_values(key, shape, dtype)
        return lt(fine, sub(convert_parameter(p, shape, dtype, "bernoulli"), coarse))
    return lt(uniform_values(key, shape, dtype, 0.0, 1.0), convert_parameter(p, shape, dtype, "bernoulli"))


@jit_normalized((2, 3, 4))
def _categorical(key: Any, logits: Any, axis: int, draws: tuple[int, ...], high: bool) -> Any:
    # The index of the largest of logits + Gumbel noise is distributed as wanted.
    dtype = aval_of(logits).dtype
    noise = gumbel_values(key, (*draws, *aval_of(logits).shape), dtype, high)
    total = add(noise, expand_dims(logits, tuple(range(len(draws)))))
    return argmax(total, len(draws) + axis, to_canonical_dtype(int))


@jit_normalized((2, 3, 4))
def _categorical_without_replacement(key: Any, logits: Any, axis: int, draws: tuple[int, ...], high: bool) -> Any:
    # The indices of the largest values are a sample without replacement.
    aval = aval_of(logits)
    last = len(aval.shape) - 1
    total = moveaxis(add(logits, gumbel_values(key, aval.shape, aval.dtype, high)), axis, last)
    indices = moveaxis(top_k(total, math.prod(draws))[1], last, 0)
    return reshape(indices, (*draws, *aval_of(indices).shape[1:]))


# Limits -------------------------------------------------------------------------------------------------------------


def _as_integer(limit: Any, name: str) -> Any:
    """Return a limit of :func:`randint` as an integer that tracing can hold."""
    if isinstance(limit, int) and not isinstance(limit, bool):
        return _representable(limit)
    dtype = aval_of(limit).dtype
    if is_integer(dtype):
        return _representable(limit)
    if not (is_floating(dtype) or dtype == np.bool_):
        raise TypeError(f"random.randint takes integers as its limits, but {name} is {aval_of(limit).str_short()}")
    return convert_element_type(limit, to_canonical_dtype(int))


def _representable(x: Any) -> Any:
    """Return a limit of :func:`randint` that tracing can hold: an integer that is too large is clamped to 64 bits.

    A positive one becomes at most the largest uint64, a negative one at least the smallest int64.
    """
    if not isinstance(x, int):
        return x
    info = np.iinfo(to_canonical_dtype(int))
    if info.min <= x <= info.max:
        return x
    wide = to_canonical_dtype("uint64") if x > 0 else to_canonical_dtype("int64")
    return np.array(min(max(x, np.iinfo(wide).min), np.iinfo(wide).max), wide)[()]


def _exceeds(x: Any, largest: int) -> Any:
    info = np.iinfo(aval_of(x).dtype)
    return gt(x, np.array(largest, aval_of(x).dtype)[()]) if info.max > largest else None


def _clip_to_dtype(x: Any, limits: Any) -> Any:
    dtype = aval_of(x).dtype
    info = np.iinfo(dtype)
    low, high = max(int(info.min), int(limits.min)), min(int(info.max), int(limits.max))
    return clamp(np.array(low, dtype)[()], x, np.array(high, dtype)[()])
