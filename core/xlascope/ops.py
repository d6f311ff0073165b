"""Sums over segments, and JAX's early updates: ``index_update(x, index[1:3], y)`` for ``x.at[1:3].set(y)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ir.avals import shaped
from .names import explain_missing as _explain_missing
from .numpy import methods  # noqa: F401  (gives arrays their .at)
from .numpy.logic import less, where
from .operations.shapes import zeros_of
from .operations.whole_numbers import whole_number
from .trace.gate import array_of
from .trace.values import aval_of

__all__ = ["index", "index_add", "index_max", "index_min", "index_mul", "index_update", "segment_sum"]


class _Index:
    """Gives back what it is indexed with: ``index[0, 1:3]`` is ``(0, slice(1, 3))``."""

    def __getitem__(self, place: Any) -> Any:
        return place


index = _Index()


def index_update(x: Any, idx: Any, y: Any) -> Any:
    """``x`` with ``y`` at the places ``idx``.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.ops.index_update(jnp.zeros(3), xs.ops.index[1:], 7.0))
    [0. 7. 7.]
    """
    return array_of(x).at[idx].set(y)


def index_add(x: Any, idx: Any, y: Any) -> Any:
    """``x`` with ``y`` added at the places ``idx``."""
    return array_of(x).at[idx].add(y)


def index_mul(x: Any, idx: Any, y: Any) -> Any:
    """``x`` multiplied by ``y`` at the places ``idx``."""
    return array_of(x).at[idx].multiply(y)


def index_min(x: Any, idx: Any, y: Any) -> Any:
    """``x`` with the smaller of it and ``y`` at the places ``idx``."""
    return array_of(x).at[idx].min(y)


def index_max(x: Any, idx: Any, y: Any) -> Any:
    """``x`` with the larger of it and ``y`` at the places ``idx``."""
    return array_of(x).at[idx].max(y)


def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None) -> Any:
    """The sums of the slices of ``data`` with equal ``segment_ids``, for ids from 0 to ``num_segments`` - 1.

    Slices with other ids count nowhere.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> print(xs.ops.segment_sum(jnp.arange(4.0), jnp.array([0, 0, 1, 2])))
    [1. 2. 3.]
    """
    count = int(np.max(np.asarray(segment_ids), initial=-1)) + 1 if num_segments is None else _count(num_segments)
    aval = aval_of(data)
    places = where(less(segment_ids, 0), np.int32(count), segment_ids)  # behind the end, where nothing is
    return zeros_of(shaped((count, *aval.shape[1:]), aval.dtype)).at[places].add(data)


def _count(given: Any) -> int:
    count = whole_number(given, "num_segments")
    if not 0 <= count < 2**31:
        raise ValueError(f"num_segments is at least 0 and less than 2**31, got {count}")
    return count


_explain_missing(__name__)
