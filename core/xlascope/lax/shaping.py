"""Shapes: broadcasting, reshaping, slicing, padding, joining, with explicit axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.requested_dtypes import requested_dtype
from ..operations import shapes, slicing
from ..operations.conversion import convert_element_type
from ..operations.out_shardings import out_sharded
from ..operations.shapes import broadcast_in_dim, expand_dims, transpose
from ..operations.values import match
from ..operations.whole_numbers import axis_of, is_several, whole_number, whole_numbers
from ..trace.source import here
from ..trace.values import aval_of


def _shape(x: Any) -> tuple[int, ...]:
    return aval_of(x).shape


def broadcast(operand: Any, sizes: Sequence[int]) -> Any:
    """Repeat along new leading axes.

    >>> from xlascope import lax
    >>> lax.broadcast(1.0, (2, 3)).shape
    (2, 3)
    """
    own, sizes = _shape(operand), whole_numbers(sizes, "sizes of broadcast")
    return broadcast_in_dim(operand, (*sizes, *own), range(len(sizes), len(sizes) + len(own)))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape in which arrays of those shapes meet; raises ValueError when they do not fit."""
    return np.broadcast_shapes(*(whole_numbers(shape, "shapes given to broadcast_shapes") for shape in shapes))


@out_sharded
def reshape(operand: Any, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> Any:
    """The same elements in another shape, read in the order of ``dimensions``."""
    if dimensions is not None:
        operand = transpose(operand, dimensions)
    return shapes.reshape(operand, _sizes(new_sizes, "new_sizes of reshape"))


def _sizes(shape: Any, name: str) -> tuple[int, ...]:
    """The sizes of a shape, for which one number may stand."""
    return whole_numbers((shape,) if hasattr(shape, "__index__") and not is_several(shape) else shape, name)


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """Several neighbouring axes made one."""
    shape = _shape(operand)
    start = whole_number(start_dimension, "start_dimension of collapse")
    stop = None if stop_dimension is None else whole_number(stop_dimension, "stop_dimension of collapse")
    start, stop, _ = slice(start, stop).indices(len(shape))
    return shapes.reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))


def squeeze(array: Any, dimensions: Sequence[int] | int) -> Any:
    """Drop axes of size 1."""
    return shapes.squeeze(array, _sizes(dimensions, "dimensions of squeeze"))


