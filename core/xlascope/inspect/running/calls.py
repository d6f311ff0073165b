"""Exact call counts of jitted functions, including calls in C++, and access to the results of some calls."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

from ..quiet import inspecting
from .runs import Hook, Runs

_log = logging.getLogger(__name__)

Made = Callable[[Any, Any, bool], None]

#: Results are passed on after these numbers of calls of one function in a row, then only after :meth:`CallCounter.ask`.
#: This covers a short cell, whose calls may all be dispatched before the first is done.
MARKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
NEVER = 1 << 62


class CallCounter:
    """Counter of calls while it is started; ``on_call`` receives some calls' functions and results.

    Functions are those of one engine, each identified by its key. ``on_call`` is also told whether it is the
    function's first call. The counter sees the calls that repeat in C++; those that go through Python (the first
    of their kind) are announced by a ``Started`` record of the stage ``run`` instead. ``on_call`` runs on the
    calling thread right after the call, and must not keep the results.
    """

    def __init__(self, runs: Runs, on_call: Made) -> None:
        self._runs = runs
        self._functions = _counting(runs.key, on_call)
        self._previous: Any = None
        self._on = False

    def start(self) -> None:
        """Start counting, in place of the previous hook."""
        if not self._on:
            self._previous = self._runs.hook()
            self._runs.set_hook(self._functions.hook)
            self._on = True

    def stop(self) -> None:
        """Stop counting and restore the previous hook."""
        if self._on:
            self._on = False
            if self._runs.hook() is self._functions.hook:
                self._runs.set_hook(self._previous)

    def counts(self) -> dict[Any, int]:
        """Return the calls so far, by the keys of functions."""
        return self._functions.read()

    def counted(self, key: Any) -> bool:
        """Return whether calls are counted by this key."""
        return self._functions.counted(key)

    def ask(self) -> None:
        """Pass the results of the next two calls to ``on_call``: two in a row give the time of one."""
        self._functions.ask()


class _Functions(NamedTuple):
    hook: Hook
    read: Callable[[], dict[Any, int]]
    counted: Callable[[Any], bool]
    ask: Callable[[], None]


def _guarded(on_call: Made, function: Any, out: Any, first: bool) -> None:
    """Call ``on_call`` and log its exception, which would otherwise reach the user's call."""
    try:
        on_call(function, out, first)
    except Exception:
        _log.exception("telling of a call failed")


def _counting(key_of: Callable[[Any], Any], on_call: Made) -> _Functions:
    """Return the hook and the functions that query it.

    The hook runs after every call of every jitted function and has to be fast: two comparisons and one addition
    for a function that is called repeatedly (closure variables are the fastest in Python).
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
        before, new_calls = key, count
        key = key_of(function)
        current, count, mark = function, 1, NEVER
        if before is not None:
            counts[before] = counts.get(before, 0) + new_calls
        if key is None:
            return
        first = key not in counts
        calls = counts.setdefault(key, 0) + 1
        wanted, asked = asked > 0, max(asked - 1, 0)
        following = next((reported for reported in MARKS if reported > calls), NEVER)
        mark = 1 if asked else following - calls
        if first or wanted or calls in MARKS:
            _guarded(on_call, key, out, first)

    def read_counts() -> dict[Any, int]:
        totals = dict(counts)
        function, new_calls = key, count
        if function is not None:
            totals[function] = totals.get(function, 0) + new_calls
        return totals

    def ask() -> None:
        nonlocal asked, mark
        asked, mark = 2, 0

    return _Functions(hook, read_counts, lambda function_key: function_key in counts, ask)
