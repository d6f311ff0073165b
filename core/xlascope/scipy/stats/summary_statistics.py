"""Summary statistics of samples: mode, ranks, standard error of the mean."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ... import numpy as jnp
from ...dtypes import dtype_kind
from ...numpy.axes import as_plain_number, axis_of
from ...numpy.jit_wrapped import jit_wrapped
from ...operations.conversion import to_dtype
from ...operations.cumulative import cummax, cummin
from ...operations.operand_values import typed_scalar
from ...trace.operand_coercion import to_array
from ...trace.source import here
from ...trace.values import exact_array
from ..arguments import promote_args_inexact, require_one_of


class ModeResult(NamedTuple):
    """Most frequent values and their counts."""

    mode: Any
    count: Any


def _check_nan_policy(name: str, policy: str, *allowed: str) -> None:
    if policy == "omit" and "omit" not in allowed:
        raise NotImplementedError(f"{name} passes NaN on: nan_policy has to be 'propagate', got 'omit'{here()}")
    if policy == "raise":
        raise NotImplementedError(f"{name} does not look for NaN: nan_policy cannot be 'raise'{here()}")
    require_one_of(f"nan_policy of {name}", policy, *allowed)


def mode(a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """Return the most frequent value along an axis (None: of all elements), and its count.

    Of several equally frequent values it is the smallest. ``keepdims`` keeps an axis of size 1. NaN counts as the
    largest value. Raises ValueError for an unknown ``nan_policy``, NotImplementedError for "omit" and "raise".

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import stats
    >>> print(*stats.mode(jnp.array([3, 1, 3, 1, 2])))
    1 2
    """
    _check_nan_policy("mode", nan_policy, "propagate")
    return ModeResult(*_mode(a, axis=axis, keepdims=bool(keepdims)))


@jit_wrapped("axis", "keepdims")
def _mode(a: Any, axis: int | None, keepdims: bool) -> tuple[Any, Any]:
    a = to_array(a)
    rank = a.ndim
    axis_index = 0 if axis is None else axis_of(axis, max(rank, 1))
    a = jnp.ravel(a) if axis is None or not rank else a
    if not a.size:
        shape = tuple(size for i, size in enumerate(a.shape) if i != axis_index)
        values, counts = jnp.full(shape, typed_scalar(math.nan, a.dtype)), jnp.zeros(shape, int)
    else:
        ordered = jnp.sort(jnp.moveaxis(a, axis_index, -1), -1)
        n = ordered.shape[-1]
        is_equal = (ordered[..., 1:] == ordered[..., :-1]) | (ordered[..., 1:] != ordered[..., 1:]) & (
            ordered[..., :-1] != ordered[..., :-1]
        )
        first = jnp.concatenate([jnp.ones((*ordered.shape[:-1], 1), bool), ~is_equal], -1)
        positions = jnp.arange(n)
        starts = jnp.where(first, positions, n)
        # start of the next run: the smallest start at or after each position
        next_start = jnp.flip(cummin(jnp.flip(starts, -1), axis=ordered.ndim - 1), -1)
        ends = jnp.concatenate([next_start[..., 1:], jnp.full((*ordered.shape[:-1], 1), n)], -1)
        lengths = jnp.where(first, ends - positions, 0)
        best = jnp.argmax(lengths, -1, keepdims=True)
        values, counts = (jnp.take_along_axis(x, best, -1)[..., 0] for x in (ordered, lengths))
    if keepdims:
        axes = tuple(range(max(rank, 1))) if axis is None else (axis_index,)  # a scalar is treated as a vector
        values, counts = jnp.expand_dims(values, axes), jnp.expand_dims(counts, axes)
    return values, counts


def rankdata(a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Any:
    """Return the ranks of values, from 1, along an axis (None: of all elements, as a vector).

    Equal values get the "average", "min" or "max" of their ranks by ``method``, "dense" ranks without gaps, or
    "ordinal" ranks in their order. With NaN all ranks are NaN. Raises ValueError for another method.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import stats
    >>> print(stats.rankdata(jnp.array([10, 30, 10])))
    [1.5 3.  1.5]
    """
    _check_nan_policy("rankdata", nan_policy, "propagate")
    require_one_of("method of rankdata", method, "average", "min", "max", "dense", "ordinal")
    return _rankdata(a, method=method, axis=axis)


@jit_wrapped("method", "axis")
def _rankdata(a: Any, method: str, axis: int | None) -> Any:
    a = to_array(a)
    if axis is None:
        return _ranks(jnp.ravel(a), method)
    axis_index = axis_of(axis, a.ndim)
    return jnp.moveaxis(_ranks(jnp.moveaxis(a, axis_index, -1), method), -1, axis_index)


def _ranks(x: Any, method: str) -> Any:
    """Return the ranks of values along the last axis; ``method`` is that of :func:`rankdata`."""
    order = jnp.argsort(x, -1)
    inverse_order = jnp.argsort(order, -1)
    n = x.shape[-1]
    if method == "ordinal":
        ranks = inverse_order + 1
    else:
        ordered = jnp.take_along_axis(x, order, -1)
        starts = jnp.ones(ordered.shape, bool).at[..., 1:].set(ordered[..., 1:] != ordered[..., :-1])
        dense = jnp.take_along_axis(jnp.cumsum(starts, -1), inverse_order, -1)
        if method == "dense":
            ranks = dense
        else:
            positions = jnp.arange(n)
            lowest = cummax(jnp.where(starts, positions, 0), axis=x.ndim - 1)
            ends = jnp.concatenate([starts[..., 1:], jnp.ones((*x.shape[:-1], 1), bool)], -1)
            highest = jnp.flip(cummin(jnp.flip(jnp.where(ends, positions, n), -1), axis=x.ndim - 1), -1)
            lowest, highest = (jnp.take_along_axis(rank, inverse_order, -1) + 1 for rank in (lowest, highest))
            ranks = {"min": lowest, "max": highest}.get(method, (lowest + highest) / 2)
    (ranks,) = promote_args_inexact(ranks)
    if dtype_kind(x.dtype) in "fc":
        missing = jnp.any(jnp.isnan(x), -1, keepdims=True)
        return jnp.where(missing, jnp.nan, ranks)
    return ranks


def sem(a: Any, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """Return the standard error of the mean along an axis (None: of all elements).

    It is the standard deviation divided by the square root of the count. ``ddof`` is subtracted from the count in
    the deviation. ``nan_policy`` "omit" ignores NaN. ``keepdims`` keeps axes of size 1.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import stats
    >>> print(stats.sem(jnp.array([1.0, 3.0, 5.0, 7.0])).round(4))
    1.291
    """
    _check_nan_policy("sem", nan_policy, "propagate", "omit")
    return _sem(
        a, axis=axis, ddof=as_plain_number(ddof, "ddof"), omitting=nan_policy == "omit", keepdims=bool(keepdims)
    )


@jit_wrapped("axis", "ddof", "omitting", "keepdims")
def _sem(a: Any, axis: int | None, ddof: int, omitting: bool, keepdims: bool) -> Any:
    (a,) = promote_args_inexact(a)
    if axis is None or not a.ndim:
        a, axis = jnp.ravel(a), 0
        keepdims = False
    if not omitting:
        return jnp.std(a, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(
            exact_array(a.shape[axis_of(axis, a.ndim)], a.dtype)
        )
    is_valid = ~jnp.isnan(a)
    count = to_dtype(jnp.sum(is_valid, axis, keepdims=True), a.dtype)
    deviations = jnp.where(is_valid, a - jnp.sum(jnp.where(is_valid, a, 0), axis, keepdims=True) / count, 0)
    result = jnp.sqrt(jnp.sum(jnp.abs(deviations) ** 2, axis, keepdims=True) / (count - ddof) / count)
    return result if keepdims else jnp.squeeze(result, axis)
