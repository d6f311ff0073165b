"""Caches with a bound: what was used last stays.

Two generations of at most ``most`` values each. What is made is young, and so is what is found among the old; when the
young ones are too many they become the old ones, and those that were old, unused since then, are forgotten. A young
value is found by one look into a dictionary, with nothing written down about its use: that is what a list in the order
of use would cost at each hit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, MutableMapping
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, V]):
    """The values used last, for who is in a hurry: as a dictionary it is the young generation.

    >>> squares: Recent[int, int] = Recent(2)
    >>> for n in (1, 2, 3):
    ...     _ = squares.get(n) or squares.again(n) or squares.keep(n, n * n)
    >>> squares, squares.older
    ({3: 9}, {1: 1, 2: 4})
    >>> squares.again(1), squares.again(7)
    (1, None)
    >>> squares.keep(4, 16), squares, squares.older
    (16, {4: 16}, {3: 9, 1: 1})
    """

    __slots__ = ("most", "older")

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.older: dict[K, V] = {}

    def again(self, key: K) -> V | None:
        """The value of an old key, which is young from now on; None if there is none."""
        found = self.older.get(key)
        return None if found is None else self.keep(key, found)

    def keep(self, key: K, value: V) -> V:
        """Keep a value, which is young; returns the one that is there when another thread was faster."""
        if len(self) >= self.most:
            young = self.copy()
            dict.clear(self)
            self.older = young
        return self.setdefault(key, value)

    def all(self) -> dict[K, V]:
        """Both generations, the old one first."""
        return {**self.older, **self}

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self.older = {}


class RecentlyUsed(Recent[K, V]):
    """The values used last, for who is not: looking a key up finds it in either generation, and setting keeps.

    >>> squares: RecentlyUsed[int, int] = RecentlyUsed(2)
    >>> for n in (1, 2, 3):
    ...     squares[n] = n * n
    >>> squares.get(1), 2 in squares, len(squares.all())
    (1, True, 3)
    """

    __slots__ = ()

    def get(self, key: K, default: V | None = None) -> V | None:  # type: ignore[override]
        found = super().get(key)
        if found is None and self.older:
            found = self.again(key)
        return default if found is None else found

    def __missing__(self, key: K) -> V:
        found = self.again(key)
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key: K, value: V) -> None:
        if key in self.older:
            self.older.pop(key, None)
        if dict.__contains__(self, key):
            super().__setitem__(key, value)
        else:
            self.keep(key, value)

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self, key) or key in self.older


def kept_with(table: MutableMapping[K, V], owner: K, make: Callable[[], V], most: int) -> V:
    """What a table that holds its keys weakly keeps for an owner, made at first; of ``most`` owners, those used last.

    Values that lead back to their owners would keep them for ever, which is why there is a bound.
    """
    found = table.get(owner)
    if found is None:
        if len(table) >= most:
            forget_oldest(table)
        return table.setdefault(owner, make())
    if len(table) > most // 2:  # or else nothing is forgotten soon
        table.pop(owner, None)
        found = table.setdefault(owner, found)
    return found


def forget_oldest(table: MutableMapping[Any, Any]) -> None:
    """Make room for one more; nothing when another thread is doing it."""
    with contextlib.suppress(KeyError, RuntimeError, StopIteration):
        del table[next(iter(table))]
