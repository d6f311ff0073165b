"""Random permutations, and random choices from given values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..control.jit.jit_function import jit_normalized
from ..dtypes import is_integer, to_canonical_dtype
from ..numpy.axes import axis_of
from ..numpy.searching import searchsorted
from ..operations.arithmetic import add, mul, sub
from ..operations.conversion import convert_element_type
from ..operations.cumulative import cumsum
from ..operations.exponentials import log
from ..operations.indexing import GatherDimensionNumbers, gather
from ..operations.out_shardings import with_out_sharding
from ..operations.shapes import broadcasted_iota, expand_dims, reshape, squeeze
from ..operations.slicing import slice_in_dim
from ..operations.sorting import sort
from ..operations.tangent_arithmetic import neg
from ..trace.values import aval_of
from .continuous import Shape, gumbel_values, is_high, uniform_values
from .discrete import randint_values
from .key_algorithms import new_keys, random_bits
from .keys import check_key, shape_of

#: Up to this many sums, each is compared with each draw, which is faster than a search.
_MAX_COMPARE_ALL_SUMS = 64


@with_out_sharding
def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False) -> Any:
    """Return ``x`` in random order along ``axis``, or for an integer a permutation of the numbers below it.

    Slices along the axis are moved as a whole; with ``independent`` each row along the axis is shuffled on its
    own.

    >>> import xlascope as xs
    >>> order = xs.random.permutation(xs.random.PRNGKey(0), 10)
    """
    return _permute(check_key(key, "permutation"), x, axis, independent)


def _permute(key: Any, x: Any, axis: int, independent: bool) -> Any:
    aval = aval_of(0 if x.__class__ is int else x)
    if not aval.shape and not is_integer(aval.dtype):
        raise TypeError(f"random.permutation takes an array with axes or an integer, got {aval.str_short()}")
    axis_number = axis_of(axis, max(1, len(aval.shape)))
    if not aval.shape:
        return _random_order(key, max(0, int(x)))
    if independent or len(aval.shape) == 1:
        return _shuffle(key, x, axis_number)
    return _permute_slices(key, x, axis_number)


def choice(
    key: Any,
    a: Any,
    shape: Shape = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Any:
    """Draw slices of ``a`` along ``axis`` (for an integer: numbers below it), with probabilities ``p``.

    Without ``replace`` no slice is drawn twice; raises ValueError if there are not enough. ``mode`` is that of
    :func:`gumbel`, whose numbers are used to draw with ``p`` but without ``replace``.

    >>> import xlascope as xs
    >>> x = xs.random.choice(xs.random.PRNGKey(0), 5, (3,), replace=False)
    """
    key = check_key(key, "choice")
    high = is_high("low" if mode is None else mode, "choice")
    if isinstance(shape, int):
        raise TypeError(f"random.choice takes a shape as a tuple of integers, such as ({shape},); got {shape}")
    sizes = shape_of(shape, "choice")
    aval = aval_of(a)
    if not aval.shape and not (isinstance(a, (int, np.integer)) or is_integer(aval.dtype)):
        raise TypeError(f"random.choice takes an array or an integer to choose from, got {aval.str_short()}")
    axis_number = axis_of(axis, len(aval.shape)) if aval.shape else 0
    count = aval.shape[axis_number] if aval.shape else int(a)
    draws = math.prod(sizes)
    if draws and count <= 0:
        raise ValueError("random.choice: there is nothing to choose from")
    if not replace and draws > count:
        raise ValueError(f"random.choice: {draws} cannot be drawn from {count} without replacement")
    if p is not None and aval_of(p).shape != (count,):
        raise ValueError(f"random.choice: p has shape {aval_of(p).shape}, expected ({count},): one for each choice")
    if p is None and not replace:
        shuffled = _permute(key, a, axis_number, False)
        return reshape(slice_in_dim(shuffled, 0, draws, axis_number), _result_shape(aval.shape, axis_number, sizes))
    indices = _choice_indices(key, p, count, sizes, bool(replace), high)
    return indices if not aval.shape else _take(a, indices, axis_number)


# Traced bodies ------------------------------------------------------------------------------------------------------


@jit_normalized(2)
def _shuffle(key: Any, x: Any, axis: int) -> Any:
    # Sort by random words; ties keep their order, so enough rounds are made for them not to matter.
    size = aval_of(x).size
    rounds = math.ceil(3 * math.log(max(1, size)) / math.log(2**32 - 1))
    for _ in range(rounds):
        key, subkey = (squeeze(slice_in_dim(new_keys(key, (2,)), i, i + 1), (0,)) for i in (0, 1))
        words = random_bits(subkey, 32, aval_of(x).shape)
        _, x = sort((words, x), dimension=axis, num_keys=1)
    return x


def _random_order(key: Any, count: int) -> Any:
    return _shuffle(key, broadcasted_iota(to_canonical_dtype(int), (count,), 0), 0)


@jit_normalized(2)
def _permute_slices(key: Any, x: Any, axis: int) -> Any:
    return _take(x, _random_order(key, aval_of(x).shape[axis]), axis)


@jit_normalized((2, 3, 4, 5))
def _choice_indices(key: Any, p: Any, count: int, shape: tuple[int, ...], replace: bool, high: bool) -> Any:
    """Draw indices below ``count`` with probabilities ``p`` (None: equal ones).

    ``high`` says whether the Gumbel numbers that are used without ``replace`` are drawn from two words each.
    """
    integer = to_canonical_dtype(int)
    if p is None:
        return randint_values(key, shape, 0, count, integer)
    dtype = to_canonical_dtype(float) if is_integer(aval_of(p).dtype) else aval_of(p).dtype
    p = convert_element_type(p, dtype)
    if not replace:
        score = add(gumbel_values(key, (count,), dtype, high), log(p))
        order = sort((neg(score), broadcasted_iota(integer, (count,), 0)), dimension=0, num_keys=1)[1]
        return reshape(slice_in_dim(order, 0, math.prod(shape)), shape)
    summed = cumsum(p, 0)
    total = squeeze(slice_in_dim(summed, count - 1, count), (0,))
    thresholds = mul(total, sub(1.0, uniform_values(key, shape, dtype, 0.0, 1.0)))
    method = "compare_all" if count <= _MAX_COMPARE_ALL_SUMS else "scan"
    return convert_element_type(searchsorted(summed, thresholds, method=method), integer)


# Slices -------------------------------------------------------------------------------------------------------------


def _result_shape(shape: tuple[int, ...], axis: int, sample_shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:axis], *sample_shape, *shape[axis + 1 :])


def _take(x: Any, indices: Any, axis: int) -> Any:
    """Return the slices of ``x`` along an axis at the indices, which are all in range."""
    shape, index_shape = aval_of(x).shape, aval_of(indices).shape
    retained_axes = (*range(axis), *range(axis + len(index_shape), len(shape) - 1 + len(index_shape)))
    numbers = GatherDimensionNumbers(offset_dims=retained_axes, collapsed_slice_dims=(axis,), start_index_map=(axis,))
    sizes = (*shape[:axis], 1, *shape[axis + 1 :])
    return gather(x, expand_dims(indices, (len(index_shape),)), numbers, sizes)
