"""Paths to one array among the results of a call, which cost less to follow than flattening all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

Leaves = Callable[[Any], Sequence[Any]]
"""Returns the arrays among the results of a call."""


class ResultPath(NamedTuple):
    """Path to an array: ``keys`` lead through tuples, lists and dicts, to the array itself or to another container.

    ``place`` is then its number among the container's ``leaves``, and -1 for the array itself.
    """

    keys: tuple[Any, ...]
    place: int = -1
    leaves: int = 0


def find_path(results: Any, array: Any, leaves: Leaves) -> ResultPath:
    """Return the path to an array that is among the leaves of ``results``.

    >>> find_path([1.5, [2.5]], 2.5, lambda results: results if isinstance(results, list) else [results])
    ResultPath(keys=(1, 0), place=-1, leaves=0)
    """
    keys: list[Any] = []
    while results is not array:
        step = next(((key, child) for key, child in _children(results) if _holds(child, array, leaves)), None)
        if step is None:
            arrays = leaves(results)
            return ResultPath(tuple(keys), next(n for n, leaf in enumerate(arrays) if leaf is array), len(arrays))
        key, results = step
        keys.append(key)
    return ResultPath(tuple(keys))


def follow_path(results: Any, path: ResultPath, leaves: Leaves) -> Any:
    """Return what a path leads to in the results of another call; None if these have another structure.

    >>> follow_path(([3.0], {"a": 4.0}), ResultPath((1, "a")), leaves=list)
    4.0
    """
    for key in path.keys:
        if not _is_plain(results):  # indexing an array would compute
            return None
        try:
            results = results[key]
        except (LookupError, TypeError):
            return None
    if path.place < 0:
        return results
    arrays = leaves(results)
    return arrays[path.place] if len(arrays) == path.leaves else None


def _is_plain(results: Any) -> bool:
    """Return whether results are a tuple, a list, a dict or a named tuple."""
    kind = type(results)
    return kind is tuple or kind is dict or kind is list or (isinstance(results, tuple) and hasattr(results, "_fields"))


def _holds(child: Any, array: Any, leaves: Leaves) -> bool:
    return child is array or any(leaf is array for leaf in leaves(child))


def _children(results: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the keys and the values of a tuple, a list or a dict; nothing of another container."""
    if _is_plain(results):
        yield from results.items() if isinstance(results, dict) else enumerate(results)
