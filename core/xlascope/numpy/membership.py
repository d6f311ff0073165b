"""Membership tests of elements in a set of values."""

from __future__ import annotations

from typing import Any

from ..operations.cumulative import cummax
from ..operations.reductions import reduce_or
from ..operations.shapes import expand_dims
from ..trace.values import aval_of
from . import logic, searching, sorting
from .jit_wrapped import jit_wrapped
from .joining import concatenate
from .promotion import promote_dtypes
from .ranges import arange
from .shaping import ravel, reshape, shape_of
from .taking import take

METHODS = ("compare_all", "binary_search", "sort", "auto")
#: Up to this many comparisons, pairwise comparison is faster than sorting.
_MAX_PAIRWISE_COMPARISONS = 1 << 12


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, method: str = "auto"
) -> Any:
    """Return whether each element is among the test elements (``invert``: is not); NaN never is.

    ``method`` selects the algorithm: "compare_all" compares all pairs, "binary_search" sorts the test elements,
    "sort" sorts both together, "auto" chooses. ``assume_unique`` has no effect. Raises ValueError for another
    method.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.isin(jnp.array([1, 2, 3]), jnp.array([3, 1])))
    [ True False  True]
    """
    if method not in METHODS:
        raise ValueError(f"isin takes method as one of {', '.join(METHODS)}, got {method!r}")
    return _isin(element, test_elements, invert=bool(invert), method=method)


@jit_wrapped("invert", "method")
def _isin(element: Any, test_elements: Any, invert: bool, method: str) -> Any:
    x, tests = promote_dtypes((element, test_elements))
    tests = ravel(tests)
    if method == "auto":
        method = (
            "compare_all" if aval_of(x).size * aval_of(tests).size <= _MAX_PAIRWISE_COMPARISONS else "binary_search"
        )
    if not aval_of(x).size or not aval_of(tests).size:
        method = "compare_all"
    is_member = {"compare_all": _isin_by_comparison, "binary_search": _isin_by_binary_search, "sort": _isin_by_sort}[
        method
    ](x, tests)
    return logic.logical_not(is_member) if invert else is_member


def _isin_by_comparison(x: Any, tests: Any) -> Any:
    rank = len(shape_of(x))
    return reduce_or(logic.equal(expand_dims(x, (rank,)), expand_dims(tests, tuple(range(rank)))), (rank,))


def _isin_by_binary_search(x: Any, tests: Any) -> Any:
    tests = sorting.sort(tests)
    positions = searching.searchsorted(tests, x)
    return logic.equal(take(tests, positions, mode="clip"), x)


def _isin_by_sort(x: Any, tests: Any) -> Any:
    """Return the mask of the elements of ``x`` that occur in the vector ``tests``, by sorting both together.

    An element is a member if the last test element before it in this order is equal to it; among equals, the
    stable sort puts test elements first.
    """
    count = shape_of(tests)[0]
    both = concatenate([tests, ravel(x)], 0)
    order = sorting.argsort(both)
    nearest = cummax(logic.where(logic.less(order, count), arange(shape_of(both)[0]), -1))
    values = take(both, order)
    member = logic.logical_and(logic.greater_equal(nearest, 0), logic.equal(take(values, nearest, mode="clip"), values))
    return reshape(take(member, sorting.argsort(order))[count:], shape_of(x))
