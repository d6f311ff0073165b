"""Splitting and merging of the grouped axes of a convolution."""

from __future__ import annotations

from typing import Any

from .shapes import moveaxis, reshape
from .values import aval


def regrouped(x: Any, source: int, target: int, groups: int) -> Any:
    """Move the leading factor ``groups`` of one axis's size to the front of another axis."""
    if groups == 1:
        return x
    shape = list(aval(x).shape)
    split = [*shape[:source], groups, shape[source] // groups, *shape[source + 1 :]]
    moved = moveaxis(reshape(x, split), source, target)
    shape[source] //= groups
    shape[target] *= groups
    return reshape(moved, shape)


def merged(x: Any, axis: int, target: int, groups: int) -> Any:
    """Merge a mapped axis into axis ``target`` (counted without it), within its groups and outside their parts."""
    x = moveaxis(x, axis, 0)
    size, *shape = aval(x).shape
    if groups > 1:
        x = reshape(x, (size, *shape[:target], groups, shape[target] // groups, *shape[target + 1 :]))
    x = moveaxis(x, 0, target + (groups > 1))
    shape[target] *= size
    return reshape(x, shape)


def parted(x: Any, axis: int, size: int, groups: int) -> Any:
    """Invert :func:`merge_batch_axis`, with the mapped axis in front."""
    shape = list(aval(x).shape)
    part_size = shape[axis] // size
    split = [*shape[:axis], groups, size, part_size // groups, *shape[axis + 1 :]]
    x = moveaxis(reshape(x, split), axis + 1, 0)
    return reshape(x, (size, *shape[:axis], part_size, *shape[axis + 1 :]))
