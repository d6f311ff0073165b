"""Interpolation of an array at arbitrary coordinates."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...dtypes import dtype_kind
from ...numpy.jit_wrapped import jit_wrapped
from ...operations.conversion import to_dtype
from ...trace.operand_coercion import to_array
from ...trace.source import here
from ..arguments import from_lists, promote_dtypes_inexact

_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def map_coordinates(input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0) -> Any:
    """Return an array sampled at coordinates, by nearest (``order`` 0) or linear (1) interpolation.

    ``coordinates`` holds one array per axis, all of one shape, which is that of the result; its dtype is that of
    ``input``. ``mode`` defines values outside: "constant" (``cval``), "nearest", "wrap" (periodic), "mirror"
    (reflected about the center of the last element), "reflect" (about its edge). Raises ValueError for another
    number of coordinate arrays, NotImplementedError for another mode or order.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.scipy.ndimage import map_coordinates
    >>> print(map_coordinates(jnp.array([0.0, 10.0, 20.0]), [jnp.array([0.5, 1.25])], order=1))
    [ 5.  12.5]
    """
    if mode not in _MODES:
        raise NotImplementedError(f"map_coordinates has the modes {', '.join(_MODES)}, got {mode!r}{here()}")
    if not isinstance(order, (int, np.integer)) or order not in (0, 1):
        raise NotImplementedError(f"map_coordinates currently requires order<=1, got {order!r}{here()}")
    if not isinstance(coordinates, (list, tuple)) and not np.ndim(coordinates):
        raise TypeError(f"coordinates are one array for each axis, got {coordinates!r}{here()}")
    return _map_coordinates(from_lists(input), list(map(from_lists, coordinates)), cval, order=int(order), mode=mode)


@jit_wrapped("order", "mode")
def _map_coordinates(x: Any, coordinates: list[Any], fill: Any, order: int, mode: str) -> Any:
    x, positions = to_array(x), [to_array(c) for c in coordinates]
    if len(positions) != x.ndim:
        raise ValueError(f"coordinates are one array for each of {x.ndim} axes, got {len(positions)}{here()}")
    fill = to_dtype(fill, x.dtype)
    neighbors_per_axis = [
        (_nearest_neighbor if order == 0 else _linear_neighbors)(*promote_dtypes_inexact(c)) for c in positions
    ]
    total: Any = 0
    for corner in itertools.product(*neighbors_per_axis):
        indices, inside, weight = [], None, None
        for (index, axis_weight), size in zip(corner, x.shape, strict=True):
            in_bounds = (index >= 0) & (index < size)
            inside = in_bounds if inside is None else inside & in_bounds
            weight = axis_weight if weight is None or axis_weight is None else weight * axis_weight
            indices.append(_wrap_index(index, size, mode))
        value = x[tuple(indices)]
        if mode == "constant" and inside is not None:
            value = jnp.where(inside, value, fill)
        if weight is not None:
            value = value * (to_dtype(weight, x.dtype) if dtype_kind(x.dtype) == "c" else weight)
        total = total + value
    if dtype_kind(x.dtype) in "iub" and dtype_kind(jnp.result_type(total)) == "f":
        total = lax.round(total)  # halves away from zero, as in SciPy and JAX
    return to_dtype(total, x.dtype)


def _nearest_neighbor(c: Any) -> list[tuple[Any, Any]]:
    # halves round away from zero, as in JAX; SciPy rounds them up
    return [(lax.round(c).astype(int), None)]


def _linear_neighbors(c: Any) -> list[tuple[Any, Any]]:
    floor_c = jnp.floor(c)
    fraction = c - floor_c
    lower_index = floor_c.astype(int)
    return [(lower_index, 1 - fraction), (lower_index + 1, fraction)]


def _wrap_index(index: Any, size: int, mode: str) -> Any:
    """Return indices with those outside of an axis replaced by the elements that ``mode`` repeats there.

    ``size`` is the size of the axis, ``mode`` that of :func:`map_coordinates`.
    """
    if mode == "wrap":
        return index % size
    if mode == "mirror":
        period = max(2 * (size - 1), 1)
        return jnp.abs((index + size - 1) % period - (size - 1))
    if mode == "reflect":
        index = index % (2 * size)
        return jnp.minimum(index, 2 * size - 1 - index)
    return jnp.clip(index, 0, size - 1)
