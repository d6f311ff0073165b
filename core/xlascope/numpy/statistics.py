"""Covariances, histograms, and NaN-ignoring reductions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind, iinfo, is_floating, to_canonical_dtype
from ..ir.requested_dtypes import resolve_requested_dtype
from ..operations.operand_values import typed_scalar
from ..trace.values import aval_of
from . import logic, reductions, searching, sorting, transcendental, ufuncs
from .axes import as_plain_number, axes_of, reject_out, to_static_axis, whole_number
from .creation import asarray, full, ones_like
from .jit_wrapped import jit_wrapped
from .joining import concatenate
from .linear import dot
from .promotion import as_dtype, promote_dtypes, promote_dtypes_inexact, promote_inexact
from .ranges import linspace
from .selection import bincount
from .shaping import expand_dims, ravel, reshape, shape_of, transpose
from .taking import take_along_axis

Axis = int | Sequence[int] | None


def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: Any = None,
    aweights: Any = None, dtype: Any = None,
) -> Any:  # fmt: skip
    """Return the covariance matrix of variables in rows (columns with ``rowvar=False``) over their observations.

    ``fweights`` are the frequencies of the observations, ``aweights`` their weights; ``dtype`` is that of the
    result and of the computation (None: that of the variables).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.cov(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])))
    [[ 1. -1.]
     [-1.  1.]]
    """
    if fweights is not None and dtype_kind(aval_of(fweights).dtype) not in "iu":
        raise TypeError(f"fweights counts observations by integers, got {aval_of(fweights).dtype.name}; see aweights")
    delta = (0 if bias else 1) if ddof is None else as_plain_number(ddof, "ddof")
    if not isinstance(delta, (int, float)):
        raise TypeError(f"ddof is a number, got {delta!r} of type {type(delta).__name__}")
    return _cov(m, y, fweights, aweights, rowvar=rowvar, ddof=delta, dtype=_requested_inexact_dtype(dtype))


def _requested_inexact_dtype(dtype: Any) -> np.dtype[Any] | None:
    requested = None if dtype is None else resolve_requested_dtype(dtype)
    if requested is not None and dtype_kind(requested) not in "fc":
        raise ValueError(f"dtype of covariances is a floating-point or complex one, got {requested.name}")
    return requested


@jit_wrapped("rowvar", "ddof", "dtype")
def _cov(m: Any, y: Any, fweights: Any, aweights: Any, rowvar: bool, ddof: float, dtype: Any) -> Any:
    operands = [m] if y is None else promote_dtypes([m, y])
    x = concatenate([_to_rows(operand, rowvar) for operand in operands], 0)
    x = x if dtype is None else as_dtype(x, dtype)
    if (narrow := aval_of(x).dtype).itemsize == 2 and is_floating(narrow):
        m, y = (None if v is None else as_dtype(v, np.dtype("float32")) for v in (m, y))
        return as_dtype(_cov(m, y, fweights, aweights, rowvar=rowvar, ddof=ddof, dtype=np.dtype("float32")), narrow)
    count = shape_of(x)[1]
    weights, divisor = _combine_weights(fweights, aweights, count, ddof)
    divisor = divisor if count else 0.0  # zero observations give NaN
    centred = ufuncs.subtract(x, reductions.average(x, 1, weights, keepdims=True))
    weighted = centred if weights is None else ufuncs.multiply(centred, weights)
    covariance = ufuncs.true_divide(dot(centred, ufuncs.conjugate(weighted.T)), divisor)
    return covariance.reshape(()) if shape_of(covariance) == (1, 1) else covariance


def _combine_weights(fweights: Any, aweights: Any, count: int, ddof: float) -> tuple[Any, Any]:
    """Return the weight of each observation (None: one), and the divisor of the sum of weighted squares.

    ``fweights`` are frequencies and ``aweights`` weights of the ``count`` observations, or None; ``ddof`` is the
    number of degrees of freedom to subtract. Raises ValueError for weights of another size.
    """
    for name, value in (("fweights", fweights), ("aweights", aweights)):
        if value is not None and shape_of(value) != (count,):
            raise ValueError(f"{name} has one number for each of the {count} observations, got shape {shape_of(value)}")
    absolute = None if aweights is None else ufuncs.abs(aweights)
    if absolute is None:
        total = float(count) if fweights is None else reductions.sum(fweights)
        return fweights, ufuncs.subtract(total, float(ddof))
    weights = absolute if fweights is None else ufuncs.multiply(fweights, absolute)
    total = reductions.sum(weights)
    squares = reductions.sum(ufuncs.multiply(weights, absolute))
    return weights, ufuncs.subtract(total, ufuncs.true_divide(ufuncs.multiply(float(ddof), squares), total))


def _to_rows(x: Any, rowvar: bool) -> Any:
    x = promote_inexact(x)
    if len(shape_of(x)) > 2:
        raise ValueError(f"cov takes one or two axes, got shape {shape_of(x)}")
    x = asarray(x)
    return x.reshape(1, -1) if len(shape_of(x)) < 2 else x if rowvar else x.T


@jit_wrapped("rowvar", "dtype")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """Return the correlation matrix of variables; see :func:`cov`."""
    narrow = np.result_type(*(aval_of(promote_inexact(v)).dtype for v in (x, y) if v is not None))
    if dtype is None and is_floating(narrow) and narrow.itemsize == 2:  # variances may exceed float16
        return as_dtype(corrcoef(x, y, rowvar, np.dtype("float32")), narrow)
    c = cov(x, y, rowvar, dtype=dtype)
    if not shape_of(c):
        return ufuncs.true_divide(c, c)
    scale = transcendental.sqrt(c.diagonal())
    return reductions.clip(c / scale[:, None] / scale[None, :], -1.0, 1.0)


# Histograms ---------------------------------------------------------------------------------------------------------


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Return the edges of equally wide bins over the values, or ``bins`` itself if it holds edges."""
    if isinstance(bins, str):
        raise NotImplementedError(f"bins is a number of intervals or their edges, got the name of a rule, {bins!r}")
    x = asarray(promote_inexact(a))
    edges = asarray(bins) if isinstance(bins, (list, tuple)) else bins
    if shape_of(edges):
        if len(shape_of(edges)) != 1:
            raise ValueError(f"bins is a number of intervals, or their edges on one axis; got shape {shape_of(edges)}")
        return as_dtype(asarray(edges), x.dtype)
    count = whole_number(bins, "bins")
    if count < 0:
        raise ValueError(f"bins is the number of intervals, at least 0, got {count}")
    if count >= iinfo(to_canonical_dtype(int)).max:
        raise OverflowError(f"bins is more than {to_canonical_dtype(int).name} counts, got {count}; set enable_x64")
    low, high = _range_ends(x, range)
    same = logic.equal(low, high)
    low, high = logic.where(same, low - 0.5, low), logic.where(same, high + 0.5, high)
    return as_dtype(linspace(low, high, count + 1), x.dtype)


