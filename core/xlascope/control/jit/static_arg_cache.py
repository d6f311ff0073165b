"""Separate call caches for static values that jaxlib's call cache would confuse.

It distinguishes static values by type and ``==``, to which 0.0 is -0.0 and (2,) is (2.0,). Calls with such
values go through Python to a callable for this combination of values, with a call cache of its own.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, Protocol

from ...cache_keys import cache_key, is_identified_by_equality
from ...lru_cache import LRUCache
from ...xla.execution.call_cache import make_pjit
from .arguments import JitOptions, static_numbers

#: Static values, each with its position or name.
Statics = tuple[tuple[int | str, Any], ...]

_MAX_STATIC_VALUES = 1024


class HasCacheMiss(Protocol):
    """Protocol of the Python side of a jitted function, which runs calls that jaxlib's call cache does not have."""

    name: str
    options: JitOptions

    def cache_miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Run a call; return results, fast-path data (None if jaxlib cannot repeat it), and if caching is forbidden."""


class StaticArgCache:
    """Callables of one jitted function, one for each combination of static values, with a call cache each.

    They are found by the values' exact cache key, and by the values' identities, which is faster. The least recently
    used ones are dropped.
    """

    def __init__(self, owner: HasCacheMiss) -> None:
        self._owner = weakref.ref(owner)
        self._options = owner.options
        self._numbers: dict[int, list[int]] = {}  # the static positions, by how many arguments there are
        #: By the key of the values: the callable, and the identities with which it was called last.
        self._by_key: LRUCache[Any, list[Any]] = LRUCache(_MAX_STATIC_VALUES // 2)
        #: The same by identity, which is faster. The values are kept alive so that their ids stay valid. Each key has
        #: one entry, so a value that is created anew at each call, as a shape often is, does not fill the cache.
        self._by_identity: LRUCache[Any, tuple[Any, Statics]] = LRUCache(_MAX_STATIC_VALUES // 2)

    def find_confusable_statics(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Statics | None:
        """Return a call's static values if ``==`` does not identify one of them exactly (0.0 and -0.0), else None."""
        statics: list[tuple[int | str, Any]] = []
        if self._options.static_argnums:
            numbers = self._numbers.get(len(args))
            if numbers is None:
                numbers = self._numbers[len(args)] = static_numbers(self._options, len(args))
            statics += [(i, args[i]) for i in numbers]
        if kwargs:
            statics += [(name, kwargs[name]) for name in self._options.static_argnames if name in kwargs]
        for _, value in statics:
            if not is_identified_by_equality(value):
                return tuple(statics)
        return None

    def call(self, statics: Statics, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run a call through the callable for its static values, which :meth:`find_confusable_statics` returned."""
        ids = tuple([(position, id(value)) for position, value in statics])
        entry = self._by_identity.get(ids)
        if entry is None:
            entry = self._by_identity[ids] = self._get_function(statics, ids), statics
        dynamic_args, dynamic_kwargs = list(args), kwargs
        for position, _ in statics:
            if position.__class__ is int:
                dynamic_args[position] = None
            else:
                dynamic_kwargs = {name: x for name, x in dynamic_kwargs.items() if name != position}
        return entry[0](*dynamic_args, **dynamic_kwargs)

    def _get_function(self, statics: Statics, ids: tuple[Any, ...]) -> Any:
        """Return the callable for static values, created at first use.

        ``ids`` has the position and identity of each value. It is stored as the last such key of the callable, and the
        entry of the key before is dropped.
        """
        key = tuple([(position, cache_key(value)) for position, value in statics])
        entry = self._by_key.get(key)
        if entry is None:
            entry = self._by_key[key] = [_make_function(self._owner, statics), ids]
        function, earlier_ids = entry
        if earlier_ids != ids:
            entry[1] = ids
            self._by_identity.pop(earlier_ids, None)
            self._by_identity.old_generation.pop(earlier_ids, None)
        return function

    def clear(self) -> None:
        """Drop all callables."""
        self._by_key.clear()
        self._by_identity.clear()


def _make_function(owner: weakref.ref[HasCacheMiss], statics: Statics) -> Any:
    """Return a callable with a call cache of its own that calls the owner with these static values.

    It takes the dynamic arguments, with None in the positions of static ones.
    """
    numbered = {position: value for position, value in statics if isinstance(position, int)}
    names = {position: value for position, value in statics if isinstance(position, str)}

    def cache_miss(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        calls = owner()
        assert calls is not None  # the owner makes this call
        return calls.cache_miss(*[numbered.get(i, x) for i, x in enumerate(args)], **kwargs, **names)

    calls = owner()
    assert calls is not None
    return make_pjit(calls.name, cache_miss, cache_miss, (), (), ())
