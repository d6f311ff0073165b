"""Linear algebra: norms, and the products of the array API under this name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..operations.exponentials import sqrt
from ..operations.shapes import reshape, squeeze
from . import logic, reductions, ufuncs
from .linear import matmul, outer, tensordot, trace, vecdot
from .promotion import inexact
from .repeating import diagonal
from .shaping import axes_of, matrix_transpose, shape_of
from .together import as_tuple, together


def norm(x: Any, ord: Any = None, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
    """The norm of a vector or matrix: by default the root of the sum of squares.

    ``ord`` for vectors: a number, inf, -inf, 0; for matrices: "fro", 1, -1, inf, -inf.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.norm(jnp.array([3.0, 4.0])))
    5.0
    """
    return _norm(x, ord=ord, axis=as_tuple(axis), keepdims=keepdims)


@together("ord", "axis", "keepdims")
def _norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    x = inexact(x)
    rank = len(shape_of(x))
    axes = tuple(range(rank)) if axis is None else axes_of(axis, rank)
    if ord is None or (len(axes) == 2 and ord == "fro"):
        squares = ufuncs.real(ufuncs.multiply(x, ufuncs.conjugate(x)))
        return sqrt(reductions.sum(squares, axes, keepdims=keepdims))
    if len(axes) == 1:
        return _vector(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix(x, ord, axes, keepdims)
    raise ValueError(f"norm with ord={ord!r} takes a vector or a matrix, got axes {axes} of shape {shape_of(x)}")


def _vector(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    size = ufuncs.abs(x)
    if ord == math.inf:
        return reductions.max(size, axes, keepdims=keepdims)
    if ord == -math.inf:
        return reductions.min(size, axes, keepdims=keepdims)
    if ord == 0:
        return reductions.sum(logic.not_equal(x, 0).astype(size.dtype), axes, keepdims=keepdims)
    if ord == 1:
        return reductions.sum(size, axes, keepdims=keepdims)
    if ord == 2:
        squares = ufuncs.real(ufuncs.multiply(x, ufuncs.conjugate(x)))
        return sqrt(reductions.sum(squares, axes, keepdims=keepdims))
    if isinstance(ord, str):
        raise ValueError(f"there is no vector norm {ord!r}")
    return ufuncs.power(reductions.sum(ufuncs.power(size, ord), axes, keepdims=keepdims), 1.0 / ord)


def _matrix(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord not in (1, -1, math.inf, -math.inf):
        raise NotImplementedError(f"the matrix norm {ord!r}, which needs singular values")
    rows, columns = axes
    summed, kept = (rows, columns) if ord in (1, -1) else (columns, rows)
    totals = reductions.sum(ufuncs.abs(x), summed, keepdims=True)
    extreme = reductions.max if ord > 0 else reductions.min
    found = extreme(totals, kept, keepdims=True)
    return found if keepdims else squeeze(found, axes)


def vector_norm(x: Any, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of the vectors along ``axis`` (None: of all elements as one vector)."""
    if axis is None:
        flat = reshape(x, (math.prod(shape_of(x)),))
        found = norm(flat, ord, 0)
        return reshape(found, (1,) * len(shape_of(x))) if keepdims else found
    return norm(x, ord, axis, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of the matrices in the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


@together("n")
def matrix_power(a: Any, n: int) -> Any:
    """A square matrix multiplied with itself: n factors, n not negative."""
    if n < 0:
        raise NotImplementedError("matrix_power with a negative exponent, which needs the inverse")
    from_squares, square = None, a
    while n:
        if n & 1:
            from_squares = square if from_squares is None else matmul(from_squares, square)
        n >>= 1
        if n:
            square = matmul(square, square)
    if from_squares is None:
        raise NotImplementedError("matrix_power with exponent 0; use eye")
    return from_squares


__all__ = [
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "norm",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
