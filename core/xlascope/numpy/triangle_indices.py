"""Indices of the diagonals and triangles of a given array."""

from __future__ import annotations

from typing import Any

from .index_construction import diag_indices, tril_indices, triu_indices
from .shaping import shape_of


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """Return the indices of the diagonal of ``arr``, one array for each axis.

    Raises ValueError for arrays of fewer than two axes, or with axes of different sizes.

    >>> import xlascope.numpy as jnp
    >>> print(*jnp.diag_indices_from(jnp.zeros((2, 2))))
    [0 1] [0 1]
    """
    shape = shape_of(arr)
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ValueError(f"diag_indices_from takes two or more axes of one size, got shape {shape}")
    return diag_indices(shape[0], len(shape))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """Return the indices on and below diagonal ``k`` of a matrix: rows and columns.

    Raises ValueError for arrays that do not have two axes.

    >>> import xlascope.numpy as jnp
    >>> print(*jnp.tril_indices_from(jnp.zeros((2, 2))))
    [0 1 1] [0 0 1]
    """
    rows, columns = _matrix_shape(arr, "tril_indices_from")
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """Return the indices on and above diagonal ``k`` of a matrix: rows and columns.

    Raises ValueError for arrays that do not have two axes.

    >>> import xlascope.numpy as jnp
    >>> print(*jnp.triu_indices_from(jnp.zeros((2, 2))))
    [0 0 1] [0 1 1]
    """
    rows, columns = _matrix_shape(arr, "triu_indices_from")
    return triu_indices(rows, k, columns)


def _matrix_shape(arr: Any, name: str) -> tuple[int, int]:
    shape = arr.shape if hasattr(arr, "shape") else shape_of(arr)  # also of objects that only have a shape
    if len(shape) != 2:
        raise ValueError(f"{name} takes a matrix, got shape {tuple(shape)}")
    return shape[0], shape[1]
