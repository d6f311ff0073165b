"""Three marks that rules meet instead of a value: nothing moves, the linear input, not mapped."""

from __future__ import annotations

from typing import Final

from ..recent import RecentlyUsed
from .avals import ShapedArray


class Zero:
    """The tangent or cotangent of something that does not move."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ZERO"


class NotMapped:
    """The mapped axis of an operand that has none."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_MAPPED"


class LinearInput:
    """Stands, in a transpose rule, for an operand whose cotangent is asked for."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"LinearInput({self.aval.str_short()})"


_marks: RecentlyUsed[ShapedArray, LinearInput] = RecentlyUsed(2048)


def linear_input(aval: ShapedArray) -> LinearInput:
    """The mark for an operand of that type."""
    found = _marks.get(aval)
    if found is None:
        found = _marks[aval] = LinearInput(aval)
    return found


ZERO: Final = Zero()
NOT_MAPPED: Final = NotMapped()
