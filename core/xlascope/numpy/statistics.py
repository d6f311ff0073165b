"""Covariances, histograms, and reductions that leave NaN out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import logic, reductions, sorting, transcendental, ufuncs
from .choice import bincount
from .creation import asarray, linspace, ones_like
from .joining import concatenate
from .linear import dot
from .promotion import inexact, to_common_dtype
from .shaping import axes_of, expand_dims, ravel, shape_of, transpose
from .taking import take_along_axis
from .together import as_tuple, together

Axis = int | Sequence[int] | None


def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: None = None,
    aweights: None = None,
) -> Any:  # fmt: skip
    """The covariances of variables: one a row (or a column, with ``rowvar=False``), the observations along it.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.cov(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])))
    [[ 1. -1.]
     [-1.  1.]]
    """
    if fweights is not None or aweights is not None:
        raise NotImplementedError("cov with weights")
    return _cov(m, y, rowvar=rowvar, ddof=(0 if bias else 1) if ddof is None else ddof)


@together("rowvar", "ddof")
def _cov(m: Any, y: Any, rowvar: bool, ddof: int) -> Any:
    x = _variables(m, rowvar)
    if y is not None:
        x = concatenate(to_common_dtype([x, _variables(y, rowvar)]), 0)
    centred = ufuncs.subtract(x, reductions.mean(x, axis=1, keepdims=True))
    found = ufuncs.true_divide(dot(centred, ufuncs.conjugate(centred.T)), float(shape_of(x)[1] - ddof))
    return found.reshape(()) if shape_of(found) == (1, 1) else found


def _variables(x: Any, rowvar: bool) -> Any:
    x = inexact(x)
    if len(shape_of(x)) > 2:
        raise ValueError(f"cov takes one or two axes, got shape {shape_of(x)}")
    x = asarray(x)
    return x.reshape(1, -1) if len(shape_of(x)) < 2 else x if rowvar else x.T


@together("rowvar")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """The correlations of variables; see :func:`cov`."""
    c = cov(x, y, rowvar)
    if not shape_of(c):
        return ufuncs.true_divide(c, c)
    scale = transcendental.sqrt(c.diagonal())
    return reductions.clip(c / scale[:, None] / scale[None, :], -1.0, 1.0)


# Histograms ---------------------------------------------------------------------------------------------------------


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of equally wide intervals over the values, or ``bins`` itself when it holds edges."""
    if not isinstance(bins, int):
        return asarray(bins)
    x = inexact(a)
    low, high = (reductions.min(x), reductions.max(x)) if range is None else range
    same = logic.equal(low, high)
    low, high = logic.where(same, low - 0.5, low), logic.where(same, high + 0.5, high)
    return linspace(low, high, bins + 1, dtype=x.dtype)


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False) -> tuple[Any, Any]:
    """How many elements (or what weight) lie in each interval, and the intervals' edges.

    >>> import xlascope.numpy as jnp
    >>> counts, edges = jnp.histogram(jnp.array([0.0, 1.0, 1.0, 2.0]), 2)
    >>> print(counts, edges)
    [1. 3.] [0. 1. 2.]
    """
    edges = histogram_bin_edges(a, bins, range, weights)
    counts = _histogram(a, edges, weights)
    if density:
        width = edges[1:] - edges[:-1]
        return counts / width / counts.sum(), edges
    return counts, edges


@together()
def _histogram(a: Any, edges: Any, weights: Any) -> Any:
    x, edges = (ravel(v) for v in to_common_dtype([inexact(a), edges]))
    place = sorting.searchsorted(edges, x, side="right")
    last = shape_of(edges)[0]
    place = logic.where(logic.equal(x, edges[-1]), last - 1, place)
    amount = ones_like(x) if weights is None else ravel(weights).astype(x.dtype)
    return bincount(place, amount, length=last + 1)[1:-1]


# Leaving NaN out ----------------------------------------------------------------------------------------------------


def nanprod(a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """The product of the elements that are numbers."""
    return reductions.prod(a, axis, dtype, keepdims=keepdims, where=~logic.isnan(a))


def nanvar(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    """The variance of the elements that are numbers."""
    return reductions.var(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=~logic.isnan(a))


def nanstd(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    """The standard deviation of the elements that are numbers."""
    return transcendental.sqrt(nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims))


def nanargmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool = False) -> Any:
    """The place of the largest of the elements that are numbers; -1 where there is none."""
    return _nanarg(a, axis=as_tuple(axis), keepdims=keepdims, largest=True)


def nanargmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool = False) -> Any:
    """The place of the smallest of the elements that are numbers; -1 where there is none."""
    return _nanarg(a, axis=as_tuple(axis), keepdims=keepdims, largest=False)


@together("axis", "keepdims", "largest")
def _nanarg(a: Any, axis: Any, keepdims: bool, largest: bool) -> Any:
    unknown = logic.isnan(a)
    find = reductions.argmax if largest else reductions.argmin
    found = find(logic.where(unknown, -np.inf if largest else np.inf, a), axis, keepdims=keepdims)
    return logic.where(reductions.all(unknown, axis, keepdims=keepdims), -1, found)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The running sum, NaN counting as 0."""
    return reductions.cumsum(logic.where(logic.isnan(a), 0, a), axis, dtype)


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The running product, NaN counting as 1."""
    return reductions.cumprod(logic.where(logic.isnan(a), 1, a), axis, dtype)


def nanmedian(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
    """The middle of the elements that are numbers."""
    return _nanmedian(a, axis=as_tuple(axis), keepdims=keepdims)


@together("axis", "keepdims")
def _nanmedian(x: Any, axis: Any, keepdims: bool) -> Any:
    x = inexact(x)
    axes = tuple(range(len(shape_of(x)))) if axis is None else axes_of(axis, len(shape_of(x)))
    kept = [i for i in range(len(shape_of(x))) if i not in axes]
    flat = transpose(x, (*kept, *axes)).reshape(*(shape_of(x)[i] for i in kept), -1)
    ordered = sorting.sort(flat, -1)
    count = reductions.count_nonzero(~logic.isnan(ordered), -1, keepdims=True)
    low, high = (ufuncs.maximum(count - 1, 0)) // 2, count // 2
    ends = [take_along_axis(ordered, ufuncs.minimum(i, shape_of(ordered)[-1] - 1), -1) for i in (low, high)]
    found = ufuncs.multiply(ufuncs.add(*ends), 0.5)
    return expand_dims(found[..., 0], axes) if keepdims else found[..., 0]
