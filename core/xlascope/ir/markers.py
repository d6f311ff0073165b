"""Markers that rules get instead of a value: zero tangent, linear input, not mapped."""

from __future__ import annotations

from typing import Final

from ..lru_cache import LRUCache
from .avals import ShapedArray


class ZeroMarker:
    """Class of ``ZERO``, the symbolic zero tangent or cotangent."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ZERO"


class NotMapped:
    """Class of ``NOT_MAPPED``, which stands for the batch axis of an operand that all examples share."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_MAPPED"


class LinearInput:
    """Marker, in a transpose rule, for a linear operand of type ``aval``, whose cotangent is requested."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"LinearInput({self.aval.str_short()})"


_linear_inputs: LRUCache[ShapedArray, LinearInput] = LRUCache(2048)


def make_linear_input(aval: ShapedArray) -> LinearInput:
    """Return the marker for a linear operand of that type; markers are cached by type."""
    mark = _linear_inputs.get(aval)
    if mark is None:
        mark = _linear_inputs[aval] = LinearInput(aval)
    return mark


ZERO: Final = ZeroMarker()
NOT_MAPPED: Final = NotMapped()
