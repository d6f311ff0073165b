"""Arguments that name axes and sizes: what users may write, and what functions calculate with."""

from __future__ import annotations

from typing import Any

from ..operations.whole_numbers import axis_of as axis_of
from ..operations.whole_numbers import is_several as is_several
from ..operations.whole_numbers import whole_number as whole_number


def axes_of(axes: Any, rank: int, name: str = "axis") -> tuple[int, ...]:
    """Axis numbers from one or several, none of them twice."""
    given = tuple(axes) if is_several(axes) else (axes,)
    found = tuple(axis_of(axis, rank, name) for axis in given)
    if len(set(found)) != len(found):
        raise ValueError(f"{name} {given} names an axis twice")
    return found


def sizes_of(shape: Any) -> tuple[int, ...]:
    """The sizes of a shape, which is given as one number or several; raises TypeError for what is no integer."""
    return tuple(whole_number(size, "a size of a shape") for size in (shape if is_several(shape) else (shape,)))


def as_tuple(axis: Any) -> int | tuple[int, ...] | None:
    """An ``axis`` argument as a value that can be static: None, a number, or a tuple of numbers."""
    if axis is None or axis.__class__ is int:
        return axis
    if is_several(axis):
        return tuple(whole_number(one, "axis") for one in axis)
    return whole_number(axis, "axis")


def no_out(user: str) -> NotImplementedError:
    """The error for an array to write into."""
    return NotImplementedError(f"{user} has no out: arrays do not change, so take the result that is returned")
