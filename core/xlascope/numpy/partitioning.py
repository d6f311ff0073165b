"""Elements in no order but around one that is in its place."""

from __future__ import annotations

from typing import Any

from ..dtypes import canonical, kind_of
from ..operations import sorting
from ..operations.shapes import broadcasted_iota
from ..operations.slicing import slice_in_dim
from ..trace.values import aval_of
from .axes import axis_of, whole_number
from .joining import concatenate
from .promotion import as_dtype
from .repeating import flip
from .shaping import shape_of
from .sorting import sort
from .together import together


@together("kth", "axis")
def partition(a: Any, kth: int, axis: int = -1) -> Any:
    """The elements along an axis so that element ``kth`` is where it is in order, no larger ones before it.

    ``a`` holds real numbers, NaN counting as the largest; ``kth`` counts from behind when negative, and has to be
    within the axis (ValueError). Which order the other elements have is not said: what NumPy gives may differ in it.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.partition(jnp.array([4, 1, 3, 2]), 1)[:2])
    [1 2]
    """
    return _parted(a, kth, axis, "partition")[0]


@together("kth", "axis")
def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """The places of the elements in the order that :func:`partition` gives them.

    >>> import xlascope.numpy as jnp
    >>> x = jnp.array([4, 1, 3, 2])
    >>> print(x[jnp.argpartition(x, 1)[:2]])
    [1 2]
    """
    return _parted(a, kth, axis, "argpartition")[1]


def _parted(a: Any, kth: int, axis: int, name: str) -> tuple[Any, Any]:
    if kind_of(aval_of(a).dtype) == "c":
        raise NotImplementedError(f"{name} of complex numbers; sort puts them into order")
    axis = axis_of(axis, len(shape_of(a)))
    size = shape_of(a)[axis]
    place = whole_number(kth, "kth")
    if not -size <= place < size:
        raise ValueError(f"kth {place} is outside of an axis of size {size}")
    places = broadcasted_iota(canonical(int), shape_of(a), axis)
    values, places = sorting.sort([a, places], axis, True)
    (lower, upper), (before, behind) = (_cut(x, place % size, axis) for x in (values, places))
    # the larger elements: those of partition in falling order, those of argpartition in their own
    (behind,) = sorting.sort([behind], axis)
    return concatenate([lower, flip(upper, axis)], axis), concatenate([before, behind], axis)


def _cut(x: Any, kth: int, axis: int) -> tuple[Any, Any]:
    """What lies up to a place, and what lies behind it."""
    return slice_in_dim(x, 0, kth + 1, axis), slice_in_dim(x, kth + 1, shape_of(x)[axis], axis)


def sort_complex(a: Any) -> Any:
    """The elements of the last axis in rising order, as complex numbers: by their real parts, then by the imaginary.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.sort_complex(jnp.array([2, 1])))
    [1.+0.j 2.+0.j]
    """
    ordered = sort(a)
    dtype = aval_of(ordered).dtype
    return ordered if kind_of(dtype) == "c" else as_dtype(ordered, _complex(dtype))


def _complex(dtype: Any) -> Any:
    return canonical("complex128" if dtype.itemsize > 4 else "complex64")
