"""Sorting with JAX's signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..operations import elementwise as e
from ..operations import shapes
from ..operations import sorting as s
from ..trace.values import aval_of


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """The operand in rising order along an axis; of several operands, all in the order of the first ``num_keys``.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.sort(jnp.array([3, 1, 2])))
    [1 2 3]
    """
    if isinstance(operand, (list, tuple)):
        return tuple(s.sort(list(operand), dimension, is_stable, num_keys))
    return s.sort([operand], dimension, is_stable, 1)[0]


def sort_key_val(keys: Any, values: Any, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """Two arrays in the order of the first."""
    first, second = s.sort([keys, values], dimension, is_stable)
    return first, second


def top_k(operand: Any, k: int) -> tuple[Any, Any]:
    """The ``k`` largest elements along the last axis, the largest first, and their places."""
    shape = aval_of(operand).shape
    if not 0 <= k <= shape[-1]:
        raise ValueError(f"top_k of {k} elements along an axis of size {shape[-1]}")
    last = len(shape) - 1
    places = shapes.broadcasted_iota(np.int32, shape, last)
    backwards: Sequence[Any] = [shapes.rev(x, (last,)) for x in (operand, places)]
    values, found = (shapes.rev(x, (last,)) for x in s.sort(backwards, last))
    return shapes.slice_in_dim(values, 0, k, last), e.convert_element_type(
        shapes.slice_in_dim(found, 0, k, last), np.int32
    )
