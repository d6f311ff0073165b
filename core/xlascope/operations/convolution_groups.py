"""Splitting and merging of the grouped axes of a convolution."""

from __future__ import annotations

from typing import Any

from .operand_values import aval
from .shapes import moveaxis, reshape


def move_groups(x: Any, source: int, target: int, groups: int) -> Any:
    """Move the leading factor ``groups`` of the size of axis ``source`` to the front of axis ``target``.

    With g groups, sizes g·s and t become s and g·t.
    """
    if groups == 1:
        return x
    shape = list(aval(x).shape)
    split = [*shape[:source], groups, shape[source] // groups, *shape[source + 1 :]]
    transposed = moveaxis(reshape(x, split), source, target)
    shape[source] //= groups
    shape[target] *= groups
    return reshape(transposed, shape)


def merge_batch_axis(x: Any, axis: int, target: int, groups: int) -> Any:
    """Merge the batch axis ``axis`` of ``x`` into axis ``target`` of the other axes.

    ``target`` is divided into ``groups`` equal groups. In the result its elements are ordered by group, then by
    example, then by position in the group.
    """
    x = moveaxis(x, axis, 0)
    size, *shape = aval(x).shape
    if groups > 1:
        x = reshape(x, (size, *shape[:target], groups, shape[target] // groups, *shape[target + 1 :]))
    x = moveaxis(x, 0, target + (groups > 1))
    shape[target] *= size
    return reshape(x, shape)


def split_batch_axis(x: Any, axis: int, size: int, groups: int) -> Any:
    """Undo :func:`merge_batch_axis` for a batch of ``size`` examples; the batch axis is put in front.

    ``axis`` is the axis to split, and ``groups`` the number of groups along it.
    """
    shape = list(aval(x).shape)
    part_size = shape[axis] // size
    split = [*shape[:axis], groups, size, part_size // groups, *shape[axis + 1 :]]
    x = moveaxis(reshape(x, split), axis + 1, 0)
    return reshape(x, (size, *shape[:axis], part_size, *shape[axis + 1 :]))
