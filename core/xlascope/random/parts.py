"""What samplers are made of: several keys from one, parameters as wide as the result, loops of many trials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import canonical, iinfo
from ..operations.comparisons import lt
from ..operations.reductions import reduce_or
from ..operations.shapes import broadcast_in_dim, squeeze
from ..operations.slicing import slice_in_dim
from ..trace.values import aval_of
from .continuous import fitted
from .drawing import new_keys


def parts(key: Any, count: int) -> list[Any]:
    """That many keys from one.

    >>> import xlascope as xs
    >>> [part.shape for part in parts(xs.random.PRNGKey(0), 3)]
    [(2,), (2,), (2,)]
    """
    keys = new_keys(key, (count,))
    return [squeeze(slice_in_dim(keys, i, i + 1), (0,)) for i in range(count)]


def spread(x: Any, shape: tuple[int, ...], dtype: np.dtype[Any], user: str) -> Any:
    """A parameter of a distribution as that dtype and of that shape."""
    found = fitted(x, shape, dtype, user)
    return found if aval_of(found).shape == shape else broadcast_in_dim(found, shape, ())


def filled(like: Any, value: Any) -> Any:
    """An array of one value, with the shape and dtype of another."""
    aval = aval_of(like)
    scalar = np.array(value).astype(aval.dtype)[()]
    return broadcast_in_dim(scalar, aval.shape, ()) if aval.shape else scalar


def while_any(going: Callable[[Any], Any], most: float) -> Callable[[Any], Any]:
    """Whether a loop goes on: for some element, and as long as the loop's first value, a counter, is below ``most``."""
    last = int(min(most, int(iinfo(canonical(int)).max)))

    def check(state: Any) -> Any:
        found = going(state)
        return reduce_or(found, tuple(range(len(aval_of(found).shape)))) & lt(state[0], last)

    return check
