"""What stands in brackets behind an array: numbers, slices, arrays, masks, alone and several."""

from __future__ import annotations

from typing import Any

from .draws import Draw
from .language import Described, array, tuple_of


def cut(start: Any, stop: Any, step: Any = None) -> Described:
    return {"slice": [start, stop, step]}


def _index_vector(*entries: int, dtype: str = "int32", holder: str = "device") -> Described:
    return array(dtype, (len(entries),), entries, holder)


_SIMPLE_INDICES: tuple[Described, ...] = (
    *(0, -1, 1, None, {"ellipsis": None}, array("int32", (), [1])),
    *(cut(None, None), cut(1, None), cut(None, None, -1), cut(None, 2, 2), cut(-5, 7, 1), cut(2, 0, -1)),
)
_ADVANCED_INDICES: tuple[Described, ...] = (
    *(_index_vector(0, 1), _index_vector(-1, 0, holder="numpy"), _index_vector(), _index_vector(5, -7)),
    *(_index_vector(1, dtype="uint8"), array("int32", (2, 2), [0, 1, 1, 0]), array("int32", (), [1], "scalar")),
    *(True, {"tuple": []}),
)


def _mask_of_rows(draw: Draw) -> Described:
    rows = draw.shape[0] if draw.rank else 0
    return array("bool", (rows,), [draw.chance(0.5) for _ in range(rows)], "numpy")


def index(draw: Draw) -> Described:
    """What stands in brackets behind an array."""
    advanced = (*_ADVANCED_INDICES, _mask_of_rows(draw))
    one = draw.pick(_SIMPLE_INDICES if draw.chance(0.6) else advanced)
    if draw.chance(0.5):
        return one
    more = [draw.pick(_SIMPLE_INDICES if draw.chance(0.7) else advanced) for _ in range(draw.whole(1, 2))]
    return tuple_of([one, *more])
