"""Dimension numbers of gather and scatter, and their consistency: the constraints of StableHLO."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

Shape = tuple[int, ...]


class GatherDimensionNumbers(NamedTuple):
    """Roles of the axes of a gather; the names are StableHLO's."""

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """Roles of the axes of a scatter; the names are StableHLO's."""

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


@functools.lru_cache(maxsize=4096)
def check_gather(n: GatherDimensionNumbers, sizes: Shape, operand: Shape, indices: Shape) -> None:
    """Raise TypeError unless the dimension numbers and slice sizes of a gather fit its operands.

    ``sizes`` are the slice sizes; ``operand`` and ``indices`` are the shapes of the operands.
    """
    _require(isinstance(n, GatherDimensionNumbers), f"gather takes GatherDimensionNumbers, got {n!r}")
    _require(len(indices) > 0, "gather takes indices whose last axis holds the coordinates, got a scalar")
    rank = len(operand)
    _check_axes("gather", "offset_dims", n.offset_dims, len(n.offset_dims) + len(indices) - 1)
    _check_axes("gather", "collapsed_slice_dims", n.collapsed_slice_dims, rank)
    _check_batching(
        "gather", n.operand_batching_dims, n.start_indices_batching_dims, n.collapsed_slice_dims, operand, indices
    )
    _check_coordinates("gather", "start_index_map", n.start_index_map, n.operand_batching_dims, operand, indices)
    _require(
        len(sizes) == rank and all(0 <= size <= have for size, have in zip(sizes, operand, strict=True)),
        f"gather takes a slice_size for each axis, within the operand, got {sizes} for shape {operand}",
    )
    dropped = (*n.collapsed_slice_dims, *n.operand_batching_dims)
    _require(
        all(sizes[axis] <= 1 for axis in dropped),
        f"gather drops axes of slice_size 1, got {sizes} and collapsed_slice_dims and operand_batching_dims {dropped}",
    )
    _require(
        len(n.offset_dims) + len(dropped) == rank,
        f"gather has an axis in offset_dims for each axis of the operand that is not dropped, got offset_dims "
        f"{n.offset_dims} for shape {operand} without axes {dropped}",
    )


@functools.lru_cache(maxsize=4096)
def check_scatter(name: str, n: ScatterDimensionNumbers, operand: Shape, indices: Shape, updates: Shape) -> None:
    """Raise TypeError unless the dimension numbers of a scatter fit its operands.

    ``operand``, ``indices`` and ``updates`` are the shapes of the operands, ``name`` is the operation's name.
    """
    _require(isinstance(n, ScatterDimensionNumbers), f"{name} takes ScatterDimensionNumbers, got {n!r}")
    _require(len(indices) > 0, f"{name} takes indices whose last axis holds the coordinates, got a scalar")
    rank = len(operand)
    _check_axes(name, "update_window_dims", n.update_window_dims, len(updates))
    _check_axes(name, "inserted_window_dims", n.inserted_window_dims, rank)
    _check_batching(
        name, n.operand_batching_dims, n.scatter_indices_batching_dims, n.inserted_window_dims, operand, indices
    )
    _check_coordinates(
        name, "scatter_dims_to_operand_dims", n.scatter_dims_to_operand_dims, n.operand_batching_dims, operand, indices
    )
    dropped = {*n.inserted_window_dims, *n.operand_batching_dims}
    limits = [size for axis, size in enumerate(operand) if axis not in dropped]
    window = [updates[axis] for axis in n.update_window_dims]
    batch_sizes = tuple(size for axis, size in enumerate(updates) if axis not in n.update_window_dims)
    _require(
        len(window) == len(limits) and all(size <= have for size, have in zip(window, limits, strict=True)),
        f"{name} takes updates whose window fits into the operand, got updates of shape {updates} with "
        f"update_window_dims {n.update_window_dims} for shape {operand} without axes {tuple(sorted(dropped))}",
    )
    _require(
        batch_sizes == indices[:-1],
        f"{name} takes an update for each index, got updates of shape {updates} with update_window_dims "
        f"{n.update_window_dims} and indices of shape {indices}",
    )


def _check_batching(name: str, axes: Shape, of_indices: Shape, dropped: Shape, operand: Shape, indices: Shape) -> None:
    """Raise TypeError unless the batching axes of operand and indices correspond.

    ``axes`` and ``of_indices`` are the batching axes, ``dropped`` are those of the operand that the operation drops;
    ``operand`` and ``indices`` are shapes.
    """
    _check_axes(name, "operand_batching_dims", axes, len(operand))
    _check_axes(name, "the batching dims of the indices", of_indices, len(indices) - 1, ordered=False)
    _require(not {*axes} & {*dropped}, f"{name}: axes {axes} are batching dims and cannot be dropped too ({dropped})")
    sizes, index_sizes = [operand[a] for a in axes], [indices[a] for a in of_indices]
    _require(
        sizes == index_sizes,
        f"{name} takes batching dims of equal sizes, got {axes} of shape {operand} and {of_indices} of indices of "
        f"shape {indices}",
    )


def _check_coordinates(name: str, field: str, axes: Shape, batching: Shape, operand: Shape, indices: Shape) -> None:
    _check_axes(name, field, axes, len(operand), ordered=False)
    _require(not {*axes} & {*batching}, f"{name}: {field} {axes} has axes that are batching dims, {batching}")
    _require(
        len(axes) == indices[-1],
        f"{name} takes indices with a coordinate for each axis in {field}, {axes}; their shape is {indices}",
    )


def _check_axes(name: str, field: str, axes: Sequence[int], rank: int, *, ordered: bool = True) -> None:
    inside = all(0 <= axis < rank for axis in axes) and len(set(axes)) == len(axes)
    rising = not ordered or list(axes) == sorted(axes)
    _require(inside and rising, f"{name} takes {field} of different {'rising ' * ordered}axes below {rank}, got {axes}")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise TypeError(message)
