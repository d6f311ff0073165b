"""Validation of integer arguments: axes, sizes, counts."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from ..errors import TracerError
from ..trace.source import here


def whole_number(x: Any, name: str) -> int:
    """Return an argument as an int; raise TypeError, with the argument's ``name``, for anything but an integer."""
    try:
        number = operator.index(x)
        return number if number.__class__ is int else int(number)  # the index of True is True
    except TracerError:
        raise
    except TypeError:
        raise TypeError(f"{name} is an integer, got {x!r} of type {type(x).__name__}{here()}") from None


def is_several(x: Any) -> bool:
    """Return whether an argument is a sequence or an array with axes, rather than a single number."""
    return isinstance(x, Iterable) and not isinstance(x, (str, bytes)) and getattr(x, "ndim", 1) > 0


def whole_numbers(xs: Any, name: str) -> tuple[int, ...]:
    """Return arguments as ints; raise TypeError, with the argument's ``name``, for anything but integers.

    >>> whole_numbers([1, 2], "axes of rev")
    (1, 2)
    """
    try:
        return tuple(map(operator.index, xs))
    except TypeError:  # find the invalid one for the message
        if not is_several(xs):
            raise TypeError(
                f"{name} are a sequence of integers, got {xs!r} of type {type(xs).__name__}{here()}"
            ) from None
        return tuple(whole_number(x, f"each of the {name}") for x in xs)


def axis_of(axis: Any, rank: int, name: str = "axis") -> int:
    """Return an axis as a number below ``rank``; negative axes count from the end.

    ``name`` is the argument's name for messages. Raises TypeError for anything but an integer, ValueError if there is
    no such axis.
    """
    number = whole_number(axis, name)
    if not -rank <= number < rank:
        raise ValueError(f"{name} {axis} is out of bounds for an array with {rank} axes")
    return number % rank
