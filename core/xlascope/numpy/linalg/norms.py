"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from ...dtypes import dtype_kind, is_floating
from ...operations.exponentials import sqrt
from ...operations.shapes import squeeze
from ...trace.values import aval_of
from .. import logic, reductions, shaping, ufuncs
from ..axes import axes_of, to_static_axis
from ..jit_wrapped import jit_wrapped
from ..promotion import as_dtype, promote_inexact, to_default_float
from ..shaping import shape_of
from .decompositions import svd

_FLOAT32 = np.dtype("float32")


@jit_wrapped("ord", "axis", "keepdims")
def norm(x: Any, ord: Any = None, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Any:
    """Return the norm of a vector or matrix: by default the root of the sum of squares.

    ``ord`` for vectors: a number, inf, -inf, 0; for matrices: "fro", 1, -1, inf, -inf, and of the singular values
    "nuc" (their sum), 2 (the largest), -2 (the smallest).

    >>> import xlascope.numpy as jnp
    >>> print(jnp.linalg.norm(jnp.array([3.0, 4.0])))
    5.0
    """
    return _norm(x, ord=ord, axis=to_static_axis(axis), keepdims=keepdims)


def _norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    x = promote_inexact(x)
    if _is_16_bit(x):
        return as_dtype(_norm(as_dtype(x, _FLOAT32), ord=ord, axis=axis, keepdims=keepdims), aval_of(x).dtype)
    rank = len(shape_of(x))
    axes = tuple(range(rank)) if axis is None else axes_of(axis, rank)
    if ord is None or (len(axes) == 2 and ord == "fro"):
        squares = ufuncs.real(ufuncs.multiply(x, ufuncs.conjugate(x)))
        return sqrt(reductions.sum(squares, axes, keepdims=keepdims))
    if len(axes) == 1:
        return _vector_norm_over(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm_over(x, ord, axes, keepdims)
    raise ValueError(f"norm with ord={ord!r} takes a vector or a matrix, got axes {axes} of shape {shape_of(x)}")


def _is_16_bit(x: Any) -> bool:
    """Return whether norms are computed in float32: squares of float16 overflow from 256 on."""
    return is_floating(aval_of(x).dtype) and aval_of(x).dtype.itemsize == 2


def _vector_norm_over(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Return the norms of the vectors along ``axes`` together; ``ord`` is that of :func:`norm`."""
    size = ufuncs.abs(x)
    if ord == math.inf:
        return reductions.max(size, axes, keepdims=keepdims, initial=0)
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


def _matrix_norm_over(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Return the norms of the matrices whose rows and columns are the two ``axes``; ``ord`` is not "fro"."""
    if ord in (2, -2, "nuc"):
        return _singular_value_norm(x, ord, axes, keepdims)
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(f"there is no matrix norm {ord!r}; there are 'fro', 'nuc', 1, -1, 2, -2, inf and -inf")
    rows, columns = axes
    summed_axis, remaining_axis = (rows, columns) if ord in (1, -1) else (columns, rows)
    totals = reductions.sum(ufuncs.abs(x), summed_axis, keepdims=True)
    if ord > 0:
        result = reductions.max(totals, remaining_axis, keepdims=True, initial=0)
    else:
        result = reductions.min(totals, remaining_axis, keepdims=True)
    return result if keepdims else squeeze(result, axes)


def _singular_value_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    values = svd(shaping.moveaxis(x, axes, (-2, -1)), compute_uv=False)
    if ord == "nuc":
        result = reductions.sum(values, -1)
    elif ord == 2:
        result = reductions.max(values, -1, initial=0)
    else:
        result = reductions.min(values, -1)
    return shaping.expand_dims(result, axes) if keepdims else result


def vector_norm(x: Any, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Return the norm of the vectors along ``axis`` (None: of all elements as one vector)."""
    return _vector_norm(x, ord=ord, axis=to_static_axis(axis), keepdims=keepdims)


@jit_wrapped("ord", "axis", "keepdims")
def _vector_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if _is_16_bit(x):
        return as_dtype(_vector_norm(as_dtype(x, _FLOAT32), ord=ord, axis=axis, keepdims=keepdims), aval_of(x).dtype)
    rank = len(shape_of(x))
    axes = axes_of(range(rank) if axis is None else axis, rank)
    if dtype_kind(aval_of(x).dtype) in "biu" and ord not in (math.inf, -math.inf, 1):
        x = to_default_float(x)  # squares of integers would overflow
    return _vector_norm_over(x, 2 if ord is None else ord, axes, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Return the norm of the matrices in the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)
