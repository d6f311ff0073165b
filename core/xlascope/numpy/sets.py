"""Arrays as sets. How many elements the result has depends on values, which have to be known while tracing."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..trace.tracer import Tracer
from ..trace.values import aval_of
from . import creation


def _known(x: Any, name: str) -> np.ndarray[Any, Any]:
    value = x.concrete() if isinstance(x, Tracer) else x
    if value is None:
        raise TypeError(f"{name} of {x!r}: how many elements the result has is not known while tracing")
    aval_of(value)
    return np.asarray(value)


def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """The different elements in order; see ``numpy.unique``.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.unique(jnp.array([3, 1, 3])))
    [1 3]
    """
    wanted: Any = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts}
    found = np.unique(_known(ar, "unique"), **wanted)
    return tuple(map(creation.array, found)) if isinstance(found, tuple) else creation.array(found)


def union1d(ar1: Any, ar2: Any) -> Any:
    """The elements of either, in order."""
    return creation.array(np.union1d(_known(ar1, "union1d"), _known(ar2, "union1d")))


def intersect1d(ar1: Any, ar2: Any) -> Any:
    """The elements of both, in order."""
    return creation.array(np.intersect1d(_known(ar1, "intersect1d"), _known(ar2, "intersect1d")))


def setdiff1d(ar1: Any, ar2: Any) -> Any:
    """The elements of the first that are not in the second, in order."""
    return creation.array(np.setdiff1d(_known(ar1, "setdiff1d"), _known(ar2, "setdiff1d")))


def setxor1d(ar1: Any, ar2: Any) -> Any:
    """The elements of one but not both, in order."""
    return creation.array(np.setxor1d(_known(ar1, "setxor1d"), _known(ar2, "setxor1d")))


def trim_zeros(filt: Any, trim: Literal["f", "b", "fb", "bf"] = "fb") -> Any:
    """Without the zeros in front (f) and behind (b)."""
    return creation.array(np.trim_zeros(_known(filt, "trim_zeros"), trim))
