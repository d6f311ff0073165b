"""Segment reductions, and JAX's early updates: ``index_update(x, index[1:3], y)`` for ``x.at[1:3].set(y)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import dtype_kind, iinfo
from .names import explain_missing as _explain_missing
from .numpy import methods  # noqa: F401  (gives arrays their .at)
from .numpy.creation import full
from .numpy.joining import stack
from .numpy.logic import less, where
from .numpy.reductions import max, min, prod, sum
from .operations.integer_arguments import whole_number
from .operations.operand_values import typed_scalar as _typed_scalar
from .trace.concrete_values import require_known
from .trace.operand_coercion import to_array
from .trace.values import aval_of

__all__ = [
    "index", "index_add", "index_max", "index_min", "index_mul", "index_update", "segment_max", "segment_min",
    "segment_prod", "segment_sum",
]  # fmt: skip


class _Index:
    """Object that returns its index: ``index[0, 1:3]`` is ``(0, slice(1, 3))``."""

    def __getitem__(self, key: Any) -> Any:
        return key


index = _Index()


def index_update(x: Any, idx: Any, y: Any) -> Any:
    """Return ``x`` with the elements at ``idx`` set to ``y``.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.ops.index_update(jnp.zeros(3), xs.ops.index[1:], 7.0))
    [0. 7. 7.]
    """
    return to_array(x).at[idx].set(y)


def index_add(x: Any, idx: Any, y: Any) -> Any:
    """Return ``x`` with ``y`` added to the elements at ``idx``."""
    return to_array(x).at[idx].add(y)


def index_mul(x: Any, idx: Any, y: Any) -> Any:
    """Return ``x`` with the elements at ``idx`` multiplied by ``y``."""
    return to_array(x).at[idx].multiply(y)


def index_min(x: Any, idx: Any, y: Any) -> Any:
    """Return ``x`` with the elements at ``idx`` replaced by the minimum with ``y``."""
    return to_array(x).at[idx].min(y)


def index_max(x: Any, idx: Any, y: Any) -> Any:
    """Return ``x`` with the elements at ``idx`` replaced by the maximum with ``y``."""
    return to_array(x).at[idx].max(y)


def segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Any:
    """Sum the slices of ``data`` with equal ``segment_ids``, for ids from 0 to ``num_segments`` - 1.

    ``segment_ids`` holds integers, one for each slice of ``data`` along its first axis; the result has an
    axis of segments in its place. Without ``num_segments`` it is the largest id plus one, which has to be
    known while tracing. Slices with other ids are ignored, or with ``mode="clip"`` count for the nearest
    segment. ``indices_are_sorted`` and ``unique_indices`` promise that the ids are sorted and distinct. With
    ``bucket_size``, that many slices at a time are summed first, and then the partial sums, which loses fewer
    digits.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.ops.segment_sum(jnp.arange(4.0), jnp.array([0, 0, 1, 2])))
    [1. 2. 3.]
    """
    hints = indices_are_sorted, unique_indices, mode
    return _reduce_segments("add", sum, data, segment_ids, num_segments, bucket_size, hints)


def segment_prod(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Any:
    """Multiply the slices of ``data`` with equal ``segment_ids``, 1 for empty segments; see segment_sum.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.ops.segment_prod(jnp.arange(4.0), jnp.array([0, 0, 2, 2])))
    [0. 1. 6.]
    """
    hints = indices_are_sorted, unique_indices, mode
    return _reduce_segments("multiply", prod, data, segment_ids, num_segments, bucket_size, hints)


def segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Any:
    """Return the elementwise maximum of the slices of ``data`` with equal ``segment_ids``; see segment_sum.

    An empty segment has the least value of the dtype: -inf, or the least integer.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.ops.segment_max(jnp.arange(4.0), jnp.array([0, 0, 2, 2])))
    [  1. -inf   3.]
    """
    hints = indices_are_sorted, unique_indices, mode
    return _reduce_segments("max", max, data, segment_ids, num_segments, bucket_size, hints)


def segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
) -> Any:
    """Return the elementwise minimum of the slices of ``data`` with equal ``segment_ids``; see segment_sum.

    An empty segment has the largest value of the dtype: inf, or the largest integer.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.ops.segment_min(jnp.arange(4.0), jnp.array([0, 0, 2, 2])))
    [ 0. inf  2.]
    """
    hints = indices_are_sorted, unique_indices, mode
    return _reduce_segments("min", min, data, segment_ids, num_segments, bucket_size, hints)


#: How the public functions name the methods of ``x.at[ids]``.
_NAMES = {"add": "sum", "multiply": "prod", "max": "max", "min": "min"}


def _reduce_segments(
    op: str, combine: Callable[..., Any], data: Any, ids: Any, num_segments: int | None, bucket: int | None, hints: Any
) -> Any:
    """Reduce the slices of ``data`` by segment: of ``bucket`` slices at a time, if given, and then the partial results.

    ``op`` is the method of ``x.at[ids]`` that accumulates (``"add"``), ``combine`` the reduction of partial
    results along an axis (``sum``). ``hints`` are ``indices_are_sorted``, ``unique_indices`` and ``mode``.
    Without ``num_segments`` the ids have to be concrete.
    """
    concrete_ids = None
    if num_segments is None:
        name, fix = f"segment_{_NAMES[op]}", "Pass num_segments=, which has to be a number that is known."
        concrete_ids = np.asarray(require_known(ids, name, "how many segments there are", fix))
    if concrete_ids is not None and not concrete_ids.shape and concrete_ids < 0:
        raise ValueError(f"a segment of its own has an id of at least 0, got {concrete_ids}; say num_segments")
    if concrete_ids is None:
        count = _check_num_segments(num_segments)
    else:
        largest = int(concrete_ids.max()) if concrete_ids.size else -1
        count = largest + 1 if largest >= 0 else 0
    if bucket is None:
        return _reduce_bucket(op, data, ids, count, hints)
    size = whole_number(bucket, "bucket_size")
    if size < 1:
        raise ValueError(f"bucket_size is how many slices are taken at once, at least 1, got {size}")
    total = aval_of(ids).shape[0]
    parts = [slice(start, start + size) for start in range(0, total, size)]
    partials = [_reduce_bucket(op, to_array(data)[part], to_array(ids)[part], count, hints) for part in parts]
    return (
        combine(stack(partials), 0, dtype=aval_of(partials[0]).dtype)
        if op in ("add", "multiply")
        else combine(stack(partials), 0)
    )


def _reduce_bucket(method: str, data: Any, ids: Any, count: int, hints: Any) -> Any:
    """Reduce the slices of ``data`` into ``count`` segments with ``method`` of ``.at[]``.

    ``hints`` are ``indices_are_sorted``, ``unique_indices`` and ``mode``, as in :func:`segment_sum`.
    """
    aval = aval_of(data)
    if dtype_kind(aval_of(ids).dtype) not in "biu":
        raise TypeError(f"segment_ids are integers, got {aval_of(ids).dtype.name}")
    is_sorted, unique, mode = hints
    shape = (count, *aval.shape[1:])
    targets = where(
        less(ids, 0), np.int32(0 if _mode_name(mode) == "clip" else count), ids
    )  # ids past the end are dropped
    change = getattr(full(shape, _identity_element(method, aval.dtype)).at[targets], method)
    return change(data, indices_are_sorted=is_sorted, unique_indices=unique, mode=mode)


def _mode_name(mode: Any) -> Any:
    return getattr(mode, "value", mode)


def _identity_element(method: str, dtype: np.dtype[Any]) -> Any:
    """Return the identity element of a reduction (``"add"``, ``"multiply"``, ``"min"``, ``"max"``) for a dtype."""
    if method in ("add", "multiply"):
        value: Any = int(method == "multiply")
    elif dtype_kind(dtype) == "b":
        value = method == "min"
    elif dtype_kind(dtype) in "iu":
        value = iinfo(dtype).min if method == "max" else iinfo(dtype).max
    else:
        value = -np.inf if method == "max" else np.inf
    return _typed_scalar(value, dtype)


def _check_num_segments(num_segments: Any) -> int:
    count = whole_number(num_segments, "num_segments")
    if not 0 <= count < 2**31:
        raise ValueError(f"num_segments is at least 0 and less than 2**31, got {count}")
    return count


_explain_missing(__name__)
