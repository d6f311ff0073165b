"""Functions that join arrays and split them."""

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

#: More parts than this would be empty arrays, or a list that exceeds memory.
_MOST_PARTS = 1 << 20


@planned
def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Join arrays along an axis (None: all flattened).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.concatenate([jnp.arange(2), jnp.ones(2)]))
    [0. 1. 1. 1.]
    """
    if isinstance(axis, (list, tuple)) or getattr(axis, "ndim", None):
        raise TypeError(f"concatenate takes the arrays as one list: concatenate([x, y], axis=0){here()}")
    operands = _in_dtype(arrays_of(arrays, "concatenate"), dtype)
    if axis is None:
        return slicing.concatenate([ravel(x) for x in operands], 0)
    rank = len(shape_of(operands[0]))
    if rank == 0:
        raise ValueError("arrays without axes cannot be concatenated; use stack")
    return slicing.concatenate(operands, axis_of(axis, rank))


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Join arrays along an axis, by the array API's name; see :func:`concatenate`."""
    return concatenate(arrays, axis)


def _in_dtype(arrays: list[Any], dtype: Any) -> list[Any]:
    if dtype is None:
        return to_common_dtype(arrays)
    requested = requested_dtype(dtype)
    return [as_dtype(x, requested) for x in arrays]


@together("axis", "dtype")
def _stack(arrays: list[Any], axis: int, dtype: Any) -> Any:
    operands = _in_dtype(arrays, dtype)
    shape = shape_of(operands[0])
    for x in operands[1:]:
        if shape_of(x) != shape:
            raise ValueError(f"stack takes arrays of one shape, got {shape} and {shape_of(x)}")
    axis_number = axis_of(axis, len(shape) + 1)
    return slicing.concatenate([expand_dims(x, (axis_number,)) for x in operands], axis_number)


@planned
def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Join arrays of one shape along a new axis.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.stack([jnp.zeros(2), jnp.ones(2)]))
    [[0. 0.]
     [1. 1.]]
    """
    if out is not None:
        raise no_out("stack")
    requested = None if dtype is None else requested_dtype(dtype)
    return _stack(arrays_of(arrays, "stack"), axis=axis, dtype=requested)


@planned
def vstack(tup: Any, dtype: Any = None) -> Any:
    """Stack arrays vertically: along the first axis, vectors as rows."""
    return concatenate([atleast_2d(x) for x in arrays_of(tup, "vstack")], 0, dtype)


@planned
def hstack(tup: Any, dtype: Any = None) -> Any:
    """Stack arrays horizontally: along the second axis, vectors along their only one."""
    operands = [atleast_1d(x) for x in arrays_of(tup, "hstack")]
    return concatenate(operands, 0 if len(shape_of(operands[0])) == 1 else 1, dtype)


@planned
def dstack(tup: Any, dtype: Any = None) -> Any:
    """Stack arrays depthwise: along the third axis."""
    return concatenate([atleast_3d(x) for x in arrays_of(tup, "dstack")], 2, dtype)


@planned
def column_stack(tup: Any) -> Any:
    """Stack vectors as the columns of a matrix."""
    operands = arrays_of(tup, "column_stack")
    return concatenate([reshape(x, (aval_of(x).size, 1)) if len(shape_of(x)) < 2 else x for x in operands], 1)


@planned
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Join arrays, flattened unless an axis is given."""
    return concatenate([arr, values], axis)


@planned
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Split an array along an axis: into equal parts, or at indices.

    >>> import xlascope.numpy as jnp
    >>> [x.shape for x in jnp.split(jnp.arange(7), [2, 3])]
    [(2,), (1,), (4,)]
    """
    return _split(ary, indices_or_sections, axis, equal=True)


@planned
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Split an array like :func:`split`; the first parts are longer by one if the size is no multiple."""
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
    if any(start > stop for start, stop in pairs):  # unordered split points give empty parts
        return [slice_in_dim(ary, start, max(start, stop), axis) for start, stop in pairs]
    return splitting.split(ary, [stop - start for start, stop in pairs], axis)


def _whole(sections: Any) -> Any:
    """Return a whole number written as a float, also in a NumPy array without axes, as an int."""
    if isinstance(sections, np.ndarray) and not sections.shape:
        sections = sections[()]
    return int(sections) if isinstance(sections, (float, np.floating)) and float(sections).is_integer() else sections


def _equal_cuts(size: int, parts: int, equal: bool) -> list[int]:
    if not 1 <= parts <= _MOST_PARTS:
        raise ValueError(f"an array is cut into 1 to {_MOST_PARTS} parts, got {parts}")
    if equal and size % parts:
        raise ValueError(f"split: {size} elements cannot be cut into {parts} equal parts; array_split can")
    quotient, remainder = divmod(size, parts)
    return [i * quotient + min(i, remainder) for i in range(1, parts)]


@planned
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split an array along the first axis."""
    return split(ary, indices_or_sections, 0)


@planned
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split an array along the second axis, a vector along its only one."""
    return split(ary, indices_or_sections, 0 if len(shape_of(ary)) == 1 else 1)


@planned
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Return the slices along an axis."""
    slices_first = moveaxis(x, axis, 0)
    return tuple(index_row(slices_first, i) for i in range(shape_of(slices_first)[0]))


@planned
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split an array along the third axis."""
    return split(ary, indices_or_sections, 2)
