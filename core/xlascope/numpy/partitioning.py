"""Partial sorting: ``partition`` and ``argpartition``; and sorting as complex numbers."""

from __future__ import annotations

from typing import Any

from ..dtypes import dtype_kind, to_canonical_dtype
from ..operations import sorting
from ..operations.shapes import broadcasted_iota
from ..operations.slicing import slice_in_dim
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
    indices = broadcasted_iota(to_canonical_dtype(int), shape_of(a), axis)
    values, indices = sorting.sort([a, indices], axis, True)
    (lower, upper), (before, behind) = (_split_after(x, position % size, axis) for x in (values, indices))
    # the larger elements: partition returns them in descending order, argpartition by index
    (behind,) = sorting.sort([behind], axis)
    return concatenate([lower, flip(upper, axis)], axis), concatenate([before, behind], axis)


def _split_after(x: Any, kth: int, axis: int) -> tuple[Any, Any]:
    """Return the elements up to and including index ``kth``, and those after it."""
    return slice_in_dim(x, 0, kth + 1, axis), slice_in_dim(x, kth + 1, shape_of(x)[axis], axis)


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
    return to_canonical_dtype("complex128" if dtype.itemsize > 4 else "complex64")
