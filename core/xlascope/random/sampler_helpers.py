"""Helpers of samplers: splitting keys, broadcasting parameters, loops of many trials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import cast_on_host, iinfo, to_canonical_dtype
from ..operations.comparisons import lt
from ..operations.reductions import reduce_or
from ..operations.shapes import broadcast_in_dim, squeeze
from ..operations.slicing import slice_in_dim
from ..trace.values import aval_of
from .continuous import convert_parameter
from .key_algorithms import new_keys


def split_key(key: Any, count: int) -> list[Any]:
    """Derive ``count`` keys from one, as a list.

    >>> import xlascope as xs
    >>> [part.shape for part in split_key(xs.random.PRNGKey(0), 3)]
    [(2,), (2,), (2,)]
    """
    keys = new_keys(key, (count,))
    return [squeeze(slice_in_dim(keys, i, i + 1), (0,)) for i in range(count)]


def broadcast_parameter(x: Any, shape: tuple[int, ...], dtype: np.dtype[Any], user: str) -> Any:
    """Convert a parameter of a distribution to a dtype and broadcast it to a shape.

    Raises ValueError if it does not broadcast; ``user`` is the sampler's name.
    """
    converted = convert_parameter(x, shape, dtype, user)
    return converted if aval_of(converted).shape == shape else broadcast_in_dim(converted, shape, ())


def filled_like(like: Any, value: Any) -> Any:
    """Return an array of one value, with the shape and dtype of ``like``."""
    aval = aval_of(like)
    scalar = cast_on_host(value, aval.dtype)[()]
    return broadcast_in_dim(scalar, aval.shape, ()) if aval.shape else scalar


def while_any(condition: Callable[[Any], Any], max_count: float) -> Callable[[Any], Any]:
    """Return a loop condition: ``condition`` holds for any element, and fewer than ``max_count`` steps are done.

    The number of steps done is the first value of the loop's state.
    """
    last = int(min(max_count, int(iinfo(to_canonical_dtype(int)).max)))

    def check(state: Any) -> Any:
        active = condition(state)
        return reduce_or(active, tuple(range(len(aval_of(active).shape)))) & lt(state[0], last)

    return check
