"""Validation and normalization of arguments that name axes and sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import dtype_kind
from ..errors import TracerError
from ..operations.integer_arguments import axis_of as axis_of
from ..operations.integer_arguments import is_several as is_several
from ..operations.integer_arguments import whole_number as whole_number
from ..trace.values import aval_of
from ..xla.devices.backend import ArrayImpl

#: Classes of numbers that are not arrays.
PLAIN_NUMBERS = (int, float, np.generic)


def axes_of(axes: Any, rank: int, name: str = "axis") -> tuple[int, ...]:
    """Return one axis or several as a tuple of nonnegative axis numbers.

    ``rank`` is the number of axes of the array, ``name`` the name of the argument in messages. Raises ValueError
    if an axis occurs twice.
    """
    requested = tuple(axes) if is_several(axes) else (axes,)
    numbers = tuple(axis_of(axis, rank, name) for axis in requested)
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"{name} {requested} names an axis twice")
    return numbers


def sizes_of(shape: Any) -> tuple[int, ...]:
    """Return the sizes of a shape given as one integer or several; raise TypeError for non-integers."""
    return tuple(whole_number(size, "a size of a shape") for size in (shape if is_several(shape) else (shape,)))


def to_static_axis(axis: Any, name: str = "axis") -> int | tuple[int, ...] | None:
    """Return an ``axis`` argument as a hashable static value: None, an int, or a tuple of ints.

    ``name`` is the name of the argument in messages.
    """
    if axis is None or axis.__class__ is int:
        return axis
    if is_several(axis):
        return tuple(whole_number(entry, name) for entry in axis)
    return whole_number(axis, name)


def reject_out(caller: str) -> NotImplementedError:
    """Return the error for an ``out`` argument of the function named ``caller``: arrays are immutable."""
    return NotImplementedError(f"{caller} has no out: arrays do not change, so take the result that is returned")


def as_plain_number(x: Any, name: str) -> Any:
    """Return the Python number of a NumPy number or an array without axes, whatever else unchanged.

    Static arguments have to be hashable, which arrays are not; ``name`` is the argument's name.
    """
    return x.item() if isinstance(x, (np.generic, np.ndarray, ArrayImpl)) and not x.ndim else x


def number_or_traced(x: Any, name: str) -> Any:
    """Return an argument as an int, or as it is if it is a traced integer; ``name`` is its name in messages."""
    try:
        return whole_number(x, name)
    except TracerError:
        aval = aval_of(x)
        if aval.shape or dtype_kind(aval.dtype) not in "iu":
            raise
        return x
