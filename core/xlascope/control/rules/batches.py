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
from ...transforms.batch_trace import with_axis
from ..programs.marks import chosen, in_places


def batched_in_front(
    function: Callable[..., Sequence[Any]], operands: Sequence[Any], axes: Sequence[Any], size: int, axis: Any
) -> list[Any]:
    """Return a flat function's results for all examples with a leading mapped axis; ZERO for results ZERO and None."""
    nonzero: list[bool] = []

    def values_only(*xs: Any) -> list[Any]:
        results = function(*xs)
        nonzero[:] = [y is not ZERO and y is not None for y in results]
        return chosen(results, nonzero)

    results, out_axes = batch(values_only, operands, axes, axis)
    return in_places([in_front(y, a, size) for y, a in zip(results, out_axes, strict=True)], nonzero)


def in_front(x: Any, axis: Any, size: int) -> Any:
    """Return a value with its mapped axis in front; arrays of float0, which no operation takes, are created anew."""
    aval = aval_of(x)
    if aval.dtype == float0:
        return np.zeros(with_axis(aval, 0, size).shape if axis is NOT_MAPPED else aval.shape, float0)
    return mapped_in_front(x, axis, size)
