"""Assembly of arrays from blocks, and functions applied over several axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..operations.shapes import expand_dims
from ..trace.operand_coercion import pass_through, to_array
from .axes import axis_of, is_several
from .jit_wrapped import jit_wrapped
from .joining import concatenate
from .shaping import shape_of


def block(arrays: Any) -> Any:
    """Return an array assembled from nested lists of blocks.

    The innermost lists are concatenated along the last axis, the lists around them along the axis before it. All
    lists are nested equally deep, and none is empty (ValueError); arrays of lower rank get leading axes. Only
    lists nest: a tuple raises TypeError.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.block([[jnp.eye(2), jnp.zeros((2, 1))], [jnp.ones((1, 3))]]))
    [[1. 0. 0.]
     [0. 1. 0.]
     [1. 1. 1.]]
    """
    if _nesting_depth(arrays) == 0:
        return pass_through(to_array(arrays))
    return _block(arrays)


def _nesting_depth(arrays: Any) -> int:
    if isinstance(arrays, tuple):
        raise TypeError("block takes lists of arrays, not tuples: write [...]")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("block takes lists that hold arrays, got an empty one")
    depths = {_nesting_depth(part) for part in arrays}
    if len(depths) > 1:
        raise ValueError(f"block takes lists that are nested equally deep, got depths {sorted(depths)}")
    return depths.pop() + 1


@jit_wrapped()
def _block(arrays: Any) -> Any:
    return _assemble(arrays, _nesting_depth(arrays))


def _assemble(arrays: Any, depth: int) -> Any:
    """Concatenate the blocks in lists nested ``depth`` deep; the innermost lists use the last axis."""
    rank = max(depth, _max_rank(arrays))
    return _concatenate_level(arrays, depth, rank)


def _max_rank(arrays: Any) -> int:
    return max(map(_max_rank, arrays)) if isinstance(arrays, list) else len(shape_of(arrays))


def _concatenate_level(arrays: Any, depth: int, rank: int) -> Any:
    if not isinstance(arrays, list):
        return expand_dims(arrays, tuple(range(rank - len(shape_of(arrays)))))
    return concatenate([_concatenate_level(part, depth - 1, rank) for part in arrays], rank - depth)


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Sequence[int]) -> Any:
    """Apply ``func(x, axis)`` for each axis in turn, each time to the previous result.

    A result has as many axes as its input, or one fewer: then the axis is restored with size 1. Other ranks raise
    ValueError.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3, 4)), (0, 2)).shape)
    (1, 3, 1)
    """
    result, rank = pass_through(a), len(shape_of(a))
    for axis_argument in axes if is_several(axes) else (axes,):
        axis = axis_of(axis_argument, rank)
        if not callable(func):
            raise TypeError(f"apply_over_axes takes a function of an array and an axis, got {func!r}")
        output = func(result, axis)
        if len(shape_of(output)) == rank - 1:
            output = expand_dims(output, (axis,))
        if len(shape_of(output)) != rank:
            raise ValueError(
                f"apply_over_axes takes a function whose result has {rank} axes or one less, got one of shape "
                f"{shape_of(output)} for axis {axis}"
            )
        result = output
    return result
