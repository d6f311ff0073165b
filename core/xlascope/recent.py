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


class Recent(dict[K, V]):
    """LRU cache whose lookup is a plain dict access: as a dict it is the young generation.

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

    __slots__ = ("most", "older")

    def __init__(self, generation_size: int) -> None:
        super().__init__()
        self.most = generation_size
        self.older: dict[K, V] = {}

    def again(self, key: K) -> V | None:
        """Move the value of an old key to the young generation and return it; None if there is none."""
        value = self.older.get(key)
        return None if value is None else self.keep(key, value)

    def keep(self, key: K, value: V) -> V:
        """Insert a value in the young generation; return the present one when another thread was faster."""
        if len(self) >= self.most:
            young = self.copy()
            dict.clear(self)
            self.older = young
        return self.setdefault(key, value)

    def all(self) -> dict[K, V]:
        """Return both generations, the old one first."""
        return {**self.older, **self}

    def clear(self) -> None:
        """Remove all values."""
        super().clear()
        self.older = {}


class RecentlyUsed(Recent[K, V]):
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
        if value is None and self.older:
            value = self.again(key)
        return default if value is None else value

    def __missing__(self, key: K) -> V:
        value = self.again(key)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        if key in self.older:
            self.older.pop(key, None)
        if dict.__contains__(self, key):
            super().__setitem__(key, value)
        else:
            self.keep(key, value)

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self, key) or key in self.older


def kept_with(table: MutableMapping[K, V], owner: K, make: Callable[[], V], max_entries: int) -> V:
    """Return the value of an owner in a table with weak keys, created on first use; evict beyond ``max_entries``.

    Values that refer to their owners would keep them alive for ever, hence the bound.
    """
    value = table.get(owner)
    if value is None:
        if len(table) >= max_entries:
            forget_oldest(table)
        return table.setdefault(owner, make())
    if len(table) > max_entries // 2:  # refresh its position only if an eviction may be near
        table.pop(owner, None)
        value = table.setdefault(owner, value)
    return value


def forget_oldest(table: MutableMapping[Any, Any]) -> None:
    """Evict the oldest entry; do nothing when another thread is doing it."""
    with contextlib.suppress(KeyError, RuntimeError, StopIteration):
        del table[next(iter(table))]
