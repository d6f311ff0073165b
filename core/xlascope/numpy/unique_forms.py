"""The four variants of ``unique`` in the array API, each with a fixed set of results."""

from __future__ import annotations

from typing import Any, NamedTuple

from .sets import unique


class _UniqueAllResult(NamedTuple):
    """Unique elements, indices of their first occurrences, inverse indices, and counts."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class _UniqueCountsResult(NamedTuple):
    """Unique elements and their counts."""

    values: Any
    counts: Any


class _UniqueInverseResult(NamedTuple):
    """Unique elements, and for each element its index among them."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> _UniqueAllResult:
    """Return the unique elements in ascending order, their first indices, the inverse indices, and the counts.

    ``x`` is an array of any shape. The results have one axis, but for ``inverse_indices``, which has the shape of
    ``x``. ``size`` and ``fill_value`` are as for :func:`unique`; each NaN is a unique element.

    >>> import xlascope.numpy as jnp
    >>> result = jnp.unique_all(jnp.array([3, 1, 3]))
    >>> print(result.values, result.indices, result.inverse_indices, result.counts)
    [1 3] [1 0] [1 0 1] [1 2]
    """
    return _UniqueAllResult(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> _UniqueCountsResult:
    """Return the unique elements in ascending order, and their counts; see :func:`unique_all`.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.unique_counts(jnp.array([3, 1, 3])).counts)
    [1 2]
    """
    results = unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    return _UniqueCountsResult(*results)


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> _UniqueInverseResult:
    """Return the unique elements in ascending order, and the inverse indices; see :func:`unique_all`.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.unique_inverse(jnp.array([3, 1, 3])).inverse_indices)
    [1 0 1]
    """
    results = unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    return _UniqueInverseResult(*results)


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """Return the unique elements in ascending order; see :func:`unique_all`.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.unique_values(jnp.array([3, 1, 3])))
    [1 3]
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)
