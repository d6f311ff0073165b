"""Shapes: broadcasting, reshaping, slicing, padding, joining, with explicit axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import cast_on_host
from ..ir.requested_dtypes import resolve_requested_dtype
from ..key_types import is_key
from ..operations import shapes, slicing
from ..operations.conversion import to_dtype
from ..operations.integer_arguments import axis_of, is_several, whole_number, whole_numbers
from ..operations.operand_values import match
from ..operations.out_shardings import with_out_sharding
from ..operations.random_keys import random_wrap
from ..operations.shapes import broadcast_in_dim, expand_dims, transpose
from ..trace.source import here
from ..trace.values import aval_of, exact_array
from .device_argument import fill_on_device, sharding_like, strengthen_if_placed


def _shape(x: Any) -> tuple[int, ...]:
    return aval_of(x).shape


def broadcast(operand: Any, sizes: Sequence[int]) -> Any:
    """Repeat the operand along new leading axes of the given sizes.

    >>> from xlascope import lax
    >>> lax.broadcast(1.0, (2, 3)).shape
    (2, 3)
    """
    shape, sizes = _shape(operand), whole_numbers(sizes, "sizes of broadcast")
    return broadcast_in_dim(operand, (*sizes, *shape), range(len(sizes), len(sizes) + len(shape)))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that arrays of those shapes broadcast to; raises ValueError if they do not fit."""
    return np.broadcast_shapes(*(whole_numbers(shape, "shapes given to broadcast_shapes") for shape in shapes))


@with_out_sharding
def reshape(operand: Any, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> Any:
    """Return the elements in another shape; ``dimensions`` is the order in which axes are read (None: as they are)."""
    if dimensions is not None:
        operand = transpose(operand, dimensions)
    return shapes.reshape(operand, _to_sizes(new_sizes, "new_sizes of reshape"))


def _to_sizes(shape: Any, name: str) -> tuple[int, ...]:
    """Return the sizes of a shape as a tuple; a single number stands for a tuple of one.

    ``name`` says in an error what they are.
    """
    return whole_numbers((shape,) if hasattr(shape, "__index__") and not is_several(shape) else shape, name)


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """Merge neighbouring axes into one: from ``start_dimension`` to before ``stop_dimension`` (None: the rest)."""
    shape = _shape(operand)
    start = whole_number(start_dimension, "start_dimension of collapse")
    stop = None if stop_dimension is None else whole_number(stop_dimension, "stop_dimension of collapse")
    start, stop, _ = slice(start, stop).indices(len(shape))
    return shapes.reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))


def squeeze(array: Any, dimensions: Sequence[int] | int) -> Any:
    """Remove the given axes, which have size 1."""
    return shapes.squeeze(array, _to_sizes(dimensions, "dimensions of squeeze"))


def slice_in_dim(operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0) -> Any:
    """Return the elements from ``start_index`` to before ``limit_index`` along one axis.

    Negative numbers count from the end.
    """
    axis = axis_of(axis, len(_shape(operand)), "axis of slice_in_dim")
    size = _shape(operand)[axis]
    bounds = [
        default if bound is None else whole_number(bound, f"{name} of slice_in_dim")
        for name, bound, default in (("start_index", start_index, 0), ("limit_index", limit_index, size))
    ]
    start, limit = (bound + size if bound < 0 else bound for bound in bounds)
    return slicing.slice_in_dim(operand, start, limit, axis, whole_number(stride, "stride of slice_in_dim"))


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """Return the elements at one position along an axis; the axis is kept with size 1 unless ``keepdims`` is False."""
    axis = axis_of(axis, len(_shape(operand)), "axis of index_in_dim")
    size, index = _shape(operand)[axis], whole_number(index, "index of index_in_dim")
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} of size {size}")
    element = slicing.slice_in_dim(operand, index % size, index % size + 1, axis)
    return element if keepdims else shapes.squeeze(element, (axis,))


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """Concatenate arrays of one dtype along an axis."""
    operand_list = _require_sequence(operands, "concatenate")
    return slicing.concatenate(operand_list, whole_number(dimension, "dimension of concatenate"))


def _require_sequence(operands: Any, name: str) -> list[Any]:
    """Return a sequence of operands as a list; an array stands for its rows.

    Raises TypeError for others and ValueError for an empty one; ``name`` begins the messages.
    """
    if not is_several(operands):
        raise TypeError(
            f"{name} takes a sequence of operands, got {operands!r} of type {type(operands).__name__}{here()}"
        )
    operand_list = list(operands)
    if not operand_list:
        raise ValueError(f"{name} takes at least one operand")
    return operand_list


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """Put a value around and between the elements: (low, high, interior) counts for each axis.

    Raises TypeError or OverflowError for a number that the operand's dtype cannot represent.
    """
    return slicing.pad(operand, match(operand, padding_value)[1], padding_config)


def iota(dtype: Any, size: int) -> Any:
    """Return 0, 1, 2, … below ``size``.

    >>> from xlascope import lax
    >>> print(lax.iota("int32", 3))
    [0 1 2]
    """
    return shapes.broadcasted_iota(_iota_dtype(dtype), (whole_number(size, "size of iota"),), 0)


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Any:
    """Return an array of that shape with 0, 1, 2, … along the axis ``dimension``, repeated along the others."""
    return shapes.broadcasted_iota(_iota_dtype(dtype), _to_sizes(shape, "sizes of iota"), dimension)


