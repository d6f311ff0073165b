"""Covariances, histograms, and reductions that leave NaN out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import canonical, iinfo, kind_of
from ..ir.requested_dtypes import requested_dtype
from ..trace.values import aval_of
from . import logic, reductions, searching, sorting, transcendental, ufuncs
from .axes import as_tuple, axes_of, no_out, whole_number
from .choice import bincount
from .creation import asarray, full, ones_like
from .joining import concatenate
from .linear import dot
from .promotion import as_dtype, inexact, to_common_dtype, to_common_inexact
from .ranges import linspace
from .shaping import expand_dims, ravel, reshape, shape_of, transpose
from .taking import take_along_axis
from .together import together

Axis = int | Sequence[int] | None


def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: Any = None,
    aweights: Any = None, dtype: Any = None,
) -> Any:  # fmt: skip
    """The covariances of variables: one a row (or a column, with ``rowvar=False``), the observations along it.

    ``fweights`` says how often each observation was made, ``aweights`` how much each counts; ``dtype`` is that of the
    result and of the computation (None: as the variables have it).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.cov(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])))
    [[ 1. -1.]
     [-1.  1.]]
    """
    if fweights is not None and kind_of(aval_of(fweights).dtype) not in "iu":
        raise TypeError(f"fweights counts observations by integers, got {aval_of(fweights).dtype.name}; see aweights")
    less = (0 if bias else 1) if ddof is None else ddof
    if not isinstance(less, (int, float)):
        raise TypeError(f"ddof is a number, got {less!r} of type {type(less).__name__}")
    return _cov(m, y, fweights, aweights, rowvar=rowvar, ddof=less, dtype=_inexact_or_none(dtype))


def _inexact_or_none(dtype: Any) -> np.dtype[Any] | None:
    own = None if dtype is None else requested_dtype(dtype)
    if own is not None and kind_of(own) not in "fc":
        raise ValueError(f"dtype of covariances is a floating-point or complex one, got {own.name}")
    return own


@together("rowvar", "ddof", "dtype")
def _cov(m: Any, y: Any, fweights: Any, aweights: Any, rowvar: bool, ddof: float, dtype: Any) -> Any:
    given = [m] if y is None else to_common_dtype([m, y])
    x = concatenate([_variables(each, rowvar) for each in given], 0)
    x = x if dtype is None else as_dtype(x, dtype)
    count = shape_of(x)[1]
    weights, rest = _weights(fweights, aweights, count, ddof)
    rest = rest if count else 0.0  # of no observations there is none
    centred = ufuncs.subtract(x, reductions.average(x, 1, weights, keepdims=True))
    weighted = centred if weights is None else ufuncs.multiply(centred, weights)
    found = ufuncs.true_divide(dot(centred, ufuncs.conjugate(weighted.T)), rest)
    return found.reshape(()) if shape_of(found) == (1, 1) else found


def _weights(fweights: Any, aweights: Any, count: int, ddof: float) -> tuple[Any, Any]:
    """The weight of each observation (None: one), and what the sum of the weighted squares is divided by."""
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is not None and shape_of(given) != (count,):
            raise ValueError(f"{name} has one number for each of the {count} observations, got shape {shape_of(given)}")
    absolute = None if aweights is None else ufuncs.abs(aweights)
    if absolute is None:
        total = float(count) if fweights is None else reductions.sum(fweights)
        return fweights, ufuncs.subtract(total, float(ddof))
    weights = absolute if fweights is None else ufuncs.multiply(fweights, absolute)
    total = reductions.sum(weights)
    squares = reductions.sum(ufuncs.multiply(weights, absolute))
    return weights, ufuncs.subtract(total, ufuncs.true_divide(ufuncs.multiply(float(ddof), squares), total))


def _variables(x: Any, rowvar: bool) -> Any:
    x = inexact(x)
    if len(shape_of(x)) > 2:
        raise ValueError(f"cov takes one or two axes, got shape {shape_of(x)}")
    x = asarray(x)
    return x.reshape(1, -1) if len(shape_of(x)) < 2 else x if rowvar else x.T


@together("rowvar", "dtype")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """The correlations of variables; see :func:`cov`."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not shape_of(c):
        return ufuncs.true_divide(c, c)
    scale = transcendental.sqrt(c.diagonal())
    return reductions.clip(c / scale[:, None] / scale[None, :], -1.0, 1.0)


