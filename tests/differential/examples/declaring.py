"""Calls of functions whose arguments have to fit together: one function a drawing, found by the function's name."""

from __future__ import annotations

from collections.abc import Callable

from .. import arrays
from ..draws import Draw
from ..language import Described

#: Positional arguments, arguments by keyword, and how the call is carried out (``None``: as others are).
Example = tuple[list[Described], dict[str, Described], str | None]
EXAMPLES: dict[str, Callable[[Draw], Example]] = {}


def example_of(*names: str) -> Callable[[Callable[[Draw], Example]], Callable[[Draw], Example]]:
    """Declare what draws the calls of these functions."""

    def declare(drawing: Callable[[Draw], Example]) -> Callable[[Draw], Example]:
        EXAMPLES.update(dict.fromkeys(names, drawing))
        return drawing

    return declare


def of(*args: Described, how: str | None = None, **kwargs: Described) -> Example:
    return list(args), kwargs, how


def fn(name: str) -> Described:
    return {"function": name}


def number_dtype(draw: Draw) -> str:
    return draw.dtype if draw.dtype in arrays.DTYPES and draw.dtype != "bool" else "float32"


def an_array(draw: Draw, *shape: int, dtype: str | None = None) -> Described:
    return draw.array_of(dtype or draw.other_dtype(), shape)
