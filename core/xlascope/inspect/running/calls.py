"""How often each jitted function is called: exact counts, calls in C++ included; and the results of a few of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

from ..quiet import inspecting
from .runs import Hook, Runs

_log = logging.getLogger(__name__)

Made = Callable[[Any, Any, bool], None]

#: Results are looked at after so many calls of one function in a row, then whenever :meth:`CallCounter.ask` was called:
#: those of a short cell, all of which may be made before the first is done.
MARKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
NEVER = 1 << 62


class CallCounter:
    """Counts while it is started. ``made`` is called with some calls' functions and results, right after the call.

    Functions are those of one engine, each by its key. It also says whether it is the function's first call. The
    counter hears of the calls that repeat in C++; those that need Python (the first of their kind) are announced by a
    ``Started`` record of the stage ``run`` instead. ``made`` runs on the thread that calls, and may not keep the
    results.
    """

    def __init__(self, runs: Runs, made: Made) -> None:
        self._runs = runs
        self._functions = _counting(runs.key, made)
        self._previous: Any = None
        self._on = False

    def start(self) -> None:
        """Count from now on, in place of whoever counted before."""
        if not self._on:
            self._previous = self._runs.hook()
            self._runs.set_hook(self._functions.hook)
            self._on = True

    def stop(self) -> None:
        """Count no more; whoever counted before counts again."""
        if self._on:
            self._on = False
            if self._runs.hook() is self._functions.hook:
                self._runs.set_hook(self._previous)

    def counts(self) -> dict[Any, int]:
        """The calls so far, by the keys of functions."""
        return self._functions.read()

    def counted(self, key: Any) -> bool:
        """Whether calls are counted by this key."""
        return self._functions.counted(key)

    def ask(self) -> None:
        """Hand the results of the next two calls to ``made``: two in a row tell what one of them took."""
        self._functions.ask()


class _Functions(NamedTuple):
    hook: Hook
    read: Callable[[], dict[Any, int]]
    counted: Callable[[Any], bool]
    ask: Callable[[], None]


def _guarded(made: Made, function: Any, out: Any, first: bool) -> None:
    """An exception here would come out of the user's call: it is logged instead."""
    try:
        made(function, out, first)
    except Exception:
        _log.exception("telling of a call failed")


def _counting(key_of: Callable[[Any], Any], made: Made) -> _Functions:
    """The hook, and what asks it.

    The hook runs after every call of every jitted function and has to be quick: two comparisons and one addition for a
    function that is called again and again (variables of a closure are the fastest Python has).
    """
    current: Any = None
    key: Any = None
    count = 0
    mark = NEVER
    asked = 0
    counts: dict[Any, int] = {}

    def hook(function: Any, args: Any, kwargs: Any, out: Any) -> None:
        nonlocal count
        if function is current and count < mark:
            count += 1
        else:
            switch(function, out)

    def switch(function: Any, out: Any) -> None:
        nonlocal current, key, count, mark, asked
        if inspecting():
            return
        before, passed = key, count
        key = key_of(function)
        current, count, mark = function, 1, NEVER
        if before is not None:
            counts[before] = counts.get(before, 0) + passed
        if key is None:
            return
        first = key not in counts
        calls = counts.setdefault(key, 0) + 1
        wanted, asked = asked > 0, max(asked - 1, 0)
        following = next((each for each in MARKS if each > calls), NEVER)
        mark = 1 if asked else following - calls
        if first or wanted or calls in MARKS:
            _guarded(made, key, out, first)

    def read() -> dict[Any, int]:
        found = dict(counts)
        function, passed = key, count
        if function is not None:
            found[function] = found.get(function, 0) + passed
        return found

    def ask() -> None:
        nonlocal asked, mark
        asked, mark = 2, 0

    return _Functions(hook, read, lambda each: each in counts, ask)
