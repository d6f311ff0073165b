"""Cache of what is derived from records, by the identity of their parts: comparing records by value is slow."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

#: The number of results that a cache holds: those of the programs of the cells that are run again and again.
MAX_RESULTS = 16


class IdentityCache(Generic[T]):
    """Cache of the latest results of a computation on objects that do not change, from any thread.

    A cell that runs again has the same programs, so what follows from these alone is the same as in the last run.

    >>> cache: IdentityCache[int] = IdentityCache()
    >>> text = "some text"
    >>> cache.get_or_compute((text,), (), lambda: 1), cache.get_or_compute((text,), (), lambda: 2)
    (1, 1)
    """

    def __init__(self, max_results: int = MAX_RESULTS) -> None:
        self._results: OrderedDict[tuple[Hashable, ...], tuple[tuple[object, ...], T]] = OrderedDict()
        self._max_results = max_results
        self._lock = threading.Lock()

    def get_or_compute(self, objects: tuple[object, ...], values: tuple[Hashable, ...], compute: Callable[[], T]) -> T:
        """Return the result for these very ``objects`` and equal ``values``; it holds the objects, and is shared."""
        key = (*map(id, objects), *values)
        with self._lock:
            entry = self._results.get(key)
            if entry is not None:
                self._results.move_to_end(key)
                return entry[1]
        result = compute()
        with self._lock:
            self._results[key] = objects, result
            while len(self._results) > self._max_results:
                self._results.popitem(last=False)
        return result
