"""Sums over segments, and JAX's early updates: ``index_update(x, index[1:3], y)`` for ``x.at[1:3].set(y)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import iinfo, kind_of
from .names import explain_missing as _explain_missing
from .numpy import methods  # noqa: F401  (gives arrays their .at)
from .numpy.creation import full
from .numpy.joining import stack
from .numpy.logic import less, where
from .numpy.reductions import max, min, prod, sum
from .operations.whole_numbers import whole_number
from .trace.gate import array_of
from .trace.values import aval_of

__all__ = [
    "index", "index_add", "index_max", "index_min", "index_mul", "index_update", "segment_max", "segment_min",
    "segment_prod", "segment_sum",
]  # fmt: skip


class _Index:
    """Gives back what it is indexed with: ``index[0, 1:3]`` is ``(0, slice(1, 3))``."""

    def __getitem__(self, place: Any) -> Any:
        return place


index = _Index()


def index_update(x: Any, idx: Any, y: Any) -> Any:
    """``x`` with ``y`` at the places ``idx``.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.ops.index_update(jnp.zeros(3), xs.ops.index[1:], 7.0))
    [0. 7. 7.]
    """
    return array_of(x).at[idx].set(y)


def index_add(x: Any, idx: Any, y: Any) -> Any:
    """``x`` with ``y`` added at the places ``idx``."""
    return array_of(x).at[idx].add(y)


def index_mul(x: Any, idx: Any, y: Any) -> Any:
    """``x`` multiplied by ``y`` at the places ``idx``."""
    return array_of(x).at[idx].multiply(y)


def index_min(x: Any, idx: Any, y: Any) -> Any:
    """``x`` with the smaller of it and ``y`` at the places ``idx``."""
    return array_of(x).at[idx].min(y)


def index_max(x: Any, idx: Any, y: Any) -> Any:
    """``x`` with the larger of it and ``y`` at the places ``idx``."""
    return array_of(x).at[idx].max(y)


def segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Any:
    """The sums of the slices of ``data`` with equal ``segment_ids``, for ids from 0 to ``num_segments`` - 1.

    ``segment_ids`` holds integers, one for each slice of ``data`` along its first axis; the result has an axis of
    segments in its place. Without ``num_segments`` there are as many as the largest id says, which has to be known
    then. Slices with other ids count nowhere, or with ``mode="clip"`` for the nearest segment.

    ``indices_are_sorted`` and ``unique_indices`` promise that of the ids. ``bucket_size`` is how many slices are summed
    up by themselves before the sums are, which loses fewer digits.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.ops.segment_sum(jnp.arange(4.0), jnp.array([0, 0, 1, 2])))
    [1. 2. 3.]
    """
    hints = indices_are_sorted, unique_indices, mode
    return _segments("add", sum, data, segment_ids, num_segments, bucket_size, hints)


def segment_prod(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Any:
    """The products of the slices of ``data`` with equal ``segment_ids``, 1 where there is none; see segment_sum.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.ops.segment_prod(jnp.arange(4.0), jnp.array([0, 0, 2, 2])))
    [0. 1. 6.]
    """
    hints = indices_are_sorted, unique_indices, mode
    return _segments("multiply", prod, data, segment_ids, num_segments, bucket_size, hints)


def segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Any:
    """The largest of the slices of ``data`` with equal ``segment_ids``, elementwise; see segment_sum.

    Where there is none it is the least number of the dtype: -inf, or the least integer.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.ops.segment_max(jnp.arange(4.0), jnp.array([0, 0, 2, 2])))
    [  1. -inf   3.]
    """
    hints = indices_are_sorted, unique_indices, mode
    return _segments("max", max, data, segment_ids, num_segments, bucket_size, hints)


def segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Any:
    """The smallest of the slices of ``data`` with equal ``segment_ids``, elementwise; see segment_sum.

    Where there is none it is the largest number of the dtype: inf, or the largest integer.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.ops.segment_min(jnp.arange(4.0), jnp.array([0, 0, 2, 2])))
    [ 0. inf  2.]
    """
    hints = indices_are_sorted, unique_indices, mode
    return _segments("min", min, data, segment_ids, num_segments, bucket_size, hints)


def _segments(
    how: str, combine: Callable[..., Any], data: Any, ids: Any, given: int | None, bucket: int | None, hints: Any
) -> Any:
    """The slices of ``data`` put together by segment, in buckets by themselves first where that is asked for."""
    known = np.asarray(ids) if given is None else None
    if known is not None and not known.shape and known < 0:
        raise ValueError(f"a segment of its own has an id of at least 0, got {known}; say num_segments")
    count = int(np.max(known, initial=-1)) + 1 if known is not None else _count(given)
    if bucket is None:
        return _at_once(how, data, ids, count, hints)
    size = whole_number(bucket, "bucket_size")
    if size < 1:
        raise ValueError(f"bucket_size is how many slices are taken at once, at least 1, got {size}")
    total = aval_of(ids).shape[0]
    parts = [slice(start, start + size) for start in range(0, total, size)]
    found = [_at_once(how, array_of(data)[part], array_of(ids)[part], count, hints) for part in parts]
    return (
        combine(stack(found), 0, dtype=aval_of(found[0]).dtype)
        if how in ("add", "multiply")
        else combine(stack(found), 0)
    )


def _at_once(how: str, data: Any, ids: Any, count: int, hints: Any) -> Any:
    aval = aval_of(data)
    if kind_of(aval_of(ids).dtype) not in "biu":
        raise TypeError(f"segment_ids are integers, got {aval_of(ids).dtype.name}")
    is_sorted, unique, mode = hints
    shape = (count, *aval.shape[1:])
    places = where(less(ids, 0), np.int32(0 if _name(mode) == "clip" else count), ids)  # behind the end is nothing
    change = getattr(full(shape, _neutral(how, aval.dtype)).at[places], how)
    return change(data, indices_are_sorted=is_sorted, unique_indices=unique, mode=mode)


def _name(mode: Any) -> Any:
    return getattr(mode, "value", mode)


def _neutral(how: str, dtype: np.dtype[Any]) -> Any:
    """What changes nothing: where a segment begins."""
    if how in ("add", "multiply"):
        value: Any = int(how == "multiply")
    elif kind_of(dtype) == "b":
        value = how == "min"
    elif kind_of(dtype) in "iu":
        value = iinfo(dtype).min if how == "max" else iinfo(dtype).max
    else:
        value = -np.inf if how == "max" else np.inf
    return np.asarray(value).astype(dtype)[()]


def _count(given: Any) -> int:
    count = whole_number(given, "num_segments")
    if not 0 <= count < 2**31:
        raise ValueError(f"num_segments is at least 0 and less than 2**31, got {count}")
    return count


_explain_missing(__name__)
