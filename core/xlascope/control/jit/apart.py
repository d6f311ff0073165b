"""Static values that jaxlib would confuse: its call cache tells them apart by type and ``==``, to which 0.0 is -0.0
and (2,) is (2.0,). Their calls go through Python to a callable for this one value, with a call cache of its own.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, Protocol

from ...keys import key_of, told_apart_by_equality
from ...recent import RecentlyUsed
from ...xla.running.call_cache import make_pjit
from .arguments import Options, static_numbers

#: Static values, each with its place: a position, or a name.
Statics = tuple[tuple[int | str, Any], ...]

_MOST_VALUES = 1024


class Calls(Protocol):
    """What runs calls that jaxlib does not know: the Python side of a jitted function."""

    name: str
    options: Options

    def cache_miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Run a call; returns the result, how to repeat it, and whether jaxlib has to forget it."""


class KeptApart:
    """The callables of one jitted function, one for each combination of static values."""

    def __init__(self, owner: Calls) -> None:
        self._owner = weakref.ref(owner)
        self._options = owner.options
        self._numbers: dict[int, list[int]] = {}  # the static positions, by how many arguments there are
        #: By the key of the values: the callable, and the identities with which it was called last.
        self._by_key: RecentlyUsed[Any, list[Any]] = RecentlyUsed(_MOST_VALUES // 2)
        #: The same by identity, which is quicker; the values are kept, so that an id means what it meant. Each key has
        #: one entry: a value that is made anew at each call, as a shape often is, does not fill the cache.
        self._by_identity: RecentlyUsed[Any, tuple[Any, Statics]] = RecentlyUsed(_MOST_VALUES // 2)

    def confusable(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Statics | None:
        """The static values of a call when jaxlib might confuse one of them with another; None when it cannot."""
        statics: list[tuple[int | str, Any]] = []
        if self._options.static_argnums:
            numbers = self._numbers.get(len(args))
            if numbers is None:
                numbers = self._numbers[len(args)] = static_numbers(self._options, len(args))
            statics += [(i, args[i]) for i in numbers]
        if kwargs:
            statics += [(name, kwargs[name]) for name in self._options.static_argnames if name in kwargs]
        for _, value in statics:
            if not told_apart_by_equality(value):
                return tuple(statics)
        return None

    def call(self, statics: Statics, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run a call through the callable for its static values."""
        ids = tuple([(place, id(value)) for place, value in statics])
        known = self._by_identity.get(ids)
        if known is None:
            known = self._by_identity[ids] = self._function_for(statics, ids), statics
        moving, named = list(args), kwargs
        for place, _ in statics:
            if place.__class__ is int:
                moving[place] = None
            else:
                named = {name: x for name, x in named.items() if name != place}
        return known[0](*moving, **named)

    def _function_for(self, statics: Statics, ids: tuple[Any, ...]) -> Any:
        key = tuple([(place, key_of(value)) for place, value in statics])
        found = self._by_key.get(key)
        if found is None:
            found = self._by_key[key] = [_function_of(self._owner, statics), ids]
        function, earlier = found
        if earlier != ids:
            found[1] = ids
            self._by_identity.pop(earlier, None)
            self._by_identity.older.pop(earlier, None)
        return function

    def clear(self) -> None:
        """Forget the callables."""
        self._by_key.clear()
        self._by_identity.clear()


def _function_of(owner: weakref.ref[Calls], statics: Statics) -> Any:
    """A callable of the arguments that are not static (None stands in the places of those that are)."""
    numbered = {place: value for place, value in statics if isinstance(place, int)}
    names = {place: value for place, value in statics if isinstance(place, str)}

    def cache_miss(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        calls = owner()
        assert calls is not None  # it is the one who calls
        return calls.cache_miss(*[numbered.get(i, x) for i, x in enumerate(args)], **kwargs, **names)

    calls = owner()
    assert calls is not None
    return make_pjit(calls.name, cache_miss, cache_miss, (), (), ())
