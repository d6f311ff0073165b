"""Errors for products of arrays whose contracted axes have different sizes."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import see
from ..trace.source import compose_message


def unequal_sizes_error(name: str, shape_x: Sequence[int], shape_y: Sequence[int]) -> TypeError:
    """Return the error for a product of arrays whose contracted axes have different sizes.

    These are the last axis of ``shape_x`` and the last but one of ``shape_y`` (the only one of a vector). ``name`` is
    the name of the function.
    """
    contracted_axis = 0 if len(shape_y) == 1 else len(shape_y) - 2
    ordinal = "first" if contracted_axis == 0 else "last but one"
    problem = (
        f"{name} of shapes {tuple(shape_x)} and {tuple(shape_y)}: the last axis of the first has size {shape_x[-1]}, "
        f"the {ordinal} axis of the second {shape_y[contracted_axis]}; they have to be equal."
    )
    return TypeError(compose_message(problem, transpose_advice(name, shape_x, shape_y)) + see("shape-mismatch"))


def transpose_advice(name: str, shape_x: Sequence[int], shape_y: Sequence[int]) -> str:
    """Return a sentence that says which transpose makes two shapes compatible; empty if none does.

    ``name`` is the name of the function; for ``matmul`` the advice is written with ``@``.

    >>> transpose_advice("matmul", (32, 128), (784, 128)), transpose_advice("dot", (5, 2), (5, 3))
    ('Transpose the second one: a @ b.T', 'Transpose the first one: dot(a.T, b)')
    >>> transpose_advice("matmul", (2, 3), (4, 5))
    ''
    """
    contracted_size = shape_y[0 if len(shape_y) == 1 else -2]
    if len(shape_y) > 1 and shape_x[-1] == shape_y[-1]:
        ordinal, a, b = "second", "a", "b.T" if len(shape_y) == 2 else "b.mT"
    elif len(shape_x) > 1 and shape_x[-2] == contracted_size:
        ordinal, a, b = "first", "a.T" if len(shape_x) == 2 else "a.mT", "b"
    else:
        return ""
    return f"Transpose the {ordinal} one: {f'{a} @ {b}' if name == 'matmul' else f'{name}({a}, {b})'}"


__all__ = ["transpose_advice", "unequal_sizes_error"]
