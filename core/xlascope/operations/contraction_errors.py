"""Errors for products of arrays whose sizes differ along the axes that are summed over."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import see
from ..trace.source import compose_message


def unequal_sizes(what: str, shape_x: Sequence[int], shape_y: Sequence[int]) -> TypeError:
    """Return the error for a product of the last axis of one array with the last axis but one of another.

    A vector on the right has one axis. ``what`` is the function.
    """
    inner = 0 if len(shape_y) == 1 else len(shape_y) - 2
    which = "first" if inner == 0 else "last but one"
    said = (
        f"{what} of shapes {tuple(shape_x)} and {tuple(shape_y)}: the last axis of the first has size {shape_x[-1]}, "
        f"the {which} axis of the second {shape_y[inner]}; they have to be equal."
    )
    return TypeError(compose_message(said, transpose_advice(what, shape_x, shape_y)) + see("shape-mismatch"))


def transpose_advice(what: str, shape_x: Sequence[int], shape_y: Sequence[int]) -> str:
    """Return which transpose makes two arrays fit; nothing where none does.

    >>> transpose_advice("matmul", (32, 128), (784, 128)), transpose_advice("dot", (5, 2), (5, 3))
    ('Transpose the second one: a @ b.T', 'Transpose the first one: dot(a.T, b)')
    >>> transpose_advice("matmul", (2, 3), (4, 5))
    ''
    """
    inner = shape_y[0 if len(shape_y) == 1 else -2]
    if len(shape_y) > 1 and shape_x[-1] == shape_y[-1]:
        which, a, b = "second", "a", "b.T" if len(shape_y) == 2 else "b.mT"
    elif len(shape_x) > 1 and shape_x[-2] == inner:
        which, a, b = "first", "a.T" if len(shape_x) == 2 else "a.mT", "b"
    else:
        return ""
    return f"Transpose the {which} one: {f'{a} @ {b}' if what == 'matmul' else f'{what}({a}, {b})'}"


__all__ = ["transpose_advice", "unequal_sizes"]
