"""Partial sorting: ``partition`` and ``argpartition``; and sorting as complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import dtype_kind, to_canonical_dtype
from ..operations import sorting
from ..operations.arithmetic import sub
from ..operations.comparisons import eq, ne
from ..operations.conversion import to_dtype
from ..operations.indexing import take_along
from ..operations.selection import select
from ..operations.shapes import broadcasted_iota, full
from ..operations.slicing import slice_in_dim
from ..operations.tangent_arithmetic import neg
from ..trace.values import aval_of
from .axes import axis_of, whole_number
from .jit_wrapped import jit_wrapped
from .joining import concatenate
from .promotion import as_dtype
from .repeating import flip
from .shaping import shape_of
from .sorting import sort


@jit_wrapped("kth", "axis")
def partition(a: Any, kth: int, axis: int = -1) -> Any:
    """Return the elements partitioned along an axis: element ``kth`` is in its sorted position.

    No element before it is larger, none after it is smaller. ``a`` holds real numbers, NaN is the largest; a
    negative ``kth`` counts from the end, and one out of bounds raises ValueError. The order of the other elements
    is unspecified, and may differ from NumPy's.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.partition(jnp.array([4, 1, 3, 2]), 1)[:2])
    [1 2]
    """
    return _partition_with_indices(a, kth, axis, "partition")[0]


@jit_wrapped("kth", "axis")
def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """Return the indices that partition the elements along an axis; see :func:`partition`.

    >>> import xlascope.numpy as jnp
    >>> x = jnp.array([4, 1, 3, 2])
    >>> print(x[jnp.argpartition(x, 1)[:2]])
    [1 2]
    """
    return _partition_with_indices(a, kth, axis, "argpartition")[1]


def _partition_with_indices(a: Any, kth: int, axis: int, name: str) -> tuple[Any, Any]:
    """Return the partitioned elements and their indices; ``name`` is the calling function, for messages."""
    if dtype_kind(aval_of(a).dtype) == "c":
        raise NotImplementedError(f"{name} of complex numbers; sort puts them into order")
    axis = axis_of(axis, len(shape_of(a)))
    size = shape_of(a)[axis]
    position = whole_number(kth, "kth")
    if not -size <= position < size:
        raise ValueError(f"kth {position} is outside of an axis of size {size}")
    position %= size
    wide = to_canonical_dtype(int)
    indices = broadcasted_iota(wide, shape_of(a), axis)
    values, indices = sorting.sort([a, indices], axis, True)
    (lower, upper), (before, behind) = (_split_after(x, position, axis) for x in (values, indices))
    # the larger elements: partition returns them in descending order, argpartition by index
    upper, (behind,) = flip(upper, axis), sorting.sort([behind], axis)
    if _can_select(a, position + 1, size):
        before = _smallest(a, position + 1, axis)
        lower = take_along(a, before, axis)
    elif _can_select(a, size - position, size):
        largest = _largest(a, size - position, axis)  # descending, element kth is the last of them
        larger, at_kth = _split_after(largest, size - position - 2, axis)
        head, index_head = (slice_in_dim(x, 0, position, axis) for x in (values, indices))
        (behind,) = sorting.sort([larger], axis)
        tail, index_tail = take_along(a, concatenate([at_kth, larger], axis), axis), concatenate([at_kth, behind], axis)
        return concatenate([head, tail], axis), concatenate([index_head, to_dtype(index_tail, wide)], axis)
    return concatenate([lower, upper], axis), concatenate([to_dtype(before, aval_of(behind).dtype), behind], axis)


def _split_after(x: Any, kth: int, axis: int) -> tuple[Any, Any]:
    """Return the elements up to and including index ``kth``, and those after it."""
    return slice_in_dim(x, 0, kth + 1, axis), slice_in_dim(x, kth + 1, shape_of(x)[axis], axis)


#: At most this part of an axis is selected without sorting all of it.
_MAX_SELECTED_PART = 1 / 8


def _can_select(a: Any, count: int, size: int) -> bool:
    """Return whether the ``count`` smallest or largest elements along an axis are found faster by ``top_k``.

    A program that reads only these does not sort all elements of the axis, ``size``, then. XLA selects numbers of
    float32, and sorts all of an array of wider ones.
    """
    dtype = aval_of(a).dtype
    return count <= _MAX_SELECTED_PART * size and dtype.itemsize <= (4 if dtype_kind(dtype) == "f" else 2)


def _smallest(a: Any, count: int, axis: int) -> Any:
    """Return the indices of the ``count`` smallest elements in ascending order, as a stable sort does.

    All zeros are equal. XLA compares signs and bits: a negative NaN is below all numbers.
    """
    x = to_dtype(a, _FLOAT32)
    x = select(eq(x, 0.0), full(shape_of(x), np.float32(0)), neg(x))
    return sorting.top_k(select(ne(x, x), full(shape_of(x), _NEGATIVE_NAN), x), count, axis)[1]


def _largest(a: Any, count: int, axis: int) -> Any:
    """Return the indices of the ``count`` largest elements in descending order: those of a stable sort, reversed.

    All zeros are equal, and all NaN the largest. Of equal elements the last one comes first.
    """
    x = to_dtype(a, _FLOAT32)
    x = select(eq(x, 0.0), full(shape_of(x), np.float32(0)), x)
    x = select(ne(x, x), full(shape_of(x), np.float32(np.nan)), x)
    positions = sorting.top_k(flip(x, axis), count, axis)[1]
    return sub(shape_of(a)[axis] - 1, positions)


_FLOAT32 = np.dtype(np.float32)
_NEGATIVE_NAN = np.copysign(np.float32(np.nan), np.float32(-1))


def sort_complex(a: Any) -> Any:
    """Return the elements sorted along the last axis, as complex numbers: by real parts, then imaginary parts.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.sort_complex(jnp.array([2, 1])))
    [1.+0.j 2.+0.j]
    """
    ordered = sort(a)
    dtype = aval_of(ordered).dtype
    return ordered if dtype_kind(dtype) == "c" else as_dtype(ordered, _complex_dtype(dtype))


def _complex_dtype(dtype: Any) -> Any:
    return np.dtype("complex128" if dtype.itemsize > 4 else "complex64")
