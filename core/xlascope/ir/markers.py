"""Markers that rules get instead of a value: zero tangent, linear input, not mapped."""

from __future__ import annotations

from typing import Final

from ..recent import RecentlyUsed
from .avals import ShapedArray


class Zero:
    """Symbolic zero tangent or cotangent."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ZERO"


class NotMapped:
    """Mapped axis of an operand that is not mapped."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_MAPPED"


class LinearInput:
    """Marker, in a transpose rule, for an operand whose cotangent is requested."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"LinearInput({self.aval.str_short()})"


_marks: RecentlyUsed[ShapedArray, LinearInput] = RecentlyUsed(2048)


def linear_input(aval: ShapedArray) -> LinearInput:
    """Return the marker for a linear operand of that type."""
    mark = _marks.get(aval)
    if mark is None:
        mark = _marks[aval] = LinearInput(aval)
    return mark


ZERO: Final = Zero()
NOT_MAPPED: Final = NotMapped()
