"""Functions that give elements another shape, and what all functions do with axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..operations import shapes
from ..operations.out_shardings import out_sharded
from ..operations.shapes import broadcast_in_dim
from ..operations.slicing import slice_in_dim
from ..trace.gate import unchanged
from ..trace.planned import planned
from ..trace.values import aval_of, not_an_array
from .axes import axes_of, axis_of, is_several, sizes_of, whole_number


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an operand."""
    return aval_of(x).shape


def arrays_of(arrays: Any, what: str) -> list[Any]:
    """The operands of a function that joins arrays; an array counts as the list of its rows."""
    if isinstance(arrays, (list, tuple, range)):
        given = list(arrays)
    else:
        if not shape_of(arrays):
            raise TypeError(f"{what} takes a list of arrays, or an array of them, got one without axes: {arrays!r}")
        given = [index_row(arrays, i) for i in range(shape_of(arrays)[0])]
    if not given:
        raise ValueError(f"{what} needs at least one array")
    for position, x in enumerate(given):
        if isinstance(x, (list, tuple)):
            raise not_an_array(x, f"argument {position} of {what},")
    return given


def index_row(x: Any, i: int) -> Any:
    """Row ``i``."""
    return shapes.squeeze(slice_in_dim(x, i, i + 1, 0), (0,))


@out_sharded
@planned
def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """The same elements in another shape; one size may be -1, and follows from the others.

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
        sizes = resolved(a, shape)
        return transpose(shapes.reshape(transpose(a), sizes[::-1]))
    return shapes.reshape(a, resolved(a, shape))


def resolved(a: Any, shape: Any) -> tuple[int, ...]:
    """A shape with its -1 replaced; raises TypeError when the sizes do not fit."""
    aval = aval_of(a)
    sizes = list(sizes_of(shape))
    if -1 in sizes:
        rest = math.prod(size for size in sizes if size != -1)
        if sizes.count(-1) > 1:
            raise TypeError(f"reshape: only one size may be -1, got {tuple(sizes)}")
        if rest == 0:
            raise ValueError(f"reshape: the size at -1 in {tuple(sizes)} could be any, as there are no elements")
        sizes[sizes.index(-1)] = aval.size // rest
    if math.prod(sizes) != aval.size:
        raise TypeError(f"cannot reshape an array of shape {aval.shape} (size {aval.size}) to {shape}")
    return tuple(sizes)


@out_sharded
@planned
def ravel(a: Any, order: str = "C") -> Any:
    """All elements along one axis."""
    if isinstance(order, str) and order == "K":
        raise NotImplementedError("order='K' asks for the order in memory, which arrays do not tell here; name one")
    return reshape(a, (aval_of(a).size,), order)


@planned
def transpose(a: Any, axes: Any = None) -> Any:
    """Axes permuted: axis i of the result is axis ``axes[i]``; without ``axes``, all reversed.

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
    """The axes in another order, which has to be given; see :func:`transpose`."""
    return transpose(a, axes)


@planned
def matrix_transpose(x: Any, /) -> Any:
    """The last two axes exchanged."""
    rank = len(shape_of(x))
    if rank < 2:
        raise ValueError(f"matrix_transpose takes at least two axes, got shape {shape_of(x)}")
    return swapaxes(x, -1, -2)


@planned
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    order = list(range(len(shape_of(a))))
    i, j = axis_of(axis1, len(order), "axis1"), axis_of(axis2, len(order), "axis2")
    order[i], order[j] = order[j], order[i]
    return shapes.transpose(a, order)


@planned
def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Axes moved to other places, the rest keeping their order."""
    rank = len(shape_of(a))
    sources, destinations = axes_of(source, rank, "source"), axes_of(destination, rank, "destination")
    if len(sources) != len(destinations):
        raise ValueError(f"moveaxis: {len(sources)} sources and {len(destinations)} destinations")
    order = [axis for axis in range(rank) if axis not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return shapes.transpose(a, order)


@planned
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """An axis moved until it stands before ``start``."""
    rank = len(shape_of(a))
    axis, place = axis_of(axis, rank), whole_number(start, "start")
    if not -rank <= place <= rank:
        raise ValueError(f"rollaxis: start {place} is out of bounds for an array with {rank} axes")
    start = place + rank if place < 0 else place
    return moveaxis(a, axis, start - 1 if axis < start else start)


@planned
def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Without its axes of size 1, or those of them that ``axis`` names."""
    shape = shape_of(a)
    axes = [i for i, size in enumerate(shape) if size == 1] if axis is None else axes_of(axis, len(shape))
    return shapes.squeeze(a, tuple(axes))


@planned
def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    """With new axes of size 1 at the places that ``axis`` names in the result."""
    axes: tuple[Any, ...] = tuple(axis) if is_several(axis) else (axis,)  # type: ignore[arg-type]
    return shapes.expand_dims(a, axes_of(axes, len(shape_of(a)) + len(axes)))


@planned
def atleast_1d(*arys: Any) -> Any:
    """With at least one axis."""
    made = [unchanged(x) if shape_of(x) else shapes.reshape(x, (1,)) for x in arys]
    return made[0] if len(made) == 1 else made


@planned
def atleast_2d(*arys: Any) -> Any:
    """With at least two axes; a vector becomes a row."""
    made = [unchanged(x) if len(shape_of(x)) > 1 else shapes.reshape(x, (1, aval_of(x).size)) for x in arys]
    return made[0] if len(made) == 1 else made


@planned
def atleast_3d(*arys: Any) -> Any:
    """With at least three axes; a vector becomes (1, n, 1), a matrix (m, n, 1)."""
    made = []
    for x in arys:
        shape = shape_of(x)
        sizes = {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}.get(len(shape), shape)
        made.append(shapes.reshape(x, sizes))
    return made[0] if len(made) == 1 else made


@out_sharded
@planned
def broadcast_to(array: Any, shape: Any) -> Any:
    """Spread over a shape whose last axes fit.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.broadcast_to(jnp.arange(2), (2, 2)))
    [[0 1]
     [0 1]]
    """
    sizes = sizes_of(shape)
    if any(size < 0 for size in sizes):
        raise TypeError(f"broadcast_to shape {sizes}: sizes are at least 0")
    own = shape_of(array)
    if own == sizes:
        return unchanged(array)
    new = len(sizes) - len(own)
    if new < 0 or any(size not in (1, wanted) for size, wanted in zip(own, sizes[new:], strict=True)):
        raise ValueError(f"an array of shape {own} cannot be broadcast to {sizes}")
    kept = [i for i, size in enumerate(own) if size == sizes[new + i]]
    dropped = tuple(i for i in range(len(own)) if i not in kept)
    return broadcast_in_dim(shapes.squeeze(array, dropped), sizes, [new + i for i in kept])


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape in which arrays of those shapes meet."""
    return np.broadcast_shapes(*map(sizes_of, shapes))


@planned
def broadcast_arrays(*args: Any) -> list[Any]:
    """Arrays spread over the shape in which they meet."""
    shape = np.broadcast_shapes(*(shape_of(x) for x in args))
    return [broadcast_to(x, shape) for x in args]
