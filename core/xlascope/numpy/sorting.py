"""Order: sorting, the middle and other quantiles, and places in sorted arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import canonical
from ..operations import sorting
from ..operations.arithmetic import mul, sub
from ..operations.comparisons import ne
from ..operations.conversion import convert_element_type
from ..operations.reductions import reduce_or
from ..operations.rounding import ceil, floor
from ..operations.shapes import broadcasted_iota, expand_dims, reduce_sum, reshape, transpose
from ..trace.values import aval_of
from . import logic, ufuncs
from .promotion import inexact, to_common_dtype
from .repeating import flip
from .shaping import axes_of, axis_of, broadcast_to, ravel, shape_of
from .taking import take
from .together import as_tuple, together


def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """The elements in rising order along an axis (None: of the flattened array); NaN comes last.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.sort(jnp.array([3, 1, 2])))
    [1 2 3]
    """
    return _sort(a, axis=axis, stable=stable, descending=descending)


@together("axis", "stable", "descending")
def _sort(a: Any, axis: int | None, stable: bool, descending: bool) -> Any:
    if axis is None:
        a, axis = ravel(a), 0
    axis = axis_of(axis, len(shape_of(a)))
    (found,) = sorting.sort([a], axis, stable)
    return flip(found, axis) if descending else found


def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """The places of the elements in rising order along an axis; equal elements keep theirs.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.argsort(jnp.array([3, 1, 2])))
    [1 2 0]
    """
    return _argsort(a, axis=axis, stable=stable, descending=descending)


@together("axis", "stable", "descending")
def _argsort(a: Any, axis: int | None, stable: bool, descending: bool) -> Any:
    if axis is None:
        a, axis = ravel(a), 0
    axis = axis_of(axis, len(shape_of(a)))
    places = broadcasted_iota(canonical(int), shape_of(a), axis)
    if not descending:
        return sorting.sort([a, places], axis, stable)[1]
    # from the back, so that equal elements keep their order when the result is turned round
    found = sorting.sort([flip(a, axis), flip(places, axis)], axis, stable)[1]
    return flip(found, axis)


@together("axis")
def lexsort(keys: Sequence[Any], axis: int = -1) -> Any:
    """The places in the order of the last key, then the one before it, and so on."""
    given = list(keys)[::-1]
    axis = axis_of(axis, len(shape_of(given[0])))
    places = broadcasted_iota(canonical(int), shape_of(given[0]), axis)
    return sorting.sort([*given, places], axis, True, len(given))[-1]


def median(a: Any, axis: int | Sequence[int] | None = None, out: None = None, keepdims: bool = False) -> Any:
    """The middle element, or the mean of the two in the middle; NaN if there is one.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.median(jnp.array([3.0, 1.0, 2.0, 10.0])))
    2.5
    """
    return quantile(a, 0.5, axis, keepdims=keepdims)


def quantile(
    a: Any,
    q: Any,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """The value below which the part ``q`` of the elements lies.

    ``method`` says what lies between two elements: linear, lower, higher, nearest, midpoint.
    """
    return _quantile(a, q, axis=as_tuple(axis), method=method, keepdims=keepdims)


def percentile(
    a: Any,
    q: Any,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """Like :func:`quantile`, with ``q`` out of 100."""
    return quantile(a, ufuncs.true_divide(q, 100.0), axis, method=method, keepdims=keepdims)


@together("axis", "method", "keepdims")
def _quantile(x: Any, q: Any, axis: Any, method: str, keepdims: bool) -> Any:
    x, q = inexact(x), inexact(q)
    axes = tuple(range(len(shape_of(x)))) if axis is None else axes_of(axis, len(shape_of(x)))
    ordered, size = _ordered(x, axes)
    q = convert_element_type(q, aval_of(x).dtype)
    place = mul(q, float(size - 1))
    low, high = floor(place), ceil(place)
    below, above = (take(ordered, convert_element_type(p, np.int32), -1, mode="clip") for p in (low, high))
    found = _between(below, above, sub(place, low), method)
    found = _to_front(found, len(shape_of(q)))
    return expand_dims(found, [d + len(shape_of(q)) for d in axes]) if keepdims and axes else found


def _ordered(x: Any, axes: tuple[int, ...]) -> tuple[Any, int]:
    """The elements of each group in order along a last axis, all NaN where there is one; and how many there are."""
    shape = shape_of(x)
    kept = tuple(d for d in range(len(shape)) if d not in axes)
    lead = tuple(shape[d] for d in kept)
    size = int(np.prod([shape[d] for d in axes], dtype=int))
    x = reshape(transpose(x, (*kept, *axes)), (*lead, size))
    unknown = reduce_or(ne(x, x), (len(lead),))
    x = logic.where(expand_dims(unknown, (len(lead),)), np.nan, x)
    return sorting.sort([x], len(lead))[0], size


def _between(below: Any, above: Any, part: Any, method: str) -> Any:
    """A value between two neighbours, ``part`` of the way from the lower to the higher."""
    if method == "linear":
        return below * (1.0 - part) + above * part
    if method in ("lower", "higher"):
        return below if method == "lower" else above
    if method == "midpoint":
        return (below + above) * 0.5
    if method == "nearest":
        return logic.where(part > 0.5, above, below)
    raise ValueError(f'a quantile is "linear", "lower", "higher", "nearest" or "midpoint", got {method!r}')


def _to_front(x: Any, count: int) -> Any:
    """The last ``count`` axes in front."""
    rank = len(shape_of(x))
    return transpose(x, (*range(rank - count, rank), *range(rank - count)))


@together("side", "method")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan") -> Any:
    """Where elements have to be put into a sorted array to keep it so, before (left) or behind (right) equal ones.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.searchsorted(jnp.array([1, 3, 5]), jnp.array([0, 3, 9])))
    [0 1 3]
    """
    if side not in ("left", "right"):
        raise ValueError(f'the side is "left" or "right", got {side!r}')
    keys, values = to_common_dtype([a if sorter is None else take(a, sorter), v])
    spread = expand_dims(values, (len(shape_of(values)),))
    keys = broadcast_to(keys, (*shape_of(values), *shape_of(keys)))
    before = logic.less(keys, spread) if side == "left" else logic.less_equal(keys, spread)
    return reduce_sum(convert_element_type(before, canonical(int)), (len(shape_of(values)),))


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The number of the interval between rising ``bins`` in which each element lies."""
    return searchsorted(bins, x, side="left" if right else "right")
