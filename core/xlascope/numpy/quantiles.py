"""Medians and quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ..dtypes import dtype_kind
from ..ir.avals import make_aval
from ..operations import sorting
from ..operations.arithmetic import mul, sub
from ..operations.comparisons import ne
from ..operations.conversion import convert_element_type
from ..operations.cumulative import cumsum
from ..operations.reductions import reduce_or
from ..operations.rounding import ceil, floor
from ..operations.shapes import expand_dims, reduce_sum, reshape, squeeze, transpose, zeros_of
from ..operations.slicing import slice_in_dim
from ..trace.values import aval_of
from . import logic, ufuncs
from .axes import axes_of, axis_of, is_several, reject_out, to_static_axis
from .jit_wrapped import Conversion, jit_wrapped
from .promotion import as_dtype, keep_digits, promote_inexact
from .shaping import broadcast_to, shape_of
from .taking import take, take_along_axis


def _reject_median_out(out: Any, name: str = "out") -> NoReturn:
    raise ValueError(str(reject_out("median")))


@jit_wrapped("axis", "overwrite_input", "keepdims", out=Conversion(_reject_median_out))
def median(
    a: Any,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """Return the median: the middle element, or the mean of the two middle ones; NaN if any element is NaN.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.median(jnp.array([3.0, 1.0, 2.0, 10.0])))
    2.5
    """
    if out is not None:
        _reject_median_out(out)
    if overwrite_input:
        raise ValueError("median with overwrite_input: arrays do not change")
    _require_real(a, "a", "median")
    return _median(a, axis=to_static_axis(axis), keepdims=keepdims)


def quantile(
    a: Any,
    q: Any,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return the value below which the fraction ``q`` of the elements lies.

    ``method`` is the interpolation between two elements: linear, lower, higher, nearest, midpoint; or
    inverted_cdf, which gives the smallest element such that the elements up to it are at least the fraction ``q``
    of all elements, or of all ``weights``.

    >>> import xlascope.numpy as jnp
    >>> x = jnp.array([1.0, 2.0, 4.0])
    >>> print(jnp.quantile(x, 0.75), jnp.quantile(x, 0.5, weights=jnp.array([1, 1, 3]), method="inverted_cdf"))
    3.0 4.0
    """
    if out is not None:
        raise ValueError(str(reject_out("quantile")))
    return _validate_and_compute(a, q, axis, overwrite_input, method, keepdims, weights, "quantile")


