"""Functions that join arrays and cut them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ..ir.requested_dtypes import requested_dtype
from ..operations import slicing, splitting
from ..operations.shapes import expand_dims, reshape
from ..operations.slicing import slice_in_dim
from ..trace.planned import planned
from ..trace.source import here
from ..trace.values import aval_of
from .axes import axis_of, is_several, no_out, whole_number
from .promotion import as_dtype, to_common_dtype
from .shaping import arrays_of, atleast_1d, atleast_2d, atleast_3d, index_row, moveaxis, ravel, shape_of
from .together import together

#: More parts than this would be arrays without elements, but for arrays that no memory holds as a list.
_MOST_PARTS = 1 << 20


@planned
def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Arrays joined along an axis (None: all flattened).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.concatenate([jnp.arange(2), jnp.ones(2)]))
    [0. 1. 1. 1.]
    """
    if isinstance(axis, (list, tuple)) or getattr(axis, "ndim", None):
        raise TypeError(f"concatenate takes the arrays as one list: concatenate([x, y], axis=0){here()}")
    given = _in_dtype(arrays_of(arrays, "concatenate"), dtype)
    if axis is None:
        return slicing.concatenate([ravel(x) for x in given], 0)
    rank = len(shape_of(given[0]))
    if rank == 0:
        raise ValueError("arrays without axes cannot be concatenated; use stack")
    return slicing.concatenate(given, axis_of(axis, rank))


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Arrays joined along an axis, by the array API's name; see :func:`concatenate`."""
    return concatenate(arrays, axis)


def _in_dtype(arrays: list[Any], dtype: Any) -> list[Any]:
    if dtype is None:
        return to_common_dtype(arrays)
    own = requested_dtype(dtype)
    return [as_dtype(x, own) for x in arrays]


@together("axis", "dtype")
def _stack(arrays: list[Any], axis: int, dtype: Any) -> Any:
    given = _in_dtype(arrays, dtype)
    shape = shape_of(given[0])
    for x in given[1:]:
        if shape_of(x) != shape:
            raise ValueError(f"stack takes arrays of one shape, got {shape} and {shape_of(x)}")
    place = axis_of(axis, len(shape) + 1)
    return slicing.concatenate([expand_dims(x, (place,)) for x in given], place)


@planned
def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Arrays of one shape joined along a new axis.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.stack([jnp.zeros(2), jnp.ones(2)]))
    [[0. 0.]
     [1. 1.]]
    """
    if out is not None:
        raise no_out("stack")
    own = None if dtype is None else requested_dtype(dtype)
    return _stack(arrays_of(arrays, "stack"), axis=axis, dtype=own)


@planned
def vstack(tup: Any, dtype: Any = None) -> Any:
    """Rows on top of each other."""
    return concatenate([atleast_2d(x) for x in arrays_of(tup, "vstack")], 0, dtype)


@planned
def hstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays side by side: along the second axis, vectors along their only one."""
    given = [atleast_1d(x) for x in arrays_of(tup, "hstack")]
    return concatenate(given, 0 if len(shape_of(given[0])) == 1 else 1, dtype)


@planned
def dstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays behind each other, along the third axis."""
    return concatenate([atleast_3d(x) for x in arrays_of(tup, "dstack")], 2, dtype)


@planned
def column_stack(tup: Any) -> Any:
    """Vectors as the columns of a matrix."""
    given = arrays_of(tup, "column_stack")
    return concatenate([reshape(x, (aval_of(x).size, 1)) if len(shape_of(x)) < 2 else x for x in given], 1)


@planned
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Arrays joined, flattened unless an axis is given."""
    return concatenate([arr, values], axis)


@planned
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Cut along an axis: into equal parts, or at indices.

    >>> import xlascope.numpy as jnp
    >>> [x.shape for x in jnp.split(jnp.arange(7), [2, 3])]
    [(2,), (1,), (4,)]
    """
    return _split(ary, indices_or_sections, axis, equal=True)


@planned
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Like :func:`split`; the first parts are longer by one where the size is no multiple."""
    return _split(ary, indices_or_sections, axis, equal=False)


def _split(ary: Any, where: Any, axis: int, equal: bool) -> list[Any]:
    shape = shape_of(ary)
    axis = axis_of(axis, len(shape))
    size = shape[axis]
    if is_several(where):
        cuts = [slice(whole_number(i, "an index to split at")).indices(size)[1] for i in where]
    else:
        cuts = _equal_cuts(size, whole_number(_whole(where), "indices_or_sections"), equal)
    pairs = list(itertools.pairwise([0, *cuts, size]))
    if any(start > stop for start, stop in pairs):  # cuts that are in no order, between which nothing is
        return [slice_in_dim(ary, start, max(start, stop), axis) for start, stop in pairs]
    return splitting.split(ary, [stop - start for start, stop in pairs], axis)


def _whole(sections: Any) -> Any:
    """A whole number that is written as a float, alone or in an array of NumPy's, as an integer."""
    if isinstance(sections, np.ndarray) and not sections.shape:
        sections = sections[()]
    return int(sections) if isinstance(sections, (float, np.floating)) and float(sections).is_integer() else sections


def _equal_cuts(size: int, parts: int, equal: bool) -> list[int]:
    if not 1 <= parts <= _MOST_PARTS:
        raise ValueError(f"an array is cut into 1 to {_MOST_PARTS} parts, got {parts}")
    if equal and size % parts:
        raise ValueError(f"split: {size} elements cannot be cut into {parts} equal parts; array_split can")
    whole, rest = divmod(size, parts)
    return [i * whole + min(i, rest) for i in range(1, parts)]


@planned
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut along the first axis."""
    return split(ary, indices_or_sections, 0)


@planned
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut along the second axis, a vector along its only one."""
    return split(ary, indices_or_sections, 0 if len(shape_of(ary)) == 1 else 1)


@planned
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis."""
    moved = moveaxis(x, axis, 0)
    return tuple(index_row(moved, i) for i in range(shape_of(moved)[0]))


@planned
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut along the third axis."""
    return split(ary, indices_or_sections, 2)