def _iota_dtype(dtype: Any) -> np.dtype[Any]:
    if dtype is None:
        raise TypeError(f"iota takes the dtype that it counts in, such as 'int32', got None{here()}")
    return resolve_requested_dtype(dtype)


def full(shape: Sequence[int], fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """Return an array filled with one value, a scalar; ``dtype`` is that of the value if None.

    It is committed to ``sharding`` if that is given: one over one or several devices.
    """
    if _shape(fill_value):
        raise TypeError(f"full takes a value without axes, got shape {_shape(fill_value)}; use broadcast_in_dim")
    target_dtype = aval_of(fill_value).dtype if dtype is None else resolve_requested_dtype(dtype)
    if hasattr(fill_value, "aval"):
        value = to_dtype(fill_value, target_dtype, dtype is None and fill_value.aval.weak_type)
    else:
        value = fill_value if dtype is None else _convert_fill_value(fill_value, target_dtype)
    return fill_on_device(strengthen_if_placed(value, sharding), _to_sizes(shape, "sizes of full"), sharding)


def _convert_fill_value(fill_value: Any, dtype: np.dtype[Any]) -> Any:
    try:
        return cast_on_host(fill_value, dtype)[()]
    except OverflowError:
        raise OverflowError(f"the integer {fill_value} does not fit {dtype.name}{here()}") from None


def full_like(
    x: Any, fill_value: Any, dtype: Any = None, shape: Sequence[int] | None = None, sharding: Any = None
) -> Any:
    """Return an array filled with one value; dtype and shape are those of ``x`` where they are None.

    It is committed to ``sharding`` if that is given: one over one or several devices. Else it lies where ``x`` lies,
    if ``x`` is committed: to one device, or with the same shape to several.
    """
    sizes = np.shape(x) if shape is None else _to_sizes(shape, "sizes of full_like")
    if sharding is None:
        sharding = sharding_like(x, sizes)
    if dtype is not None:
        return full(sizes, fill_value, dtype, sharding=sharding)
    aval = aval_of(x)
    kind: Any = aval.dtype
    if is_key(kind) and fill_value.__class__ in (int, float):  # as in JAX, the words of all keys
        words = full((*sizes, kind.words), fill_value, np.dtype(np.uint32))
        return random_wrap(words, kind.implementation)
    is_array = hasattr(fill_value, "aval")
    number = fill_value if is_array else exact_array(_convert_fill_value(fill_value, kind), kind)
    value = to_dtype(number, kind, aval.weak_type)
    return full(sizes, value, sharding=sharding)


@with_out_sharding
def empty(shape: Sequence[int], dtype: Any) -> Any:
    """Return an array whose elements are unspecified; they are zeros."""
    return full(shape, 0, dtype)


def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """Join arrays of one shape and dtype along a new axis.

    >>> from xlascope import lax, numpy as jnp
    >>> lax.stack([jnp.arange(3), jnp.arange(3)], axis=1).shape
    (3, 2)
    """
    operands = _require_sequence(operands, "stack")
    if len({_shape(x) for x in operands}) > 1:
        raise ValueError(f"stack takes operands of one shape, got {' and '.join(str(_shape(x)) for x in operands)}")
    dim = axis_of(axis, len(_shape(operands[0])) + 1, "axis of stack")
    return slicing.concatenate([expand_dims(x, (dim,)) for x in operands], dim)


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """Return the slices of an array along an axis, without that axis.

    >>> from xlascope import lax, numpy as jnp
    >>> print(*lax.unstack(jnp.arange(6).reshape(2, 3)))
    [0 1 2] [3 4 5]
    """
    shape = _shape(x)
    dim = axis_of(axis, len(shape), "axis of unstack")
    return tuple(shapes.squeeze(slicing.slice_in_dim(x, i, i + 1, dim), (dim,)) for i in range(shape[dim]))


def tile(operand: Any, reps: Sequence[int]) -> Any:
    """Repeat the operand ``reps[i]`` times along axis i.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.tile(jnp.arange(2), (2,)))
    [0 1 0 1]
    """
    shape, reps = _shape(operand), whole_numbers(reps, "reps of tile")
    if len(reps) != len(shape):
        raise TypeError(f"tile takes one count for each of the {len(shape)} axes, got {tuple(reps)}")
    pairs = [size for rep, length in zip(reps, shape, strict=True) for size in (rep, length)]
    repeated = broadcast_in_dim(operand, pairs, range(1, 2 * len(shape), 2))
    return shapes.reshape(repeated, tuple(rep * length for rep, length in zip(reps, shape, strict=True)))


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """Broadcast ``arr`` to the shape of ``like_arr``."""
    shape, target_shape = _shape(arr), _shape(like_arr)
    return broadcast_in_dim(arr, target_shape, range(len(target_shape) - len(shape), len(target_shape)))


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """Return ``x`` with leading axes of size 1, so that it has at least ``rank`` axes."""
    return expand_dims(x, tuple(range(whole_number(rank, "rank of broadcast_to_rank") - len(_shape(x)))))


def shape_as_value(shape: Sequence[int]) -> Any:
    """Return a shape as an array of int32."""
    sizes = [expand_dims(np.int32(size), (0,)) for size in whole_numbers(shape, "sizes of shape_as_value")]
    return slicing.concatenate(sizes, 0) if sizes else full((0,), np.int32(0))


def dtype(x: Any) -> np.dtype[Any]:
    """Return the dtype that a value has as an operand.

    >>> from xlascope import lax
    >>> lax.dtype(1.0)
    dtype('float32')
    """
    return aval_of(x).dtype
