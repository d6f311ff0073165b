"""How often each jitted function is called: exact counts, calls in jaxlib's C++ included."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ...runtime.boot import post_hook
from ..quiet import inspecting

_log = logging.getLogger(__name__)

Hook = Callable[[Any, Any, Any, Any], None]
Count = Callable[[], dict[Any, int]]


class CallCounter:
    """Counts while it is started. ``first`` is called with a function when it is called for the first time.

    It hears of the calls that repeat in C++; those that need Python (the first of their kind) are announced by a
    ``Started`` record of the stage ``run`` instead. ``first`` runs on the thread that calls, right after the call.
    """

    def __init__(self, first: Callable[[Any], None]) -> None:
        self._hook, self._read = _counting(first)
        self._previous: Any = None
        self._on = False

    def start(self) -> None:
        """Count from now on, in place of whoever counted before."""
        if not self._on:
            self._previous = post_hook.get_global()
            post_hook.set_global(self._hook)
            self._on = True

    def stop(self) -> None:
        """Count no more; whoever counted before counts again."""
        if self._on:
            self._on = False
            if post_hook.get_global() is self._hook:
                post_hook.set_global(self._previous)

    def counts(self) -> dict[Any, int]:
        """The calls of each function so far."""
        return self._read()


def _guarded(first: Callable[[Any], None], function: Any) -> None:
    """An exception here would come out of the user's call: it is logged instead."""
    try:
        first(function)
    except Exception:
        _log.exception("telling of a first call failed")


def _counting(first: Callable[[Any], None]) -> tuple[Hook, Count]:
    """The hook, and what reads it.

    The hook runs after every call of every jitted function and has to be quick: one comparison and one addition for a
    function that is called again and again (variables of a closure are the fastest Python has).
    """
    current: Any = None
    count = 0
    counts: dict[Any, int] = {}

    def hook(function: Any, args: Any, kwargs: Any, out: Any) -> None:
        nonlocal count
        if function is current:
            count += 1
        else:
            switch(function)

    def switch(function: Any) -> None:
        nonlocal current, count
        if inspecting():
            return
        before, passed = current, count
        current, count = function, 1
        if before is not None:
            counts[before] = counts.get(before, 0) + passed
        if function not in counts:
            counts[function] = 0
            _guarded(first, function)

    def read() -> dict[Any, int]:
        found = dict(counts)
        function, passed = current, count
        if function is not None:
            found[function] = found.get(function, 0) + passed
        return found

    return hook, read