# Histograms ---------------------------------------------------------------------------------------------------------


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of equally wide intervals over the values, or ``bins`` itself when it holds edges, as type of a."""
    if isinstance(bins, str):
        raise NotImplementedError(f"bins is a number of intervals or their edges, got the name of a rule, {bins!r}")
    x = asarray(inexact(a))
    edges = asarray(bins) if isinstance(bins, (list, tuple)) else bins
    if shape_of(edges):
        if len(shape_of(edges)) != 1:
            raise ValueError(f"bins is a number of intervals, or their edges on one axis; got shape {shape_of(edges)}")
        return asarray(edges, x.dtype)
    count = whole_number(bins, "bins")
    if count < 0:
        raise ValueError(f"bins is the number of intervals, at least 0, got {count}")
    if count >= iinfo(canonical(int)).max:
        raise OverflowError(f"bins is more than {canonical(int).name} counts, got {count}; set enable_x64")
    low, high = _ends(x, range)
    same = logic.equal(low, high)
    low, high = logic.where(same, low - 0.5, low), logic.where(same, high + 0.5, high)
    return linspace(low, high, count + 1, dtype=x.dtype)


def _ends(x: Any, limits: Any) -> tuple[Any, Any]:
    """The least and the largest value, or what the user gives in their place."""
    if limits is None:
        return reductions.min(x), reductions.max(x)
    ends = asarray(limits, x.dtype)
    if shape_of(ends) != (2,):
        raise ValueError(f"range is the two ends of the intervals, as in (0.0, 1.0), got {limits!r}")
    return ends[0], ends[1]


def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Any, Any]:
    """How many elements (or what weight) lie in each interval, and the intervals' edges.

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
        a, weights = to_common_inexact([a, weights])
    edges = histogram_bin_edges(a, bins, range, weights)
    counts = _histogram(a, edges, weights)
    if density:
        width = edges[1:] - edges[:-1]
        return counts / width / counts.sum(), edges
    return counts, edges


@together()
def _histogram(a: Any, edges: Any, weights: Any) -> Any:
    x = ravel(asarray(inexact(a)))
    place = searching.searchsorted(edges, x, side="right")
    last = shape_of(edges)[0]
    place = logic.where(logic.equal(x, edges[-1]), last - 1, place)
    amount = ones_like(x) if weights is None else ravel(weights)
    return bincount(place, amount, length=last + 1)[1:-1]


# Leaving NaN out ----------------------------------------------------------------------------------------------------


def nanprod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The product of the elements that are numbers."""
    if out is not None:
        raise no_out("nanprod")
    return reductions.prod(a, axis, dtype, keepdims=keepdims, initial=initial, where=reductions.numbers(a, where))


def nanargmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The place of the largest of the elements that are numbers; -1 where there is none."""
    if out is not None:
        raise no_out("nanargmax")
    return _nanarg(a, axis=as_tuple(axis), keepdims=bool(keepdims), largest=True)


def nanargmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The place of the smallest of the elements that are numbers; -1 where there is none."""
    if out is not None:
        raise no_out("nanargmin")
    return _nanarg(a, axis=as_tuple(axis), keepdims=bool(keepdims), largest=False)


@together("axis", "keepdims", "largest")
def _nanarg(a: Any, axis: Any, keepdims: bool, largest: bool) -> Any:
    find = reductions.argmax if largest else reductions.argmin
    if kind_of(aval_of(a).dtype) not in "fc":
        return find(a, axis, keepdims=keepdims)
    unknown = logic.isnan(a)
    found = find(logic.where(unknown, -np.inf if largest else np.inf, a), axis, keepdims=keepdims)
    return logic.where(reductions.all(unknown, axis, keepdims=keepdims), -1, found)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The running sum, NaN counting as 0."""
    if out is not None:
        raise no_out("nancumsum")
    return reductions.cumsum(logic.where(logic.isnan(a), 0, a), axis, dtype)


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The running product, NaN counting as 1."""
    if out is not None:
        raise no_out("nancumprod")
    return reductions.cumprod(logic.where(logic.isnan(a), 1, a), axis, dtype)


def nanmedian(
    a: Any, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """The middle of the elements that are numbers; NaN where there is none."""
    if out is not None:
        raise ValueError(str(no_out("nanmedian")))
    if overwrite_input:
        raise ValueError("nanmedian with overwrite_input: arrays do not change")
    return _nanmedian(a, axis=as_tuple(axis), keepdims=keepdims)


@together("axis", "keepdims")
def _nanmedian(x: Any, axis: Any, keepdims: bool) -> Any:
    x = inexact(x)
    shape = shape_of(x)
    axes = tuple(range(len(shape))) if axis is None else axes_of(axis, len(shape))
    kept = tuple(i for i in range(len(shape)) if i not in axes)
    lead, size = tuple(shape[i] for i in kept), math.prod(shape[i] for i in axes)
    ordered = sorting.sort(reshape(transpose(x, (*kept, *axes)), (*lead, size)), -1)
    if not aval_of(x).size:
        found: Any = full(lead, np.nan, aval_of(x).dtype)
    else:
        count = reductions.count_nonzero(~logic.isnan(ordered), -1, keepdims=True)
        low, high = (ufuncs.maximum(count - 1, 0)) // 2, count // 2
        ends = [take_along_axis(ordered, ufuncs.minimum(i, size - 1), -1) for i in (low, high)]
        found = ufuncs.multiply(ufuncs.add(*ends), 0.5)[..., 0]
    found = as_dtype(found, aval_of(x).dtype)
    return expand_dims(found, axes) if keepdims and axes else found