def _range_ends(x: Any, limits: Any) -> tuple[Any, Any]:
    """Return the two ends of a histogram's range: ``limits``, or for None the smallest and largest value of ``x``."""
    if limits is None:
        return reductions.min(x), reductions.max(x)
    ends = as_dtype(asarray(limits), x.dtype)
    if shape_of(ends) != (2,):
        raise ValueError(f"range is the two ends of the intervals, as in (0.0, 1.0), got {limits!r}")
    return ends[0], ends[1]


def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Any, Any]:
    """Return the number of elements (or the total weight) in each bin, and the edges of the bins.

    >>> import xlascope.numpy as jnp
    >>> counts, edges = jnp.histogram(jnp.array([0.0, 1.0, 1.0, 2.0]), 2)
    >>> print(counts, edges)
    [1. 3.] [0. 1. 2.]
    """
    if weights is not None:
        if shape_of(weights) != shape_of(a):
            raise ValueError(
                f"weights has one number for each of the values, got {shape_of(weights)}, not {shape_of(a)}"
            )
        a, weights = promote_dtypes_inexact([a, weights])
    edges = histogram_bin_edges(a, bins, range, weights)
    counts = _histogram(a, edges, weights)
    if density:
        width = edges[1:] - edges[:-1]
        return counts / width / counts.sum(), edges
    return counts, edges


