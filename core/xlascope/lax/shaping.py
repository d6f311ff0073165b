"""Shapes: broadcasting, reshaping, slicing, padding, joining, with explicit axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import canonical
from ..operations import shapes, slicing
from ..operations.conversion import convert_element_type
from ..operations.shapes import broadcast_in_dim, expand_dims, transpose
from ..operations.values import typed_scalar
from ..trace.values import aval_of


def _shape(x: Any) -> tuple[int, ...]:
    return aval_of(x).shape


def broadcast(operand: Any, sizes: Sequence[int]) -> Any:
    """Repeat along new leading axes.

    >>> from xlascope import lax
    >>> lax.broadcast(1.0, (2, 3)).shape
    (2, 3)
    """
    own = _shape(operand)
    return broadcast_in_dim(operand, (*sizes, *own), range(len(sizes), len(sizes) + len(own)))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape in which arrays of those shapes meet; raises ValueError when they do not fit."""
    return np.broadcast_shapes(*(tuple(shape) for shape in shapes))


def reshape(operand: Any, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> Any:
    """The same elements in another shape, read in the order of ``dimensions``."""
    if dimensions is not None:
        operand = transpose(operand, tuple(dimensions))
    return shapes.reshape(operand, tuple(new_sizes))


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """Several neighbouring axes made one."""
    shape = _shape(operand)
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    return shapes.reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))


def squeeze(array: Any, dimensions: Sequence[int] | int) -> Any:
    """Drop axes of size 1."""
    return shapes.squeeze(array, (dimensions,) if isinstance(dimensions, int) else tuple(dimensions))


def slice_in_dim(operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0) -> Any:
    """The elements from ``start_index`` to ``limit_index`` along one axis; negative numbers count from the end."""
    axis = axis % len(_shape(operand))
    start, limit, _ = slice(start_index, limit_index).indices(_shape(operand)[axis])
    return slicing.slice_in_dim(operand, start, max(start, limit), axis, stride)


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The elements at one place along an axis."""
    axis = axis % len(_shape(operand))
    size = _shape(operand)[axis]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} of size {size}")
    one = slicing.slice_in_dim(operand, index % size, index % size + 1, axis)
    return one if keepdims else shapes.squeeze(one, (axis,))


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """Arrays of one dtype joined along an axis."""
    if not operands:
        raise ValueError("concatenate takes at least one operand")
    return slicing.concatenate(list(operands), dimension)


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """Consecutive parts of those sizes along an axis."""
    if sum(sizes) != _shape(operand)[axis]:
        raise ValueError(f"the sizes {tuple(sizes)} do not add up to {_shape(operand)[axis]}, the size of axis {axis}")
    ends = np.cumsum(np.asarray(sizes, int)).tolist()
    return [slicing.slice_in_dim(operand, end - size, end, axis) for end, size in zip(ends, sizes, strict=True)]


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """Put a value around and between the elements: (low, high, interior) for each axis."""
    if padding_value.__class__ in (bool, int, float, complex):
        padding_value = typed_scalar(padding_value, aval_of(operand).dtype)
    return slicing.pad(operand, padding_value, padding_config)


def iota(dtype: Any, size: int) -> Any:
    """0, 1, 2, … below ``size``.

    >>> from xlascope import lax
    >>> print(lax.iota("int32", 3))
    [0 1 2]
    """
    return shapes.broadcasted_iota(canonical(dtype), (int(size),), 0)


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Any:
    """0, 1, 2, … along one axis, repeated along the others."""
    return shapes.broadcasted_iota(canonical(dtype), tuple(shape), dimension)


def full(shape: Sequence[int], fill_value: Any, dtype: Any = None) -> Any:
    """An array with one value everywhere."""
    if _shape(fill_value):
        raise TypeError(f"full takes a value without axes, got shape {_shape(fill_value)}; use broadcast_in_dim")
    wanted = aval_of(fill_value).dtype if dtype is None else canonical(dtype)
    if hasattr(fill_value, "aval"):
        value = convert_element_type(fill_value, wanted, dtype is None and fill_value.aval.weak_type)
    else:
        value = fill_value if dtype is None else np.asarray(fill_value).astype(wanted)[()]
    return broadcast_in_dim(value, tuple(shape), ())


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Sequence[int] | None = None) -> Any:
    """An array like ``x`` with one value everywhere."""
    aval = aval_of(x)
    return full(aval.shape if shape is None else shape, fill_value, aval.dtype if dtype is None else dtype)


def empty(shape: Sequence[int], dtype: Any, *, out_sharding: Any = None) -> Any:
    """An array whose elements are unspecified: zeros."""
    return full(shape, 0, dtype)


def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape and dtype joined along a new axis.

    >>> from xlascope import lax, numpy as jnp
    >>> lax.stack([jnp.arange(3), jnp.arange(3)], axis=1).shape
    (3, 2)
    """
    if not operands:
        raise ValueError("stack takes at least one operand")
    if len({_shape(x) for x in operands}) > 1:
        raise ValueError(f"stack takes operands of one shape, got {' and '.join(str(_shape(x)) for x in operands)}")
    place = _new_axis(axis, len(_shape(operands[0])) + 1)
    return slicing.concatenate([expand_dims(x, (place,)) for x in operands], place)


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices of an array along an axis, without that axis.

    >>> from xlascope import lax, numpy as jnp
    >>> print(*lax.unstack(jnp.arange(6).reshape(2, 3)))
    [0 1 2] [3 4 5]
    """
    shape = _shape(x)
    place = _new_axis(axis, len(shape))
    return tuple(shapes.squeeze(slicing.slice_in_dim(x, i, i + 1, place), (place,)) for i in range(shape[place]))


def _new_axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for an array of {rank} axes")
    return axis % rank


def tile(operand: Any, reps: Sequence[int]) -> Any:
    """The operand repeated ``reps[i]`` times along axis i, as a whole.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.tile(jnp.arange(2), (2,)))
    [0 1 0 1]
    """
    shape = _shape(operand)
    if len(reps) != len(shape):
        raise TypeError(f"tile takes one count for each of the {len(shape)} axes, got {tuple(reps)}")
    pairs = [size for rep, own in zip(reps, shape, strict=True) for size in (int(rep), own)]
    repeated = broadcast_in_dim(operand, pairs, range(1, 2 * len(shape), 2))
    return shapes.reshape(repeated, tuple(int(rep) * own for rep, own in zip(reps, shape, strict=True)))


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """``arr`` repeated so that it has the shape of ``like_arr``."""
    own, wanted = _shape(arr), _shape(like_arr)
    return broadcast_in_dim(arr, wanted, range(len(wanted) - len(own), len(wanted)))


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """``x`` with axes of size 1 put in front, so that it has at least ``rank`` axes."""
    return expand_dims(x, tuple(range(rank - len(_shape(x)))))


def shape_as_value(shape: Sequence[int]) -> Any:
    """A shape as an array of int32."""
    sizes = [expand_dims(np.int32(size), (0,)) for size in shape]
    return slicing.concatenate(sizes, 0) if sizes else full((0,), np.int32(0))


def dtype(x: Any) -> np.dtype[Any]:
    """The dtype that a value has as an operand.

    >>> from xlascope import lax
    >>> lax.dtype(1.0)
    dtype('float32')
    """
    return aval_of(x).dtype
