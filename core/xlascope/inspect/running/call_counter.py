"""Exact call counts of jitted functions, including calls in C++, and access to the results of some calls."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ..inspection_scope import inspecting
from .engines import CallHook, ExecutionEngine
from .periods import MIN_BLOCK_SECONDS

_log = logging.getLogger(__name__)

CallListener = Callable[[Any, Any, Any, bool], None]
#: Returns whether the arguments ``(args, kwargs)`` of the latest call of the function with a key are to be held.
HoldsArguments = Callable[[Any, Any], bool]
#: Returns the key by which a call with the arguments ``(args, kwargs)`` is counted, None for that of its function.
ReadProgram = Callable[[Any], Any]

#: Results are passed on after all of the first calls of one function, then after ever rarer ones, and after
#: :meth:`CallCounter.ask`. This covers a short cell, whose calls may all be dispatched before the first is done.
FIRST_REPORTED_CALLS, REPORT_GROWTH = 8, 1.12
#: Calls shorter than a block of the period (:data:`~.periods.MIN_BLOCK_SECONDS`) are joined to blocks, so they are
#: reported more rarely: noting a call takes some 60 µs, and more of them make neither the median nor the spread better.
#: So are calls shorter than ``MIN_NOTINGS_PER_CALL`` times what noting one takes.
SHORT_CALL_REPORT_GROWTH, MIN_NOTINGS_PER_CALL = 1.5, 12.0
UNREACHABLE_COUNT = 1 << 62


class CallCounter:
    """Counter of calls while it is started; some calls are also passed to ``on_call(key, arguments, results, first)``.

    Functions are those of one engine (``runs``), each identified by its key; ``first`` is true at the function's
    first call. The counter sees the calls that repeat in C++; those that go through Python (the first of their kind)
    are announced by a ``Started`` record of the stage ``run`` instead. ``on_call`` runs on the calling thread right
    after the call, and must not store the results.

    The arguments of the latest call of each function are held until :meth:`stop` if ``holds(key, arguments)`` says so,
    which is asked at its first call, and at the first call after each :meth:`ask`.
    """

    def __init__(self, runs: ExecutionEngine, on_call: CallListener, holds: HoldsArguments | None = None) -> None:
        self._runs = runs
        self._functions = _make_counter(runs.key, on_call, holds)
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

    def count_without_key(self) -> int:
        """Return the number of calls so far of functions that have no key."""
        return self._functions.read_without_key()

    def is_counted(self, key: Any) -> bool:
        """Return whether calls are counted by this key."""
        return self._functions.is_counted(key)

    def take_arguments(self) -> dict[Any, Any]:
        """Return the held arguments of the latest calls by the keys of functions, latest last, and release them."""
        return self._functions.take_arguments()

    def ask(self, calls: int) -> None:
        """Pass the results of the next ``calls`` calls to ``on_call``: two in a row give the time of one."""
        self._functions.ask(calls)

    def ask_each(self) -> None:
        """Pass the results of the next call of each function to ``on_call``."""
        self._functions.ask_each()

    def tell_apart(self, key: Any, read: ReadProgram) -> None:
        """Count the calls of the function with a key by what ``read(arguments)`` returns, where that is not None."""
        self._functions.tell_apart(key, read)


class _CounterFunctions(NamedTuple):
    """Functions of one counter: the hook that jaxlib calls, and those that read and control the counts."""

    hook: CallHook
    read: Callable[[], dict[Any, int]]
    is_counted: Callable[[Any], bool]
    ask: Callable[[int], None]
    read_without_key: Callable[[], int]
    take_arguments: Callable[[], dict[Any, Any]]
    ask_each: Callable[[], None]
    tell_apart: Callable[[Any, ReadProgram], None]


def _notify(on_call: CallListener, function: Any, arguments: Any, out: Any, first: bool) -> None:
    """Call ``on_call`` and log its exception, which would otherwise propagate to the user's call."""
    try:
        on_call(function, arguments, out, first)
    except Exception:
        _log.exception("telling of a call failed")