def percentile(
    a: Any,
    q: Any,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return the quantiles like :func:`quantile`, with ``q`` in percent."""
    if out is not None:
        raise ValueError(str(reject_out("percentile")))
    part = ufuncs.true_divide(keep_digits(q, a), 100.0)
    return _validate_and_compute(a, part, axis, overwrite_input, method, keepdims, weights, "percentile")


QUANTILE_METHODS = ("linear", "lower", "higher", "nearest", "midpoint", "inverted_cdf")


def _validate_and_compute(
    a: Any, q: Any, axis: Any, overwrite: bool, method: str, keepdims: bool, weights: Any, name: str
) -> Any:
    q, axes = check_arguments(a, q, overwrite, method, weights, name), to_static_axis(axis)
    if weights is None:
        return _quantile(a, q, axis=axes, method=method, keepdims=keepdims)
    return weighted_quantile(a, q, weights, axis=axes, keepdims=keepdims)


def check_arguments(a: Any, q: Any, overwrite: bool, method: str, weights: Any, name: str) -> Any:
    """Return ``q`` with the digits that it has, after checking the arguments of the function ``name``.

    Raises ValueError for one that is not allowed, NotImplementedError for weights with a method that takes none.
    """
    if overwrite:
        raise ValueError(f"{name} with overwrite_input: arrays do not change")
    if method not in QUANTILE_METHODS:
        raise ValueError(f"{name} takes method as one of {', '.join(QUANTILE_METHODS)}, got {method!r}")
    if weights is not None:
        _require_real(weights, "weights", name)
        if method != "inverted_cdf":
            raise NotImplementedError(f'{name} takes weights with method="inverted_cdf", got {method!r}')
    for argument, x in (("a", a), ("q", q)):
        _require_real(x, argument, name)
    q = keep_digits(q, a)
    if len(shape_of(q)) > 1:
        raise ValueError(f"{name} takes q as one number, or several along one axis, got shape {shape_of(q)}")
    return q


def _require_real(x: Any, argument: str, name: str) -> None:
    """Raise ValueError if ``x``, the argument ``argument`` of the function ``name``, is complex."""
    if dtype_kind(aval_of(x).dtype) == "c":
        raise ValueError(f"{name} takes {argument} as real numbers, which have an order, got {aval_of(x).dtype.name}")


def flatten_groups(x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """Return ``x`` as floats with the axes to reduce flattened into a last axis, and the numbers of these axes.

    ``axis`` is one axis, several, or None for all. Raises ValueError if there are no elements along them.
    """
    x = promote_inexact(x)
    shape = shape_of(x)
    axes = tuple(range(len(shape))) if axis is None else axes_of(axis, len(shape))
    kept_axes = tuple(d for d in range(len(shape)) if d not in axes)
    size: int = math.prod(shape[d] for d in axes)
    lead: Any = [shape[d] for d in kept_axes]
    if not size and math.prod(lead):
        raise ValueError(f"a quantile of no elements (shape {shape}, axis {axis}) has no value")
    return as_dtype(reshape(transpose(x, (*kept_axes, *axes)), (*lead, size)), aval_of(x).dtype), axes


def _median(x: Any, axis: Any, keepdims: bool) -> Any:
    return _quantile(x, 0.5, axis=axis, method="linear", keepdims=keepdims)


@jit_wrapped("axis", "method", "keepdims")
def _quantile(x: Any, q: Any, axis: Any, method: str, keepdims: bool) -> Any:
    x, axes = flatten_groups(x, axis)
    (ordered,), size = _sort_groups(x), shape_of(x)[-1]
    q = as_dtype(promote_inexact(q), aval_of(x).dtype)
    if not aval_of(x).size:
        return zeros_of(make_aval((*shape_of(q), *shape_of(x)[:-1]), aval_of(x).dtype))
    position = sub(mul(q, float(size)), 1.0) if method == "inverted_cdf" else mul(q, float(size - 1))
    low, high = floor(position), ceil(position)
    below, above = (take(ordered, convert_element_type(p, np.int32), -1, mode="clip") for p in (low, high))
    quantiles = interpolate_quantile(below, above, sub(position, low), method)
    return restore_quantile_axes(quantiles, len(shape_of(q)), axes, keepdims)


@jit_wrapped("axis", "keepdims")
def weighted_quantile(x: Any, q: Any, weights: Any, axis: Any, keepdims: bool) -> Any:
    """Return the smallest element at which the cumulative weight reaches the fraction ``q`` of the total.

    ``weights`` has one weight for each element, or for each index along ``axis``. A negative weight gives NaN.
    """
    weights = broadcast_weights(x, weights, axis)
    x, axes = flatten_groups(x, axis)
    weights, _ = flatten_groups(as_dtype(weights, aval_of(x).dtype), axis)
    q = as_dtype(promote_inexact(q), aval_of(x).dtype)
    lead, size = shape_of(x)[:-1], shape_of(x)[-1]
    ordered, sorted_weights = _sort_groups(x, weights)
    cumulative = cumsum(sorted_weights, len(lead))
    total = slice_in_dim(cumulative, size - 1, size, len(lead))
    flat = reshape(q, (aval_of(q).size, *(1 for _ in shape_of(x))))
    is_below = logic.less(expand_dims(cumulative, (0,)), ufuncs.multiply(flat, expand_dims(total, (0,))))
    index = reduce_sum(convert_element_type(is_below, np.int32), (len(lead) + 1,))
    index = expand_dims(ufuncs.minimum(index, size - 1), (len(lead) + 1,))
    candidates = broadcast_to(expand_dims(ordered, (0,)), (aval_of(q).size, *shape_of(ordered)))
    quantiles = squeeze(take_along_axis(candidates, index, -1), (len(lead) + 1,))
    has_negative = reduce_or(logic.less(sorted_weights, 0), (len(lead),))
    quantiles = logic.where(expand_dims(has_negative, (0,)), np.nan, quantiles)
    return _restore_dims(reshape(quantiles, (*shape_of(q), *lead)), len(shape_of(q)), axes, keepdims)


def broadcast_weights(x: Any, weights: Any, axis: Any) -> Any:
    """Return weights broadcast to the shape of ``x``: one for each element, or for each index along ``axis``.

    Raises ValueError for other shapes.
    """
    shape, w_shape = shape_of(x), shape_of(weights)
    if w_shape == shape:
        return weights
    if axis is None or is_several(axis) or w_shape != (shape[axis_of(axis, len(shape))],):
        raise ValueError(f"weights of shape {w_shape} do not fit shape {shape} and axis {axis}: one for each element")
    weights_axis = axis_of(axis, len(shape))
    return broadcast_to(reshape(weights, tuple(n if i == weights_axis else 1 for i, n in enumerate(shape))), shape)


def _restore_dims(x: Any, lead: int, axes: tuple[int, ...], keepdims: bool) -> Any:
    return expand_dims(x, [d + lead for d in axes]) if keepdims and axes else x


def _sort_groups(x: Any, *values: Any) -> list[Any]:
    """Return ``x`` sorted along its last axis, and ``values`` in the same order, as a list.

    Where any element along the axis is NaN, all are NaN.
    """
    last = len(shape_of(x)) - 1
    has_nan = reduce_or(ne(x, x), (last,))
    return sorting.sort([logic.where(expand_dims(has_nan, (last,)), np.nan, x), *values], last)


def interpolate_quantile(below: Any, above: Any, part: Any, method: str) -> Any:
    """Return the quantile at the fraction ``part`` of the way from the lower to the higher neighbour.

    ``method`` is one of ``QUANTILE_METHODS``.
    """
    if method == "linear":
        return below * (1.0 - part) + above * part
    if method in ("lower", "higher", "inverted_cdf"):
        return below if method == "lower" else above
    if method == "midpoint":
        return (below + above) * 0.5
    return logic.where(part > 0.5, above, below)


def restore_quantile_axes(x: Any, count: int, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Return quantiles with their last ``count`` axes, those of ``q``, moved to the front.

    If ``keepdims``, the reduced ``axes`` are restored with size 1.
    """
    return _restore_dims(_move_last_axes_to_front(x, count), count, axes, keepdims)


def _move_last_axes_to_front(x: Any, count: int) -> Any:
    """Return the array with its last ``count`` axes in front."""
    rank = len(shape_of(x))
    return transpose(x, (*range(rank - count, rank), *range(rank - count)))
