"""Batching of a user's derivative rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dtypes import float0
from ...ir.markers import NOT_MAPPED, ZERO
from ...operations.shapes import mapped_in_front
from ...trace.values import aval_of
from ...transforms.batch import batch
from ...transforms.batch_trace import insert_axis
from ..programs.masks import scatter_by_mask, select_by_mask


def batch_with_leading_axis(
    function: Callable[..., Sequence[Any]], operands: Sequence[Any], axes: Sequence[Any], size: int, axis: Any
) -> list[Any]:
    """Apply a flat function to all examples at once; return its results with the batch axis in front.

    ``axes`` are the batch axes of the operands, ``size`` is the batch size, ``axis`` the name and size of the mapped
    axis or None (see :func:`~xlascope.transforms.batch.batch`). A result that is ZERO or None is returned as ZERO.
    """
    nonzero: list[bool] = []

    def values_only(*xs: Any) -> list[Any]:
        results = function(*xs)
        nonzero[:] = [y is not ZERO and y is not None for y in results]
        return select_by_mask(results, nonzero)

    results, out_axes = batch(values_only, operands, axes, axis)
    return scatter_by_mask(
        [move_mapped_axis_to_front(y, a, size) for y, a in zip(results, out_axes, strict=True)], nonzero
    )


def move_mapped_axis_to_front(x: Any, axis: Any, size: int) -> Any:
    """Return a value with its batch axis, ``axis``, in front; a value without one is broadcast to ``size`` examples.

    Arrays of float0, which no operation takes, are created anew.
    """
    aval = aval_of(x)
    if aval.dtype == float0:
        return np.zeros(insert_axis(aval, 0, size).shape if axis is NOT_MAPPED else aval.shape, float0)
    return mapped_in_front(x, axis, size)
