"""Products of arrays in which one axis is split into groups of different sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtypes import dtype_kind
from ..operations.arithmetic import sub
from ..operations.bits import bitwise_and
from ..operations.comparisons import ge, lt
from ..operations.conversion import convert_element_type
from ..operations.cumulative import cumsum
from ..operations.dot_product import DimensionNumbers, dot_general, free_axes
from ..operations.integer_arguments import whole_numbers
from ..operations.selection import select
from ..operations.shapes import (
    broadcast_in_dim,
    broadcasted_iota,
    expand_dims,
    moveaxis,
    reduce_sum,
    transpose,
    zeros_of,
)
from ..trace.source import here
from ..trace.trace_cache import cache_trace
from ..trace.values import aval_of


@dataclass(frozen=True, init=False)
class RaggedDotDimensionNumbers:
    """Axes over which :func:`ragged_dot_general` multiplies.

    ``dot_dimension_numbers`` are those of ``dot_general``, ((contracting axes of both), (batch axes of both));
    ``lhs_ragged_dimensions`` is the axis of lhs that is split into groups, ``rhs_group_dimensions`` the axis of rhs
    that numbers the groups, if there is one.

    >>> from xlascope import lax
    >>> lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0]).lhs_ragged_dimensions
    (0,)
    """

    dot_dimension_numbers: DimensionNumbers
    lhs_ragged_dimensions: tuple[int, ...]
    rhs_group_dimensions: tuple[int, ...]

    def __init__(
        self, dot_dimension_numbers: Any, lhs_ragged_dimensions: Sequence[int], rhs_group_dimensions: Sequence[int]
    ) -> None:
        (contract_x, contract_y), (batch_x, batch_y) = dot_dimension_numbers
        numbers = (tuple(contract_x), tuple(contract_y)), (tuple(batch_x), tuple(batch_y))
        object.__setattr__(self, "dot_dimension_numbers", numbers)
        object.__setattr__(self, "lhs_ragged_dimensions", tuple(lhs_ragged_dimensions))
        object.__setattr__(self, "rhs_group_dimensions", tuple(rhs_group_dimensions))


_MATRIX_DIMENSION_NUMBERS = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


@cache_trace
def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: None = None,
) -> Any:
    """Multiply rows of ``lhs`` (m, k), in consecutive groups, by the group's matrix of ``rhs`` (g, k, n).

    ``group_sizes`` (g,) are the numbers of rows in each group; rows behind the last group give zeros. Every row is
    multiplied with every matrix, as on hardware without a special operation for this. Raises TypeError for other
    shapes, and for sizes that are not integers.

    >>> from xlascope import lax, numpy as jnp
    >>> print(lax.ragged_dot(jnp.ones((3, 1)), jnp.array([[[1.0]], [[5.0]]]), jnp.array([1, 2])).T)
    [[1. 5. 5.]]
    """
    x, y, sizes = aval_of(lhs), aval_of(rhs), aval_of(group_sizes)
    _reject_offset("ragged_dot", group_offset)
    if (len(x.shape), len(y.shape), len(sizes.shape)) != (2, 3, 1) or x.shape[1] != y.shape[1]:
        raise TypeError(
            "ragged_dot takes lhs (m, k), rhs (g, k, n) and group_sizes (g,), got shapes "
            f"{x.shape}, {y.shape} and {sizes.shape}{here()}"
        )
    return _ragged_product(lhs, rhs, group_sizes, _MATRIX_DIMENSION_NUMBERS, precision, preferred_element_type)


def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: None = None,
) -> Any:
    """Multiply arrays as ``dot_general`` does, with an axis of ``lhs`` in consecutive groups of sizes.

    What the groups are for follows from the ragged axis (b batch axes, k contracting ones, m and n the others):

    =================  =========================  =========================  ======================
    the ragged axis    lhs, rhs                   group_sizes                result
    =================  =========================  =========================  ======================
    one of m           (b, m, k), (g, b, k, n)    (b, m before it, g)        (b, m, n)
    one of k           (b, m, k), (b, k, n)       (b, k before it, g)        (g, b, m, n)
    one of b           (b, m, k), (b, k, n)       (b before it, g)           (b, m, n)
    =================  =========================  =========================  ======================

    In the first case each index of the axis meets its group's part of ``rhs``, and those behind the last group give
    zeros. In the second one the sum is taken for each group by itself. In the third one it is ``dot_general``'s: each
    index has its part of ``rhs`` anyway. Sizes of shape (g,) hold for all indices before. The axes of operands lie as
    ``ragged_dot_dimension_numbers`` says. Unlike jax's it has derivatives and batching rules in all three cases.

    Raises TypeError for axes and shapes that do not fit, and for sizes that are no integers.

    >>> from xlascope import lax, numpy as jnp
    >>> over_rows = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), [0], [])
    >>> print(lax.ragged_dot_general(jnp.ones((3, 1)), jnp.ones((3, 1)), jnp.array([1, 2]), over_rows)[:, 0, 0])
    [1. 2.]
    """
    if not isinstance(ragged_dot_dimension_numbers, RaggedDotDimensionNumbers):
        raise TypeError(
            "ragged_dot_dimension_numbers is a lax.RaggedDotDimensionNumbers, got "
            f"{ragged_dot_dimension_numbers!r}{here()}"
        )
    _reject_offset("ragged_dot_general", group_offset)
    return _ragged_product(lhs, rhs, group_sizes, ragged_dot_dimension_numbers, precision, preferred_element_type)


def _reject_offset(name: str, group_offset: Any) -> None:
    if group_offset is not None:
        raise NotImplementedError(f"{name} has no group_offset: give it the groups that it is to start with")


def _ragged_product(lhs: Any, rhs: Any, group_sizes: Any, numbers: RaggedDotDimensionNumbers, *options: Any) -> Any:
    """Multiply arrays as :func:`ragged_dot_general` does; raises TypeError for axes and sizes that do not fit.

    ``options`` are the precision and the element type for ``dot_general``.
    """
    x, y, sizes = aval_of(lhs), aval_of(rhs), aval_of(group_sizes)
    (contract_x, _), (batch_x, _) = numbers.dot_dimension_numbers
    ragged = _ragged_axis(numbers, len(x.shape))
    if dtype_kind(sizes.dtype) not in "iu":
        raise TypeError(f"group_sizes are integers, got {sizes.dtype.name}{here()}")
    if not sizes.shape:
        raise TypeError(f"group_sizes has a size for each group, got a single number{here()}")
    if any(not 0 <= axis < len(x.shape) for axis in (*contract_x, *batch_x)):
        return dot_general(lhs, rhs, numbers.dot_dimension_numbers, *options)  # it raises the error
    free_x = free_axes(len(x.shape), contract_x, batch_x)
    if ragged in contract_x:
        _refuse_group_dimensions(numbers)
        outer = (*batch_x, *contract_x[: contract_x.index(ragged)])
        group_sizes = _broadcast_sizes(group_sizes, tuple([x.shape[i] for i in outer]))
        return _sum_over_groups(
            lhs, rhs, _group_masks(group_sizes, x.shape[ragged]), (*outer, ragged), numbers, options
        )
    if ragged in batch_x:
        _refuse_group_dimensions(numbers)
        _broadcast_sizes(group_sizes, tuple([x.shape[i] for i in batch_x[: batch_x.index(ragged)]]))
        return dot_general(lhs, rhs, numbers.dot_dimension_numbers, *options)
    group = _group_axis(numbers, len(y.shape))
    if y.shape[group] != sizes.shape[-1]:
        raise TypeError(
            f"group_sizes has one size for each of the {y.shape[group]} groups, got {sizes.shape[-1]}{here()}"
        )
    outer = (*batch_x, *free_x[: free_x.index(ragged)])
    group_sizes = _broadcast_sizes(group_sizes, tuple([x.shape[i] for i in outer]))
    masks = _group_masks(group_sizes, x.shape[ragged])
    return _multiply_by_groups(lhs, rhs, masks, len(batch_x) + len(free_x), group, numbers, options)


def _multiply_by_groups(lhs: Any, rhs: Any, masks: Any, lhs_rank: int, group: int, numbers: Any, options: Any) -> Any:
    """Multiply ``lhs`` by the array of every group in ``rhs``, and keep for each ragged index that of its own group.

    ``masks``, of shape (batch axes, free axes of lhs up to the ragged one, groups), says which index is in which
    group. ``lhs_rank`` is how many axes of the product are those of lhs, batch axes included; ``group`` is the axis of
    rhs that numbers the groups. ``options`` are those of ``dot_general``.
    """
    products = dot_general(lhs, rhs, numbers.dot_dimension_numbers, *options)
    (_, contract_y), (_, batch_y) = numbers.dot_dimension_numbers
    group_axis = lhs_rank + free_axes(len(aval_of(rhs).shape), contract_y, batch_y).index(group)
    mask_rank = len(aval_of(masks).shape) - 1
    return reduce_sum(_mask_outside(products, masks, (*range(mask_rank), group_axis)), (group_axis,))


def _sum_over_groups(lhs: Any, rhs: Any, masks: Any, axes: tuple[int, ...], numbers: Any, options: Any) -> Any:
    """Contract ``lhs`` and ``rhs`` for each group separately; the result has the groups along a new leading axis.

    ``masks`` says which index of the ragged axis is in which group: its axes are ``axes`` of lhs, the ragged one last,
    and the groups. ``options`` are those of ``dot_general``.
    """
    (contract_x, contract_y), (batch_x, batch_y) = numbers.dot_dimension_numbers
    groups = aval_of(masks).shape[-1]
    shape = aval_of(lhs).shape
    copies = broadcast_in_dim(lhs, (groups, *shape), tuple(range(1, 1 + len(shape))))
    ordered = tuple(int(i) for i in np.argsort(axes))
    masks = transpose(masks, (len(axes), *ordered))
    masked = _mask_outside(copies, masks, (0, *(1 + axes[i] for i in ordered)))
    shifted_numbers = (tuple([1 + i for i in contract_x]), contract_y), (tuple([1 + i for i in batch_x]), batch_y)
    return moveaxis(dot_general(masked, rhs, shifted_numbers, *options), len(batch_x), 0)


def _mask_outside(values: Any, mask: Any, axes: tuple[int, ...]) -> Any:
    """Return the values where ``mask`` is True, else zero; the axes of ``mask`` are ``axes`` of the values."""
    aval = aval_of(values)
    if aval_of(mask).shape != aval.shape:
        mask = broadcast_in_dim(mask, aval.shape, axes)
    return select(mask, values, zeros_of(aval))


def _group_masks(group_sizes: Any, count: int) -> Any:
    """Return for each index of the ragged axis and each group whether it is in the group.

    ``group_sizes`` has shape (outer axes, groups) and ``count`` is the size of the ragged axis. The result has shape
    (outer axes, count, groups).
    """
    sizes = convert_element_type(group_sizes, np.int32)
    shape = aval_of(sizes).shape
    last = len(shape) - 1
    ends = cumsum(sizes, last)
    index = broadcasted_iota(np.dtype(np.int32), (*shape[:-1], count, shape[-1]), last)
    starts, ends = (expand_dims(bound, (last,)) for bound in (sub(ends, sizes), ends))
    return bitwise_and(ge(index, starts), lt(index, ends))


def _broadcast_sizes(group_sizes: Any, outer: tuple[int, ...]) -> Any:
    """Return group sizes of shape ``(g,)`` broadcast to ``(*outer, g)``; those of that shape are returned unchanged.

    ``outer`` are the sizes of the axes in front of the ragged one. Raises TypeError for group sizes of another shape
    than these two.
    """
    shape = aval_of(group_sizes).shape
    expected = (*outer, shape[-1])
    if shape == expected:
        return group_sizes
    if len(shape) != 1:
        raise TypeError(f"group_sizes has shape {expected} here, or {expected[-1:]}, got {shape}{here()}")
    return broadcast_in_dim(group_sizes, expected, (len(outer),))


def _ragged_axis(numbers: RaggedDotDimensionNumbers, rank: int) -> int:
    """Return the ragged axis of lhs, which has ``rank`` axes; raises TypeError if there is not exactly one."""
    axes = whole_numbers(numbers.lhs_ragged_dimensions, "lhs_ragged_dimensions")
    if len(axes) != 1 or not 0 <= axes[0] < rank:
        raise TypeError(f"lhs_ragged_dimensions is one axis below {rank} of lhs, got {axes}{here()}")
    return axes[0]


def _group_axis(numbers: RaggedDotDimensionNumbers, rank: int) -> int:
    """Return the axis of rhs that numbers the groups; raises TypeError unless it is a single free axis.

    ``rank`` is the number of axes of rhs.
    """
    axes = whole_numbers(numbers.rhs_group_dimensions, "rhs_group_dimensions")
    (_, contract_y), (_, batch_y) = numbers.dot_dimension_numbers
    if len(axes) != 1 or not 0 <= axes[0] < rank or axes[0] in (*contract_y, *batch_y):
        raise TypeError(
            f"rhs_group_dimensions is one axis below {rank} of rhs that is neither a contracting nor a batch axis, as "
            f"the ragged axis is neither, got {axes}{here()}"
        )
    return axes[0]


def _refuse_group_dimensions(numbers: RaggedDotDimensionNumbers) -> None:
    if numbers.rhs_group_dimensions:
        raise TypeError(
            "rhs_group_dimensions is empty where the ragged axis is a contracting or a batch axis: rhs has something "
            f"for each group where it is neither, got {numbers.rhs_group_dimensions}{here()}"
        )
