"""Products of vectors and matrices as in the array API, and diagonals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...trace.source import compose_message, here
from .. import linear, repeating
from ..axes import axis_of, whole_number
from ..jit_wrapped import jit_wrapped
from ..linear import vecdot as vecdot
from ..matrices import identity_like
from ..shaping import broadcast_to, require_arrays, shape_of
from ..shaping import matrix_transpose as matrix_transpose
from .solving import inv


def outer(x1: Any, x2: Any, /) -> Any:
    """Return the outer product of two vectors; raise ValueError for other ranks."""
    ranks = len(shape_of(x1)), len(shape_of(x2))
    if ranks != (1, 1):
        raise ValueError(
            f"linalg.outer takes vectors, got shapes {shape_of(x1)} and {shape_of(x2)}; numpy.outer flattens what it "
            "is given"
        )
    return linear.outer(x1, x2)


def matmul(x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the product of matrices and vectors; see :func:`xlascope.numpy.matmul`."""
    return linear.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """Return the product over pairs of axes; see :func:`xlascope.numpy.tensordot`."""
    return linear.tensordot(x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """Return the diagonals of the matrices in the last two axes."""
    return repeating.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Return the sums of the diagonals of the matrices in the last two axes."""
    return linear.trace(x, offset, -2, -1, dtype)


@jit_wrapped("n")
def matrix_power(a: Any, n: int) -> Any:
    """Return the ``n``-th power of a square matrix; for a negative ``n``, the power of its inverse."""
    n, shape = whole_number(n, "n"), shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"matrix_power takes square matrices, got shape {shape}")
    if n < 0:
        a, n = inv(a), -n
    from_squares, square = None, a
    while n:
        if n & 1:
            from_squares = square if from_squares is None else matmul(from_squares, square)
        n >>= 1
        if n:
            square = matmul(square, square)
    if from_squares is None:
        return broadcast_to(identity_like(a), shape_of(a))
    return from_squares


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return the cross product of vectors of three elements along an axis, the other axes broadcast.

    Raises ValueError for vectors of another length; ``numpy.cross`` also takes vectors of two elements.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0])))
    [0 0 1]
    """
    for x in (x1, x2):
        shape = shape_of(x)
        if shape[axis_of(axis, len(shape))] != 3:
            raise ValueError(f"linalg.cross takes vectors of three elements along axis {axis}, got shape {shape}")
    return linear.cross(x1, x2, axis=axis)


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Any:
    """Return the product of several matrices, in the order that takes the fewest multiplications.

    The first and the last may be vectors. Raises ValueError for fewer than two arrays, and for shapes that do not
    fit.

    >>> import xlascope.numpy as jnp
    >>> jnp.linalg.multi_dot([jnp.ones((2, 9)), jnp.ones((9, 3)), jnp.ones(3)]).shape
    (2,)
    """
    return _multi_dot(tuple(require_arrays(arrays, "linalg.multi_dot")), precision=precision)


@jit_wrapped("precision")
def _multi_dot(arrays: tuple[Any, ...], precision: Any) -> Any:
    shapes = [shape_of(x) for x in arrays]
    if len(arrays) < 2:
        raise ValueError(f"linalg.multi_dot takes at least two arrays, got {len(arrays)}")
    if any(len(s) != 2 for s in shapes[1:-1]) or any(len(s) not in (1, 2) for s in (shapes[0], shapes[-1])):
        raise ValueError(f"linalg.multi_dot takes matrices, or vectors at its ends, got shapes {shapes}{here()}")
    sizes = [1 if len(shapes[0]) == 1 else shapes[0][0], *(s[0] for s in shapes[1:])]
    sizes.append(1 if len(shapes[-1]) == 1 else shapes[-1][1])
    if any(left[-1] != right[0] for left, right in itertools.pairwise(shapes)):
        problem = f"linalg.multi_dot: inner sizes do not fit in shapes {shapes}."
        raise ValueError(compose_message(problem, "The last axis of each has to be as long as the first of the next."))
    splits = _best_splits(sizes)

    def multiply_range(first: int, last: int) -> Any:
        if first == last:
            return arrays[first]
        split = splits[first, last]
        return linear.dot(multiply_range(first, split), multiply_range(split + 1, last), precision=precision)

    return multiply_range(0, len(arrays) - 1)


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return for each range (first, last) of a product of matrices the end of its left factor, in the cheapest order.

    Matrix i has the shape (sizes[i], sizes[i + 1]). The order is found by dynamic programming over the number of
    multiplications.
    """
    count = len(sizes) - 1
    costs = np.zeros((count, count))
    splits = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            options = [
                costs[first, split] + costs[split + 1, last] + sizes[first] * sizes[split + 1] * sizes[last + 1]
                for split in range(first, last)
            ]
            best = int(np.argmin(options))
            costs[first, last], splits[first, last] = options[best], first + best
    return splits
