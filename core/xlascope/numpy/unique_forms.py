"""``unique`` in the four forms of the array API, each with the same results whatever is asked."""

from __future__ import annotations

from typing import Any, NamedTuple

from .sets import unique


class _UniqueAllResult(NamedTuple):
    """The different elements; where each is first found; for each element its place among them; how often each is."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class _UniqueCountsResult(NamedTuple):
    """The different elements, and how often each is found."""

    values: Any
    counts: Any


class _UniqueInverseResult(NamedTuple):
    """The different elements, and for each element its place among them."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> _UniqueAllResult:
    """The different elements in order, where each is first found, the place of each element, and the counts.

    ``x`` is an array of any shape. The results have one axis, but for ``inverse_indices``, which has the shape of
    ``x``. ``size`` and ``fill_value`` are as for :func:`unique`; each NaN is an element of its own.

    >>> import xlascope.numpy as jnp
    >>> found = jnp.unique_all(jnp.array([3, 1, 3]))
    >>> print(found.values, found.indices, found.inverse_indices, found.counts)
    [1 3] [1 0] [1 0 1] [1 2]
    """
    return _UniqueAllResult(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> _UniqueCountsResult:
    """The different elements in order, and how often each is found; see :func:`unique_all`.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.unique_counts(jnp.array([3, 1, 3])).counts)
    [1 2]
    """
    found = unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    return _UniqueCountsResult(*found)


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> _UniqueInverseResult:
    """The different elements in order, and for each element of ``x`` its place among them; see :func:`unique_all`.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.unique_inverse(jnp.array([3, 1, 3])).inverse_indices)
    [1 0 1]
    """
    found = unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    return _UniqueInverseResult(*found)


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The different elements in order; see :func:`unique_all`.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.unique_values(jnp.array([3, 1, 3])))
    [1 3]
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)
