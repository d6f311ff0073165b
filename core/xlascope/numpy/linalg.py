"""Linear algebra: norms, and the products of the array API under this name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

from ..dtypes import canonical, kind_of
from ..names import explain_missing as _explain_missing
from ..operations.exponentials import sqrt
from ..operations.shapes import squeeze
from ..trace.values import aval_of
from . import linear, logic, reductions, repeating, ufuncs
from .axes import as_tuple, axes_of, whole_number
from .linear import matmul, tensordot, vecdot
from .matrices import eye
from .promotion import as_dtype, inexact
from .shaping import broadcast_to, matrix_transpose, shape_of
from .together import together


def outer(x1: Any, x2: Any, /) -> Any:
    """The products of every element of one vector with every element of another; raises ValueError for other ranks."""
    ranks = len(shape_of(x1)), len(shape_of(x2))
    if ranks != (1, 1):
        raise ValueError(
            f"linalg.outer takes vectors, got shapes {shape_of(x1)} and {shape_of(x2)}; numpy.outer flattens what it "
            "is given"
        )
    return linear.outer(x1, x2)


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
        return reductions.max(size, axes, keepdims=keepdims, initial=_least(size))
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
        raise ValueError(f"there is no vector norm {ord!r}; ord is a number, inf, -inf or None")
    if not isinstance(ord, Real):
        raise TypeError(f"norm of vectors takes ord as a real number, inf, -inf or None, got {ord!r}")
    return ufuncs.power(reductions.sum(ufuncs.power(size, ord), axes, keepdims=keepdims), 1.0 / ord)


def _matrix(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord in (2, -2, "nuc"):
        raise NotImplementedError(f"the matrix norm {ord!r}, which needs singular values")
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(f"there is no matrix norm {ord!r}; there are 'fro', 1, -1, inf and -inf")
    rows, columns = axes
    summed, kept = (rows, columns) if ord in (1, -1) else (columns, rows)
    totals = reductions.sum(ufuncs.abs(x), summed, keepdims=True)
    if ord > 0:
        found = reductions.max(totals, kept, keepdims=True, initial=_least(totals))
    else:
        found = reductions.min(totals, kept, keepdims=True)
    return found if keepdims else squeeze(found, axes)


def _least(sizes: Any) -> int | None:
    """The greatest of no sizes, where there may be none."""
    return 0 if 0 in shape_of(sizes) else None


def vector_norm(x: Any, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of the vectors along ``axis`` (None: of all elements as one vector)."""
    return _vector_norm(x, ord=ord, axis=as_tuple(axis), keepdims=keepdims)


@together("ord", "axis", "keepdims")
def _vector_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    rank = len(shape_of(x))
    axes = axes_of(range(rank) if axis is None else axis, rank)
    if kind_of(aval_of(x).dtype) in "biu" and ord not in (math.inf, -math.inf, 1):
        x = as_dtype(x, canonical(float))  # in which integers are summed, too; their own squares would wrap
    return _vector(x, 2 if ord is None else ord, axes, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of the matrices in the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of the matrices in the last two axes."""
    return repeating.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of the matrices in the last two axes."""
    return linear.trace(x, offset, -2, -1, dtype)


@together("n")
def matrix_power(a: Any, n: int) -> Any:
    """A square matrix multiplied with itself: n factors, n not negative."""
    n, shape = whole_number(n, "n"), shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"matrix_power takes square matrices, got shape {shape}")
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
        size = shape_of(a)[-1]
        return broadcast_to(eye(size, dtype=aval_of(a).dtype), shape_of(a))
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

_explain_missing(__name__)
