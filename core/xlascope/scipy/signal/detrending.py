"""Removal of trends from signals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...numpy.axes import axis_of, sizes_of
from ...numpy.jit_wrapped import jit_wrapped
from ...trace.source import here
from ...trace.values import exact_array
from ..arguments import promote_dtypes_inexact, require_one_of


def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: int | Sequence[int] = 0, overwrite_data: None = None
) -> Any:
    """Return a signal without its mean ("constant") or its least-squares line ("linear") along an axis.

    ``bp`` are the indices at which another line begins. ``overwrite_data`` has to be None (NotImplementedError).
    Raises ValueError for another type, and for indices beyond the end.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy import signal
    >>> print(signal.detrend(jnp.array([1.0, 2.0, 6.0]), type="constant"))
    [-2. -1.  3.]
    """
    if overwrite_data is not None:
        raise NotImplementedError(f"arrays cannot be changed in place: overwrite_data has to be None{here()}")
    require_one_of("type of detrend", type, "linear", "constant")
    breakpoints = sizes_of(np.atleast_1d(bp).tolist())
    return _detrend(jnp.asarray(data), axis=axis, line=type == "linear", places=breakpoints)


@jit_wrapped("axis", "line", "places")
def _detrend(x: Any, axis: int, line: bool, places: tuple[int, ...]) -> Any:
    (x,) = promote_dtypes_inexact(x)
    if not line:
        return x - jnp.mean(x, axis, keepdims=True)
    x_last = jnp.moveaxis(x, axis_of(axis, x.ndim), -1)
    n = x_last.shape[-1]
    edges = sorted({0, n, *places})
    if edges[0] < 0 or edges[-1] > n:
        raise ValueError(f"breakpoints lie within the {n} elements of the axis, got {places}{here()}")
    pieces = []
    for first, last in itertools.pairwise(edges):
        piece = x_last[..., first:last]
        times = np.arange(last - first) - (last - first - 1) / 2  # their mean is zero
        size = float(np.sum(times * times)) or 1.0
        t = exact_array(times, x.dtype)
        slope = jnp.sum(piece * t, -1, keepdims=True) / size
        pieces.append(piece - jnp.mean(piece, -1, keepdims=True) - slope * t)
    return jnp.moveaxis(jnp.concatenate(pieces, -1), -1, axis)