def slice_in_dim(operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0) -> Any:
    """The elements from ``start_index`` to ``limit_index`` along one axis; negative numbers count from the end."""
    axis = axis_of(axis, len(_shape(operand)), "axis of slice_in_dim")
    size = _shape(operand)[axis]
    bounds = [
        default if given is None else whole_number(given, f"{name} of slice_in_dim")
        for name, given, default in (("start_index", start_index, 0), ("limit_index", limit_index, size))
    ]
    start, limit = (bound + size if bound < 0 else bound for bound in bounds)
    return slicing.slice_in_dim(operand, start, limit, axis, whole_number(stride, "stride of slice_in_dim"))


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The elements at one place along an axis."""
    axis = axis_of(axis, len(_shape(operand)), "axis of index_in_dim")
    size, index = _shape(operand)[axis], whole_number(index, "index of index_in_dim")
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} of size {size}")
    one = slicing.slice_in_dim(operand, index % size, index % size + 1, axis)
    return one if keepdims else shapes.squeeze(one, (axis,))


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """Arrays of one dtype joined along an axis."""
    several = _several(operands, "concatenate")
    return slicing.concatenate(several, whole_number(dimension, "dimension of concatenate"))


def _several(operands: Any, name: str) -> list[Any]:
    """Operands that were given as a sequence: of an array its rows."""
    if not is_several(operands):
        raise TypeError(
            f"{name} takes a sequence of operands, got {operands!r} of type {type(operands).__name__}{here()}"
        )
    several = list(operands)
    if not several:
        raise ValueError(f"{name} takes at least one operand")
    return several


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """Put a value around and between the elements: (low, high, interior) for each axis.

    Raises TypeError or OverflowError for a number that the operand's dtype does not have.
    """
    return slicing.pad(operand, match(operand, padding_value)[1], padding_config)


def iota(dtype: Any, size: int) -> Any:
    """0, 1, 2, … below ``size``.

    >>> from xlascope import lax
    >>> print(lax.iota("int32", 3))
    [0 1 2]
    """
    return shapes.broadcasted_iota(_dtype_of_iota(dtype), (whole_number(size, "size of iota"),), 0)


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Any:
    """0, 1, 2, … along one axis, repeated along the others."""
    return shapes.broadcasted_iota(_dtype_of_iota(dtype), _sizes(shape, "sizes of iota"), dimension)


def _dtype_of_iota(dtype: Any) -> np.dtype[Any]:
    if dtype is None:
        raise TypeError(f"iota takes the dtype that it counts in, such as 'int32', got None{here()}")
    return requested_dtype(dtype)


def full(shape: Sequence[int], fill_value: Any, dtype: Any = None) -> Any:
    """An array with one value everywhere."""
    if _shape(fill_value):
        raise TypeError(f"full takes a value without axes, got shape {_shape(fill_value)}; use broadcast_in_dim")
    wanted = aval_of(fill_value).dtype if dtype is None else requested_dtype(dtype)
    if hasattr(fill_value, "aval"):
        value = convert_element_type(fill_value, wanted, dtype is None and fill_value.aval.weak_type)
    else:
        value = fill_value if dtype is None else _converted(fill_value, wanted)
    return broadcast_in_dim(value, _sizes(shape, "sizes of full"), ())


def _converted(fill_value: Any, dtype: np.dtype[Any]) -> Any:
    try:
        return np.asarray(fill_value).astype(dtype)[()]
    except OverflowError:
        raise OverflowError(f"the integer {fill_value} does not fit {dtype.name}{here()}") from None


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Sequence[int] | None = None) -> Any:
    """An array like ``x`` with one value everywhere."""
    sizes = np.shape(x) if shape is None else shape
    if dtype is not None:
        return full(sizes, fill_value, dtype)
    like = aval_of(x)
    return full(sizes, convert_element_type(full((), fill_value, like.dtype), like.dtype, like.weak_type))


@out_sharded
def empty(shape: Sequence[int], dtype: Any) -> Any:
    """An array whose elements are unspecified: zeros."""
    return full(shape, 0, dtype)


def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape and dtype joined along a new axis.

    >>> from xlascope import lax, numpy as jnp
    >>> lax.stack([jnp.arange(3), jnp.arange(3)], axis=1).shape
    (3, 2)
    """
    operands = _several(operands, "stack")
    if len({_shape(x) for x in operands}) > 1:
        raise ValueError(f"stack takes operands of one shape, got {' and '.join(str(_shape(x)) for x in operands)}")
    place = axis_of(axis, len(_shape(operands[0])) + 1, "axis of stack")
    return slicing.concatenate([expand_dims(x, (place,)) for x in operands], place)


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices of an array along an axis, without that axis.

    >>> from xlascope import lax, numpy as jnp
    >>> print(*lax.unstack(jnp.arange(6).reshape(2, 3)))
    [0 1 2] [3 4 5]
    """
    shape = _shape(x)
    place = axis_of(axis, len(shape), "axis of unstack")
    return tuple(shapes.squeeze(slicing.slice_in_dim(x, i, i + 1, place), (place,)) for i in range(shape[place]))


def tile(operand: Any, reps: Sequence[int]) -> Any:
    """The operand repeated ``reps[i]`` times along axis i, as a whole.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.tile(jnp.arange(2), (2,)))
    [0 1 0 1]
    """
    shape, reps = _shape(operand), whole_numbers(reps, "reps of tile")
    if len(reps) != len(shape):
        raise TypeError(f"tile takes one count for each of the {len(shape)} axes, got {tuple(reps)}")
    pairs = [size for rep, own in zip(reps, shape, strict=True) for size in (rep, own)]
    repeated = broadcast_in_dim(operand, pairs, range(1, 2 * len(shape), 2))
    return shapes.reshape(repeated, tuple(rep * own for rep, own in zip(reps, shape, strict=True)))


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """``arr`` repeated so that it has the shape of ``like_arr``."""
    own, wanted = _shape(arr), _shape(like_arr)
    return broadcast_in_dim(arr, wanted, range(len(wanted) - len(own), len(wanted)))


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """``x`` with axes of size 1 put in front, so that it has at least ``rank`` axes."""
    return expand_dims(x, tuple(range(whole_number(rank, "rank of broadcast_to_rank") - len(_shape(x)))))


def shape_as_value(shape: Sequence[int]) -> Any:
    """A shape as an array of int32."""
    sizes = [expand_dims(np.int32(size), (0,)) for size in whole_numbers(shape, "sizes of shape_as_value")]
    return slicing.concatenate(sizes, 0) if sizes else full((0,), np.int32(0))


def dtype(x: Any) -> np.dtype[Any]:
    """The dtype that a value has as an operand.

    >>> from xlascope import lax
    >>> lax.dtype(1.0)
    dtype('float32')
    """
    return aval_of(x).dtype