@jit_wrapped()
def _histogram(a: Any, edges: Any, weights: Any) -> Any:
    x = ravel(asarray(promote_inexact(a)))
    bin_index = searching.searchsorted(edges, x, side="right")
    last = shape_of(edges)[0]
    bin_index = logic.where(logic.equal(x, edges[-1]), last - 1, bin_index)
    amount = ones_like(x) if weights is None else ravel(weights)
    return bincount(bin_index, amount, length=last + 1)[1:-1]


# Ignoring NaN --------------------------------------------------------------------------------------------------------


def nanprod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Return the product of the elements that are not NaN."""
    if out is not None:
        raise reject_out("nanprod")
    return reductions.prod(a, axis, dtype, keepdims=keepdims, initial=initial, where=reductions.number_mask(a, where))


def nanargmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Return the index of the largest element that is not NaN; -1 if there is none."""
    if out is not None:
        raise reject_out("nanargmax")
    return _nan_arg_reduce(a, axis=to_static_axis(axis), keepdims=bool(keepdims), largest=True)


def nanargmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Return the index of the smallest element that is not NaN; -1 if there is none."""
    if out is not None:
        raise reject_out("nanargmin")
    return _nan_arg_reduce(a, axis=to_static_axis(axis), keepdims=bool(keepdims), largest=False)


@jit_wrapped("axis", "keepdims", "largest")
def _nan_arg_reduce(a: Any, axis: Any, keepdims: bool, largest: bool) -> Any:
    find = reductions.argmax if largest else reductions.argmin
    if dtype_kind(aval_of(a).dtype) not in "fc":
        return find(a, axis, keepdims=keepdims)
    is_nan = logic.isnan(a)
    index = find(logic.where(is_nan, -np.inf if largest else np.inf, a), axis, keepdims=keepdims)
    return logic.where(reductions.all(is_nan, axis, keepdims=keepdims), -1, index)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Return the cumulative sum, with NaN treated as 0."""
    if out is not None:
        raise reject_out("nancumsum")
    return reductions.cumsum(logic.where(logic.isnan(a), 0, a), axis, dtype)


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """Return the cumulative product, with NaN treated as 1."""
    if out is not None:
        raise reject_out("nancumprod")
    return reductions.cumprod(logic.where(logic.isnan(a), 1, a), axis, dtype)


def nanmedian(
    a: Any, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """Return the median of the elements that are not NaN; NaN if there is none."""
    if out is not None:
        raise ValueError(str(reject_out("nanmedian")))
    if overwrite_input:
        raise ValueError("nanmedian with overwrite_input: arrays do not change")
    return _nanmedian(a, axis=to_static_axis(axis), keepdims=keepdims)


@jit_wrapped("axis", "keepdims")
def _nanmedian(x: Any, axis: Any, keepdims: bool) -> Any:
    x = promote_inexact(x)
    shape = shape_of(x)
    axes = tuple(range(len(shape))) if axis is None else axes_of(axis, len(shape))
    kept_axes = tuple(i for i in range(len(shape)) if i not in axes)
    lead, size = tuple(shape[i] for i in kept_axes), math.prod(shape[i] for i in axes)
    ordered = sorting.sort(reshape(transpose(x, (*kept_axes, *axes)), (*lead, size)), -1)
    if not aval_of(x).size:
        medians: Any = full(lead, typed_scalar(math.nan, aval_of(x).dtype))
    else:
        count = reductions.count_nonzero(~logic.isnan(ordered), -1, keepdims=True)
        low, high = (ufuncs.maximum(count - 1, 0)) // 2, count // 2
        ends = [take_along_axis(ordered, ufuncs.minimum(i, size - 1), -1) for i in (low, high)]
        medians = ufuncs.multiply(ufuncs.add(*ends), 0.5)[..., 0]
    medians = as_dtype(medians, aval_of(x).dtype)
    return expand_dims(medians, axes) if keepdims and axes else medians
