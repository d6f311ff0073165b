"""Functions that join arrays and split them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ..ir.requested_dtypes import resolve_requested_dtype
from ..operations import slicing, splitting
from ..operations.shapes import expand_dims, reshape
from ..operations.slicing import slice_in_dim
from ..trace.source import here
from ..trace.trace_cache import cache_trace
from ..trace.values import aval_of
from .axes import axis_of, is_several, reject_out, whole_number
from .jit_wrapped import jit_wrapped
from .promotion import as_dtype, promote_dtypes
from .shaping import atleast_1d, atleast_2d, atleast_3d, index_row, moveaxis, ravel, require_arrays, shape_of

#: More parts than this would be empty arrays, or a list that exceeds memory.
_MAX_SPLIT_PARTS = 1 << 20


@cache_trace
def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Join arrays along an axis (None: all flattened).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.concatenate([jnp.arange(2), jnp.ones(2)]))
    [0. 1. 1. 1.]
    """
    if isinstance(axis, (list, tuple)) or getattr(axis, "ndim", None):
        raise TypeError(f"concatenate takes the arrays as one list: concatenate([x, y], axis=0){here()}")
    operands = _to_dtype(require_arrays(arrays, "concatenate"), dtype)
    if axis is None:
        return slicing.concatenate([ravel(x) for x in operands], 0)
    rank = len(shape_of(operands[0]))
    if rank == 0:
        raise ValueError("arrays without axes cannot be concatenated; use stack")
    return slicing.concatenate(operands, axis_of(axis, rank))


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Join arrays along an axis, by the array API's name; see :func:`concatenate`."""
    return concatenate(arrays, axis)


def _to_dtype(arrays: list[Any], dtype: Any) -> list[Any]:
    if dtype is None:
        return promote_dtypes(arrays)
    requested = resolve_requested_dtype(dtype)
    return [as_dtype(x, requested) for x in arrays]


@jit_wrapped("axis", "dtype")
def _stack(arrays: list[Any], axis: int, dtype: Any) -> Any:
    operands = _to_dtype(arrays, dtype)
    shape = shape_of(operands[0])
    for x in operands[1:]:
        if shape_of(x) != shape:
            raise ValueError(f"stack takes arrays of one shape, got {shape} and {shape_of(x)}")
    axis_number = axis_of(axis, len(shape) + 1)
    return slicing.concatenate([expand_dims(x, (axis_number,)) for x in operands], axis_number)


@cache_trace
def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Join arrays of one shape along a new axis.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.stack([jnp.zeros(2), jnp.ones(2)]))
    [[0. 0.]
     [1. 1.]]
    """
    if out is not None:
        raise reject_out("stack")
    requested = None if dtype is None else resolve_requested_dtype(dtype)
    return _stack(require_arrays(arrays, "stack"), axis=axis, dtype=requested)


@cache_trace
def vstack(tup: Any, dtype: Any = None) -> Any:
    """Stack arrays vertically: along the first axis, vectors as rows."""
    return concatenate([atleast_2d(x) for x in require_arrays(tup, "vstack")], 0, dtype)


@cache_trace
def hstack(tup: Any, dtype: Any = None) -> Any:
    """Stack arrays horizontally: along the second axis, vectors along their only axis."""
    operands = [atleast_1d(x) for x in require_arrays(tup, "hstack")]
    return concatenate(operands, 0 if len(shape_of(operands[0])) == 1 else 1, dtype)


@cache_trace
def dstack(tup: Any, dtype: Any = None) -> Any:
    """Stack arrays depthwise: along the third axis."""
    return concatenate([atleast_3d(x) for x in require_arrays(tup, "dstack")], 2, dtype)


@cache_trace
def column_stack(tup: Any) -> Any:
    """Stack vectors as the columns of a matrix."""
    operands = require_arrays(tup, "column_stack")
    return concatenate([reshape(x, (aval_of(x).size, 1)) if len(shape_of(x)) < 2 else x for x in operands], 1)


@cache_trace
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Join arrays, flattened unless an axis is given."""
    return concatenate([arr, values], axis)


@cache_trace
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Split an array along an axis: into equal parts, or at indices.

    >>> import xlascope.numpy as jnp
    >>> [x.shape for x in jnp.split(jnp.arange(7), [2, 3])]
    [(2,), (1,), (4,)]
    """
    return _split_at(ary, indices_or_sections, axis, equal=True)


@cache_trace
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Split an array like :func:`split`; for other sizes the first parts are longer by one."""
    return _split_at(ary, indices_or_sections, axis, equal=False)


def _split_at(ary: Any, where: Any, axis: int, equal: bool) -> list[Any]:
    """Split an array along an axis at the indices ``where``, or into as many parts as that says.

    ``equal`` raises ValueError if the parts would not be of the same size.
    """
    shape = shape_of(ary)
    axis = axis_of(axis, len(shape))
    size = shape[axis]
    if is_several(where):
        cuts = [slice(whole_number(i, "an index to split at")).indices(size)[1] for i in where]
    else:
        cuts = _equal_split_points(size, whole_number(_float_to_int(where), "indices_or_sections"), equal)
    pairs = list(itertools.pairwise([0, *cuts, size]))
    if any(start > stop for start, stop in pairs):  # unordered split points give empty parts
        return [slice_in_dim(ary, start, max(start, stop), axis) for start, stop in pairs]
    return splitting.split(ary, [stop - start for start, stop in pairs], axis)


def _float_to_int(sections: Any) -> Any:
    """Return a float that is a whole number, also in a NumPy array without axes, as an int; others unchanged."""
    if isinstance(sections, np.ndarray) and not sections.shape:
        sections = sections[()]
    return int(sections) if isinstance(sections, (float, np.floating)) and float(sections).is_integer() else sections


def _equal_split_points(size: int, parts: int, equal: bool) -> list[int]:
    if not 1 <= parts <= _MAX_SPLIT_PARTS:
        raise ValueError(f"an array is cut into 1 to {_MAX_SPLIT_PARTS} parts, got {parts}")
    if equal and size % parts:
        raise ValueError(f"split: {size} elements cannot be cut into {parts} equal parts; array_split can")
    quotient, remainder = divmod(size, parts)
    return [i * quotient + min(i, remainder) for i in range(1, parts)]


@cache_trace
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split an array along the first axis."""
    return split(ary, indices_or_sections, 0)


@cache_trace
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split an array along the second axis, a vector along its only axis."""
    return split(ary, indices_or_sections, 0 if len(shape_of(ary)) == 1 else 1)


@cache_trace
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Return the slices along an axis."""
    slices_first = moveaxis(x, axis, 0)
    return tuple(index_row(slices_first, i) for i in range(shape_of(slices_first)[0]))


@cache_trace
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split an array along the third axis."""
    return split(ary, indices_or_sections, 2)