def _make_counter(
    key_of: Callable[[Any], Any], on_call: CallListener, holds: HoldsArguments | None
) -> _CounterFunctions:
    """Return a new counter: the hook for jaxlib, and the functions that read and control the counts.

    The hook runs after every call of every jitted function and has to be fast: two comparisons and one addition for a
    function that is called repeatedly (closure variables are the fastest in Python). ``key_of`` returns the key of a
    function, None if its calls are not counted. ``holds`` is as for :class:`CallCounter`.
    """
    current: Any = None
    function_key: Any = None
    key: Any = None
    count = 0
    mark = UNREACHABLE_COUNT
    pending_requests = 0
    without_key = 0
    noted = 0
    noting_seconds = 0.0
    counts: dict[Any, int] = {}
    due: dict[Any, int] = {}
    latest: dict[Any, tuple[int, float]] = {}
    is_holding = False
    is_size_due = False
    arguments_held: Any = None
    holding: dict[Any, bool] = {}
    latest_arguments: dict[Any, Any] = {}
    readers: dict[Any, ReadProgram] = {}

    def hook(function: Any, args: Any, kwargs: Any, out: Any) -> None:
        nonlocal count, arguments_held
        if function is current and count < mark:
            count += 1
            if is_holding:
                arguments_held = args, kwargs
        else:
            switch(function, (args, kwargs), out)

    def switch(function: Any, arguments: Any, out: Any) -> None:
        nonlocal current, function_key, key, count, mark, pending_requests, without_key
        if inspecting():
            return
        before, function_before, new_calls = key, function_key, count
        key = function_key = key_of(function)
        current, count, mark = function, 1, UNREACHABLE_COUNT
        if function_key in readers:
            key, current = readers[function_key](arguments) or function_key, None  # the next call may be of another
        if before is not None:
            counts[before] = counts.get(before, 0) + new_calls
        else:
            without_key += new_calls
        if holds is not None:
            store_held(function_before)
        if key is None:
            return
        first = key not in counts
        calls = counts.setdefault(key, 0) + 1
        is_requested, pending_requests = pending_requests > 0, max(pending_requests - 1, 0)
        is_due = calls >= due.get(key, 0)
        if is_due:
            due[key] = calls + 1 if calls < FIRST_REPORTED_CALLS else int(calls * find_growth(key, calls))
        mark = 1 if pending_requests else due[key] - calls
        if holds is not None:
            hold(arguments)
        if first or is_requested or is_due:
            note(arguments, out, first)

    def note(arguments: Any, out: Any, first: bool) -> None:
        nonlocal noted, noting_seconds
        began = time.perf_counter()
        _notify(on_call, key, arguments, out, first)
        if not first:  # whoever is told of the first call does more than note it
            noted, noting_seconds = noted + 1, noting_seconds + time.perf_counter() - began

    def store_held(before: Any) -> None:
        nonlocal is_holding, arguments_held
        if is_holding:
            latest_arguments.pop(before, None)
            latest_arguments[before] = arguments_held
        is_holding, arguments_held = False, None

    def hold(arguments: Any) -> None:
        nonlocal is_holding, arguments_held, is_size_due
        assert holds is not None
        latest_arguments.pop(function_key, None)  # before the question, which counts what is held
        if is_size_due or function_key not in holding:  # it takes long to find out where arguments are many
            holding[function_key] = holds(function_key, arguments)
        is_size_due = False
        is_holding = holding[function_key]
        arguments_held = arguments if is_holding else None

    def take_arguments() -> dict[Any, Any]:
        store_held(function_key)
        arguments_by_key = dict(latest_arguments)
        latest_arguments.clear()
        return arguments_by_key

    def find_growth(function_key: Any, calls: int) -> float:
        now = time.perf_counter()
        calls_before, before = latest.get(function_key, (0, now))
        latest[function_key] = calls, now
        seconds = (now - before) / max(calls - calls_before, 1)
        is_short = seconds < max(MIN_BLOCK_SECONDS, MIN_NOTINGS_PER_CALL * noting_seconds / max(noted, 1))
        return SHORT_CALL_REPORT_GROWTH if is_short else REPORT_GROWTH

    def read_counts() -> dict[Any, int]:
        totals = dict(counts)
        function, new_calls = key, count
        if function is not None:
            totals[function] = totals.get(function, 0) + new_calls
        return totals

    def read_without_key() -> int:
        return without_key + (count if key is None else 0)

    def ask(calls: int) -> None:
        nonlocal pending_requests, mark, is_size_due
        pending_requests, mark, is_size_due = calls, 0, True

    def ask_each() -> None:
        nonlocal mark
        due.clear()
        mark = 0

    def tell_apart(function: Any, read: ReadProgram) -> None:
        nonlocal current
        readers[function] = read
        current = None

    return _CounterFunctions(
        hook,
        read_counts,
        lambda counted_key: counted_key in counts,
        ask,
        read_without_key,
        take_arguments,
        ask_each,
        tell_apart,
    )
