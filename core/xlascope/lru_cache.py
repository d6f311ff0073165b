"""Bounded caches with approximate LRU eviction.

Two generations of at most ``generation_size`` values each. New values, and those found in the old generation,
are in the young one; when that is full it becomes the old generation, and the values of the previous old
generation, unused since, are evicted. A lookup of a young value is one dict access that records nothing,
unlike a list in the order of use.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, MutableMapping
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FastLRUCache(dict[K, V]):
    """LRU cache whose lookup is a plain dict access: as a dict it holds the recently used values only.

    The other values are in ``old_generation``, from where :meth:`promote` brings one back. Both generations
    have at most ``generation_size`` values. For a lookup in both at once see :class:`LRUCache`.

    >>> squares: FastLRUCache[int, int] = FastLRUCache(2)
    >>> for n in (1, 2, 3):
    ...     _ = squares.get(n) or squares.promote(n) or squares.insert(n, n * n)
    >>> squares, squares.old_generation
    ({3: 9}, {1: 1, 2: 4})
    >>> squares.promote(1), squares.promote(7)
    (1, None)
    >>> squares.insert(4, 16), squares, squares.old_generation
    (16, {4: 16}, {3: 9, 1: 1})
    """

    __slots__ = ("generation_size", "old_generation")

    def __init__(self, generation_size: int) -> None:
        super().__init__()
        self.generation_size = generation_size
        self.old_generation: dict[K, V] = {}

    def promote(self, key: K) -> V | None:
        """Return the value of a key in the old generation after moving it to the young one; None if it is not there."""
        value = self.old_generation.get(key)
        return None if value is None else self.insert(key, value)

    def insert(self, key: K, value: V) -> V:
        """Insert a value in the young generation and return it, or the one that another thread has inserted first.

        If the young generation is full, it becomes the old one before, which evicts the values of the old
        one.
        """
        if len(self) >= self.generation_size:
            young = self.copy()
            dict.clear(self)
            self.old_generation = young
        return self.setdefault(key, value)

    def all(self) -> dict[K, V]:
        """Return a dict of both generations, the values of the old one first."""
        return {**self.old_generation, **self}

    def clear(self) -> None:
        """Remove all values."""
        super().clear()
        self.old_generation = {}


class LRUCache(FastLRUCache[K, V]):
    """LRU cache with the dict interface: lookups find a key in either generation.

    >>> squares: LRUCache[int, int] = LRUCache(2)
    >>> for n in (1, 2, 3):
    ...     squares[n] = n * n
    >>> squares.get(1), 2 in squares, len(squares.all())
    (1, True, 3)
    """

    __slots__ = ()

    def get(self, key: K, default: V | None = None) -> V | None:  # type: ignore[override]
        value = super().get(key)
        if value is None and self.old_generation:
            value = self.promote(key)
        return default if value is None else value

    def __missing__(self, key: K) -> V:
        value = self.promote(key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        if key in self.old_generation:
            self.old_generation.pop(key, None)
        if dict.__contains__(self, key):
            super().__setitem__(key, value)
        else:
            self.insert(key, value)

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self, key) or key in self.old_generation


def get_or_create(table: MutableMapping[K, V], owner: K, make: Callable[[], V], max_entries: int) -> V:
    """Return the value of ``owner`` in a table with weak keys; on first use, create it with ``make()``.

    ``table`` is a dict in the order of use, approximately. When it has ``max_entries`` values, the oldest one
    is evicted: values that refer to their owners would otherwise keep them alive for ever.
    """
    value = table.get(owner)
    if value is None:
        if len(table) >= max_entries:
            evict_oldest(table)
        return table.setdefault(owner, make())
    if len(table) > max_entries // 2:  # refresh its position only if an eviction may be near
        table.pop(owner, None)
        value = table.setdefault(owner, value)
    return value


def evict_oldest(table: MutableMapping[Any, Any]) -> None:
    """Remove the entry that was inserted first; do nothing if another thread changes the table meanwhile."""
    with contextlib.suppress(KeyError, RuntimeError, StopIteration):
        del table[next(iter(table))]
