"""Quantiles that ignore NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.avals import make_aval
from ..operations import sorting
from ..operations.conversion import convert_element_type, to_dtype
from ..operations.shapes import broadcast_in_dim, expand_dims, reduce_sum, reshape, zeros_of
from ..trace.values import aval_of
from . import logic, ufuncs
from .axes import reject_out, to_static_axis
from .jit_wrapped import jit_wrapped
from .promotion import as_dtype, keep_digits, promote_inexact
from .quantiles import (
    broadcast_weights,
    check_arguments,
    flatten_groups,
    interpolate_quantile,
    restore_quantile_axes,
    weighted_quantile,
)
from .reductions import all as all_of
from .shaping import broadcast_to, shape_of
from .taking import take_along_axis

Axis = int | Sequence[int] | None


def nanquantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return the quantiles ``q`` of the elements that are not NaN; NaN where there are none.

    Arguments, results and errors are those of :func:`quantile`.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.nanquantile(jnp.array([1.0, jnp.nan, 3.0]), 0.25))
    1.5
    """
    if out is not None:
        raise ValueError(str(reject_out("nanquantile")))
    return _validate_and_compute(a, q, axis, overwrite_input, method, keepdims, weights, "nanquantile")


def nanpercentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return the quantiles like :func:`nanquantile`, with ``q`` in percent.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.nanpercentile(jnp.array([1.0, jnp.nan, 3.0]), 25))
    1.5
    """
    if out is not None:
        raise ValueError(str(reject_out("nanpercentile")))
    part = ufuncs.true_divide(keep_digits(q, a), 100.0)
    return _validate_and_compute(a, part, axis, overwrite_input, method, keepdims, weights, "nanpercentile")


def _validate_and_compute(
    a: Any, q: Any, axis: Axis, overwrite: bool, method: str, keepdims: bool, weights: Any, name: str
) -> Any:
    q, axes = check_arguments(a, q, overwrite, method, weights, name), to_static_axis(axis)
    if weights is None:
        return _nanquantile(a, q, axis=axes, method=method, keepdims=keepdims)
    return _weighted_nanquantile(a, q, weights, axis=axes, keepdims=keepdims)


@jit_wrapped("axis", "method", "keepdims")
def _nanquantile(x: Any, q: Any, axis: Any, method: str, keepdims: bool) -> Any:
    x, axes = flatten_groups(x, axis)
    dtype, lead = aval_of(x).dtype, shape_of(x)[:-1]
    q = as_dtype(promote_inexact(q), dtype)
    if not aval_of(x).size:
        return zeros_of(make_aval((*shape_of(q), *lead), dtype))
    (ordered,) = sorting.sort([x], len(lead))
    is_number = logic.logical_not(logic.isnan(x))
    count = to_dtype(reduce_sum(convert_element_type(is_number, np.int32), (len(lead),)), dtype)
    quantile_count = aval_of(q).size
    # fractions along a last axis, with the number of non-NaN elements of each group broadcast to them
    parts = broadcast_in_dim(reshape(q, (quantile_count,)), (*lead, quantile_count), (len(lead),))
    count = broadcast_to(expand_dims(count, (len(lead),)), (*lead, quantile_count))
    scaled = ufuncs.multiply(parts, count) if method == "inverted_cdf" else ufuncs.multiply(parts, count - 1)
    position = scaled - 1 if method == "inverted_cdf" else scaled
    low, high = ufuncs.floor(position), ufuncs.ceil(position)
    max_index = ufuncs.maximum(count - 1, 0)
    indices = (convert_element_type(ufuncs.minimum(ufuncs.maximum(p, 0), max_index), np.int32) for p in (low, high))
    below, above = (take_along_axis(ordered, p, -1, mode="clip") for p in indices)
    quantiles = interpolate_quantile(below, above, ufuncs.subtract(position, low), method)
    quantiles = reshape(logic.where(count > 0, quantiles, np.nan), (*lead, *shape_of(q)))
    return restore_quantile_axes(quantiles, len(shape_of(q)), axes, keepdims)


@jit_wrapped("axis", "keepdims")
def _weighted_nanquantile(x: Any, q: Any, weights: Any, axis: Any, keepdims: bool) -> Any:
    x = promote_inexact(x)
    is_nan = logic.isnan(x)
    number_weights = logic.where(is_nan, 0, broadcast_weights(x, weights, axis))
    quantiles = weighted_quantile(logic.where(is_nan, np.inf, x), q, number_weights, axis=axis, keepdims=keepdims)
    return logic.where(all_of(is_nan, axis, keepdims=keepdims), np.nan, quantiles)
