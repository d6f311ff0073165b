"""Binary search in sorted arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..control.flow.fori_loop import fori_loop
from ..dtypes import dtype_kind
from ..operations import extremes, sorting
from ..operations.arithmetic import add, div, sub
from ..operations.bits import bitwise_and, bitwise_not, bitwise_or
from ..operations.comparisons import eq, ge, lt, ne
from ..operations.complex_numbers import imag, real
from ..operations.conversion import convert_element_type
from ..operations.selection import select
from ..operations.shapes import broadcasted_iota, expand_dims, full, reduce_sum, reshape
from ..operations.slicing import concatenate, rev, slice_in_dim
from ..trace.values import aval_of
from .jit_wrapped import jit_wrapped
from .promotion import promote_dtypes
from .shaping import broadcast_to, shape_of
from .taking import take

#: The dtype of returned indices, also under enable_x64.
_INDEX_DTYPE = np.dtype("int32")
_METHODS = ("scan", "scan_unrolled", "sort", "compare_all")


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan") -> Any:
    """Return the indices at which elements would be inserted into a sorted array to keep it sorted.

    Elements are inserted before equal ones ("left") or after them ("right"). ``a`` has one axis and is in
    ascending order, NaN last; with ``sorter``, ``take(a, sorter)`` is. ``method`` selects the algorithm: "scan"
    bisects in a loop, "scan_unrolled" in an unrolled loop, "sort" sorts both together (for many elements, on
    accelerators), "compare_all" compares all pairs (for short ``a``). Raises ValueError for another side or
    method, and unless ``a`` has one axis.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.searchsorted(jnp.array([1, 3, 5]), jnp.array([0, 3, 9])))
    [0 1 3]
    """
    if side not in ("left", "right"):
        raise ValueError(f'searchsorted takes side as "left" or "right", got {side!r}')
    if method not in _METHODS:
        raise ValueError(f"searchsorted takes method as one of {', '.join(_METHODS)}, got {method!r}")
    if len(shape_of(a)) != 1:
        raise ValueError(f"searchsorted takes an array a with one axis, got shape {shape_of(a)}")
    if sorter is not None:
        _require_sorter(sorter, shape_of(a)[0])
    return _search_sorted(a, v, sorter, side=side, method=method)


def _require_sorter(sorter: Any, size: int) -> None:
    """Raise TypeError unless ``sorter`` has integers, and ValueError unless it has one axis.

    ``size`` is the number of elements of ``a``; if that is 0, ``sorter`` has to be empty as well.
    """
    if dtype_kind(aval_of(sorter).dtype) not in "iu":
        raise TypeError(f"searchsorted takes sorter as integers, got {aval_of(sorter).dtype.name}; see argsort")
    shape = shape_of(sorter)
    if len(shape) != 1 or (shape[0] and not size):
        raise ValueError(
            f"searchsorted takes sorter as the places of the {size} elements of a in rising order, on one axis; got "
            f"shape {shape}"
        )


@jit_wrapped("side", "method")
def _search_sorted(a: Any, v: Any, sorter: Any, side: str, method: str) -> Any:
    keys, values = promote_dtypes([a if sorter is None else take(a, sorter, 0, mode="clip"), v])
    if not shape_of(keys)[0]:
        return full(shape_of(values), _INDEX_DTYPE.type(0))
    if method == "sort":
        return _search_by_sorting(keys, values, side)
    if method == "compare_all":
        return _search_by_comparison(keys, values, side)
    return _search_by_bisection(keys, values, side, method == "scan_unrolled")


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """Return for each element the index of its interval between the monotonic edges ``bins``.

    An interval includes its lower edge, or with ``right`` its upper one.
    """
    size = shape_of(bins)[:1]
    if len(shape_of(bins)) != 1:
        raise ValueError(f"digitize takes bins with one axis, got shape {shape_of(bins)}")
    if size == (0,):
        return full(shape_of(x), _INDEX_DTYPE.type(0))
    return _digitize(x, bins, side="left" if right else "right", method=method or "scan")


@jit_wrapped("side", "method")
def _digitize(x: Any, bins: Any, side: str, method: str) -> Any:
    (bins,) = promote_dtypes([bins])
    (size,) = shape_of(bins)
    rising = reshape(ge(slice_in_dim(bins, size - 1, size), slice_in_dim(bins, 0, 1)), ())
    up = searchsorted(bins, x, side, method=method)
    down = sub(size, searchsorted(rev(bins, (0,)), x, side, method=method))
    return select(rising, up, down)


def _is_less(x: Any, y: Any) -> Any:
    """Return whether x comes before y in ascending order: NaN last, complex numbers by their real parts first."""
    kind = dtype_kind(aval_of(x).dtype)
    if kind == "c":
        first, second = (real(x), real(y)), (imag(x), imag(y))
        tied = bitwise_not(bitwise_or(_is_less(*first), _is_less(*first[::-1])))
        return bitwise_or(_is_less(*first), bitwise_and(tied, _is_less(*second)))
    if kind != "f":
        return lt(x, y)
    return bitwise_or(lt(x, y), bitwise_and(eq(x, x), ne(y, y)))


def _predicate_for(side: str) -> Callable[[Any, Any], Any]:
    """Return a predicate of a key and an element: whether the element is inserted after the key.

    ``side`` says whether it is inserted before ("left") or after ("right") equal keys.
    """
    return _is_less if side == "left" else lambda key, value: bitwise_not(_is_less(value, key))


def _search_by_bisection(keys: Any, values: Any, side: str, unroll: bool) -> Any:
    """Return the insertion indices of ``values`` into the sorted vector ``keys``, by bisection.

    Each step compares an element with the key in the middle between the bounds of its index, and moves one of the
    bounds; ``unroll`` unrolls the loop.
    """
    size, shape, dtype = shape_of(keys)[0], shape_of(values), _INDEX_DTYPE
    precedes = _predicate_for(side)

    def halve(_: Any, bounds: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = bounds
        middle = add(low, div(sub(high, low), 2))
        is_after = precedes(take(keys, extremes.min(middle, dtype.type(size - 1)), 0, mode="clip"), values)
        is_active = lt(low, high)
        return (
            select(bitwise_and(is_active, is_after), add(middle, 1), low),
            select(bitwise_and(is_active, bitwise_not(is_after)), middle, high),
        )

    start = full(shape, dtype.type(0)), full(shape, dtype.type(size))
    return fori_loop(0, size.bit_length(), halve, start, unroll=unroll)[0]


def _search_by_comparison(keys: Any, values: Any, side: str) -> Any:
    """Return the insertion indices of ``values`` into the sorted vector ``keys``, by comparison of all pairs.

    The index of an element is the number of keys after which it is inserted.
    """
    shape = (*shape_of(values), *shape_of(keys))
    broadcast_values = broadcast_to(expand_dims(values, (len(shape) - 1,)), shape)
    is_after = _predicate_for(side)(broadcast_to(keys, shape), broadcast_values)
    return reduce_sum(convert_element_type(is_after, _INDEX_DTYPE), (len(shape) - 1,))


def _search_by_sorting(keys: Any, values: Any, side: str) -> Any:
    """Return the insertion indices of ``values`` into the sorted vector ``keys``, by sorting.

    The index of an element is its rank among keys and elements, minus its rank among the elements.
    """
    (size,), count = shape_of(keys), int(np.prod(shape_of(values), dtype=int))
    flat = reshape(values, (count,))
    if side == "left":
        ranks = slice_in_dim(_ranks(concatenate([flat, keys], 0)), 0, count)
    else:
        ranks = slice_in_dim(_ranks(concatenate([keys, flat], 0)), size, size + count)
    return reshape(convert_element_type(sub(ranks, _ranks(flat)), _INDEX_DTYPE), shape_of(values))


def _ranks(x: Any) -> Any:
    """Return the rank of each element of a vector in ascending order; equal elements keep their order."""
    numbers = broadcasted_iota(_INDEX_DTYPE, shape_of(x), 0)
    order = sorting.sort([x, numbers], 0, True)[1]
    return sorting.sort([order, numbers], 0, True)[1]
