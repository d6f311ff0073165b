"""Functions that change shapes and axes, and helpers for shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..operations import shapes
from ..operations.out_shardings import with_out_sharding
from ..operations.shapes import broadcast_in_dim
from ..operations.slicing import slice_in_dim
from ..trace.operand_coercion import pass_through
from ..trace.trace_cache import cache_trace
from ..trace.values import aval_of, invalid_operand_error
from .axes import axes_of, axis_of, is_several, sizes_of, to_static_axis, whole_number
from .jit_wrapped import jit_wrapped


def shape_of(x: Any) -> tuple[int, ...]:
    """Return the shape of an operand."""
    return aval_of(x).shape


def require_arrays(arrays: Any, caller: str) -> list[Any]:
    """Return the operands of ``caller``, a function that joins arrays, as a list.

    A single array is split into its slices along the first axis. Raises TypeError for lists in place of arrays,
    and for an array without axes, ValueError if there are no arrays.
    """
    if isinstance(arrays, (list, tuple, range)):
        operands = list(arrays)
    else:
        if not shape_of(arrays):
            raise TypeError(f"{caller} takes a list of arrays, or an array of them, got one without axes: {arrays!r}")
        operands = [index_row(arrays, i) for i in range(shape_of(arrays)[0])]
    if not operands:
        raise ValueError(f"{caller} needs at least one array")
    for position, x in enumerate(operands):
        if isinstance(x, (list, tuple)):
            raise invalid_operand_error(x, f"argument {position} of {caller},")
    return operands


def index_row(x: Any, i: int) -> Any:
    """Return ``x[i]`` as a static slice."""
    return shapes.squeeze(slice_in_dim(x, i, i + 1, 0), (0,))


@with_out_sharding
@cache_trace
def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """Return the elements in another shape; one size may be -1, and is inferred from the others.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.reshape(jnp.arange(6), (2, -1)))
    [[0 1 2]
     [3 4 5]]
    """
    if order != "C":
        if order != "F":
            if order == "A":
                raise NotImplementedError(
                    "order='A' asks for the order in memory, which arrays do not tell here; name one"
                )
            raise ValueError(f"order is 'C' or 'F', got {order!r}")
        sizes = resolve_shape(a, shape)
        return transpose(shapes.reshape(transpose(a), sizes[::-1]))
    return shapes.reshape(a, resolve_shape(a, shape))


def resolve_shape(a: Any, shape: Any) -> tuple[int, ...]:
    """Return the shape to which ``a`` is reshaped, with a -1 replaced by the size that fits.

    Raises TypeError if the number of elements differs or several sizes are -1, ValueError if any size would fit.
    """
    aval = aval_of(a)
    sizes = list(sizes_of(shape))
    if -1 in sizes:
        known_size = math.prod(size for size in sizes if size != -1)
        if sizes.count(-1) > 1:
            raise TypeError(f"reshape: only one size may be -1, got {tuple(sizes)}")
        if known_size == 0:
            raise ValueError(f"reshape: the size at -1 in {tuple(sizes)} could be any, as there are no elements")
        sizes[sizes.index(-1)] = aval.size // known_size
    if math.prod(sizes) != aval.size:
        raise TypeError(f"cannot reshape an array of shape {aval.shape} (size {aval.size}) to {shape}")
    return tuple(sizes)


@with_out_sharding
@jit_wrapped("order")
def ravel(a: Any, order: str = "C") -> Any:
    """Return all elements along one axis."""
    if isinstance(order, str) and order == "K":
        raise NotImplementedError("order='K' asks for the order in memory, which arrays do not tell here; name one")
    sizes = (aval_of(a).size,)
    return shapes.reshape(a, sizes) if order == "C" else reshape(a, sizes, order)


@cache_trace
def transpose(a: Any, axes: Any = None) -> Any:
    """Return the array with axes permuted: axis i of the result is axis ``axes[i]``; without ``axes``, reversed.

    >>> import xlascope.numpy as jnp
    >>> jnp.transpose(jnp.zeros((2, 3, 4)), (0, 2, 1)).shape
    (2, 4, 3)
    """
    rank = len(shape_of(a))
    order = (
        range(rank)[::-1]
        if axes is None
        else [axis_of(axis, rank, "axes") for axis in (axes if is_several(axes) else (axes,))]
    )
    if len(set(order)) != rank or len(order) != rank:
        raise TypeError(f"transpose takes each of the {rank} axes of shape {shape_of(a)} once, got {axes}")
    return shapes.transpose(a, order)


def permute_dims(a: Any, axes: Sequence[int] | int) -> Any:
    """Return the array with its axes permuted; see :func:`transpose`."""
    return transpose(a, axes)


@cache_trace
def matrix_transpose(x: Any, /) -> Any:
    """Return the array with the last two axes exchanged."""
    rank = len(shape_of(x))
    if rank < 2:
        raise ValueError(f"matrix_transpose takes at least two axes, got shape {shape_of(x)}")
    return swapaxes(x, -1, -2)


@jit_wrapped("axis1", "axis2")
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Return the array with two axes exchanged."""
    order = list(range(len(shape_of(a))))
    i, j = axis_of(axis1, len(order), "axis1"), axis_of(axis2, len(order), "axis2")
    order[i], order[j] = order[j], order[i]
    return shapes.transpose(a, order)


