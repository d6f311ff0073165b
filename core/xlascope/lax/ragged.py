"""Products of groups of rows, each with a matrix of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import kind_of
from ..operations.arithmetic import sub
from ..operations.bits import bitwise_and
from ..operations.comparisons import ge, lt
from ..operations.conversion import convert_element_type
from ..operations.cumulative import cumsum
from ..operations.linear_algebra import dot_general
from ..operations.selection import select
from ..operations.shapes import broadcast_in_dim, broadcasted_iota, expand_dims, full, reduce_sum
from ..trace.planned import planned
from ..trace.source import here
from ..trace.values import aval_of


@planned
def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: None = None,
) -> Any:
    """The rows of ``lhs`` (m, k), in consecutive groups of those sizes, each times its group's matrix of ``rhs``
    (g, k, n); rows behind the last group give zeros.

    Every row is multiplied with every matrix, as on hardware without an operation of its own for this.
    Raises TypeError for other shapes, and for sizes that are no integers.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.ragged_dot(jnp.ones((3, 1)), jnp.array([[[1.0]], [[5.0]]]), jnp.array([1, 2])).T)
    [[1. 5. 5.]]
    """
    x, y, sizes = aval_of(lhs), aval_of(rhs), aval_of(group_sizes)
    if group_offset is not None:
        raise NotImplementedError("ragged_dot has no group_offset: give it the groups that it is to start with")
    if (len(x.shape), len(y.shape), len(sizes.shape)) != (2, 3, 1) or x.shape[1] != y.shape[1]:
        raise TypeError(
            "ragged_dot takes lhs (m, k), rhs (g, k, n) and group_sizes (g,), got shapes "
            f"{x.shape}, {y.shape} and {sizes.shape}{here()}"
        )
    if sizes.shape[0] != y.shape[0]:
        raise TypeError(f"group_sizes has one size for each of the {y.shape[0]} groups, got {sizes.shape[0]}{here()}")
    if kind_of(sizes.dtype) not in "iu":
        raise TypeError(f"group_sizes are integers, got {sizes.dtype.name}{here()}")
    products = dot_general(lhs, rhs, (((1,), (1,)), ((), ())), precision, preferred_element_type)
    mine = expand_dims(_belongs(group_sizes, x.shape[0]), (2,))
    shape = aval_of(products).shape
    mine = broadcast_in_dim(mine, shape, (0, 1, 2)) if aval_of(mine).shape != shape else mine
    return reduce_sum(select(mine, products, full(shape, aval_of(products).dtype.type(0))), (1,))


def _belongs(group_sizes: Any, rows: int) -> Any:
    """Whether a row is one of a group, as an array (rows, groups)."""
    sizes = convert_element_type(group_sizes, np.int32)
    ends = cumsum(sizes)
    row = broadcasted_iota(np.dtype(np.int32), (rows, aval_of(sizes).shape[0]), 0)
    starts, ends = (expand_dims(each, (0,)) for each in (sub(ends, sizes), ends))
    return bitwise_and(ge(row, starts), lt(row, ends))
