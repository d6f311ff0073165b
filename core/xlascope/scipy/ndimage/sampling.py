"""Elements between elements: an array read at any coordinates."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...dtypes import kind_of
from ...numpy.together import together
from ...trace.gate import array_of
from ...trace.source import here
from ..arguments import floats_of_any_shape

_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def map_coordinates(input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0) -> Any:
    """The values of an array at coordinates between its elements, nearest (``order`` 0) or linear (1).

    ``coordinates`` is one array for each axis, all of one shape, that of the result; its dtype is that of ``input``.
    Outside, ``mode`` says what counts: "constant" (``cval``), "nearest", "wrap" (the array repeats), "mirror" (around
    the middle of the last element), "reflect" (around its edge). Raises ValueError for another number of coordinates,
    NotImplementedError for another mode or order.

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
    return _mapped(input, list(coordinates), cval, order=int(order), mode=mode)


@together("order", "mode")
def _mapped(x: Any, coordinates: list[Any], fill: Any, order: int, mode: str) -> Any:
    x, places = array_of(x), [array_of(c) for c in coordinates]
    if len(places) != x.ndim:
        raise ValueError(f"coordinates are one array for each of {x.ndim} axes, got {len(places)}{here()}")
    fill = jnp.asarray(fill, x.dtype)
    choices = [(_nearest if order == 0 else _linear)(*floats_of_any_shape(c)) for c in places]
    total: Any = 0
    for chosen in itertools.product(*choices):
        indices, inside, weight = [], None, None
        for (index, part), size in zip(chosen, x.shape, strict=True):
            known = (index >= 0) & (index < size)
            inside = known if inside is None else inside & known
            weight = part if weight is None or part is None else weight * part
            indices.append(_inner(index, size, mode))
        value = x[tuple(indices)]
        if mode == "constant" and inside is not None:
            value = jnp.where(inside, value, fill)
        total = total + (value if weight is None else value * weight)
    if kind_of(x.dtype) in "iub" and kind_of(jnp.result_type(total)) == "f":
        total = jnp.round(total)
    return jnp.asarray(total).astype(x.dtype)


def _nearest(c: Any) -> list[tuple[Any, Any]]:
    # a half goes away from zero, as in JAX; SciPy rounds it up
    return [(lax.round(c).astype(int), None)]


def _linear(c: Any) -> list[tuple[Any, Any]]:
    below = jnp.floor(c)
    part = c - below
    place = below.astype(int)
    return [(place, 1 - part), (place + 1, part)]


def _inner(index: Any, size: int, mode: str) -> Any:
    """The places of elements that stand for those outside."""
    if mode == "wrap":
        return index % size
    if mode == "mirror":
        around = max(2 * (size - 1), 1)
        return jnp.abs((index + size - 1) % around - (size - 1))
    if mode == "reflect":
        index = index % (2 * size)
        return jnp.minimum(index, 2 * size - 1 - index)
    return jnp.clip(index, 0, size - 1)