def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Return the array with axes moved to other positions; the remaining axes keep their order."""
    return _moveaxis(a, to_static_axis(source, "source"), to_static_axis(destination, "destination"))


@jit_wrapped("source", "destination")
def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    rank = len(shape_of(a))
    sources, destinations = axes_of(source, rank, "source"), axes_of(destination, rank, "destination")
    if len(sources) != len(destinations):
        raise ValueError(f"moveaxis: {len(sources)} sources and {len(destinations)} destinations")
    order = [axis for axis in range(rank) if axis not in sources]
    for position, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(position, axis)
    return shapes.transpose(a, order)


@cache_trace
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Return the array with an axis moved before axis ``start``."""
    rank = len(shape_of(a))
    axis, position = axis_of(axis, rank), whole_number(start, "start")
    if not -rank <= position <= rank:
        raise ValueError(f"rollaxis: start {position} is out of bounds for an array with {rank} axes")
    start = position + rank if position < 0 else position
    return moveaxis(a, axis, start - 1 if axis < start else start)


@cache_trace
def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Return the array without its axes of size 1, or without those in ``axis``."""
    shape = shape_of(a)
    axes = [i for i, size in enumerate(shape) if size == 1] if axis is None else axes_of(axis, len(shape))
    return shapes.squeeze(a, tuple(axes))


@cache_trace
def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    """Return the array with new axes of size 1 at the positions ``axis`` of the result."""
    axes: tuple[Any, ...] = tuple(axis) if is_several(axis) else (axis,)  # type: ignore[arg-type]
    return shapes.expand_dims(a, axes_of(axes, len(shape_of(a)) + len(axes)))


@cache_trace
def atleast_1d(*arys: Any) -> Any:
    """Return the arrays with at least one axis."""
    results = [pass_through(x) if shape_of(x) else shapes.reshape(x, (1,)) for x in arys]
    return results[0] if len(results) == 1 else results


@cache_trace
def atleast_2d(*arys: Any) -> Any:
    """Return the arrays with at least two axes; a vector becomes a row."""
    results = [pass_through(x) if len(shape_of(x)) > 1 else shapes.reshape(x, (1, aval_of(x).size)) for x in arys]
    return results[0] if len(results) == 1 else results


@cache_trace
def atleast_3d(*arys: Any) -> Any:
    """Return the arrays with at least three axes; a vector becomes (1, n, 1), a matrix (m, n, 1)."""
    results = []
    for x in arys:
        shape = shape_of(x)
        sizes = {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}.get(len(shape), shape)
        results.append(shapes.reshape(x, sizes))
    return results[0] if len(results) == 1 else results


@with_out_sharding
@cache_trace
def broadcast_to(array: Any, shape: Any) -> Any:
    """Return the array broadcast to a shape.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.broadcast_to(jnp.arange(2), (2, 2)))
    [[0 1]
     [0 1]]
    """
    sizes = sizes_of(shape)
    if any(size < 0 for size in sizes):
        raise TypeError(f"broadcast_to shape {sizes}: sizes are at least 0")
    operand_shape = shape_of(array)
    if operand_shape == sizes:
        return pass_through(array)
    added = len(sizes) - len(operand_shape)
    if added < 0 or any(size not in (1, target) for size, target in zip(operand_shape, sizes[added:], strict=True)):
        raise ValueError(f"an array of shape {operand_shape} cannot be broadcast to {sizes}")
    kept_axes = [i for i, size in enumerate(operand_shape) if size == sizes[added + i]]
    dropped_axes = tuple(i for i in range(len(operand_shape)) if i not in kept_axes)
    return broadcast_in_dim(shapes.squeeze(array, dropped_axes), sizes, [added + i for i in kept_axes])


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the broadcast shape of several shapes."""
    return np.broadcast_shapes(*map(sizes_of, shapes))


@cache_trace
def broadcast_arrays(*args: Any) -> list[Any]:
    """Return the arrays broadcast to their common shape."""
    shape = np.broadcast_shapes(*(shape_of(x) for x in args))
    return [broadcast_to(x, shape) for x in args]
