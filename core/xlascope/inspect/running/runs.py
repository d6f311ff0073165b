"""Who runs programs, so that they can be watched: our engine once it is started, and others that are registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ... import records

#: Called as ``(function, args, kwargs, out)`` after each call that jaxlib repeats in C++.
Hook = Callable[[Any, Any, Any, Any], None]
#: Called with a program's number and results when a call of it that came through Python is on its way.
Dispatched = Callable[[int, Any], None]


class Known(NamedTuple):
    """A program that a function has led to: its number and name; ``modules()`` are those it was compiled to so far."""

    number: int
    name: str
    modules: Callable[[], Iterable[str]]


class Runs(Protocol):
    """An engine in this process whose calls can be counted and whose programs are known by its functions.

    ``dispatched`` holds who is told of calls that come through Python (after a ``Started`` record of the stage ``run``
    on the same thread); those that stay in C++ are heard by the hook.
    """

    dispatched: list[Dispatched]

    def hook(self) -> Hook | None:
        """Who hears of calls now."""

    def set_hook(self, hook: Hook | None) -> None:
        """Let somebody hear of calls: those of other engines in the process, too."""

    def key(self, function: Any) -> Any:
        """What the calls of a function are counted by; None for one that is not this engine's.

        It is the function itself, unless the engine makes another for each call.
        """

    def programs(self, key: Any) -> Sequence[Known]:
        """All programs so far of the function that has this key, oldest first."""

    def records_of(self, number: int) -> Iterable[records.Record]:
        """What is known of a program that was made before: ``Traced``, and ``Compiled`` of what was compiled."""

    def remember(self, record: records.Traced | records.Compiled) -> None:
        """Keep a record that would be dear to put together again."""

    def leaves(self, out: Any) -> list[Any]:
        """The arrays among the results of a call."""

    def labels(self) -> Mapping[tuple[str, int], str]:
        """What ``Compiled.module`` calls a module of which several have the name: by name and XLA's number of it."""


_registered: list[Runs] = []
_newcomers: list[Callable[[Runs], None]] = []


def register_runs(runs: Runs) -> Callable[[], None]:
    """Let whoever watches hear of the programs of an engine, now and later; returns what undoes that."""
    _registered.append(runs)
    for welcome in tuple(_newcomers):
        welcome(runs)
    return lambda: _registered.remove(runs)


def meet(welcome: Callable[[Runs], None]) -> Callable[[], None]:
    """Call ``welcome`` with each engine, those registered and those to come; returns what ends that."""
    _newcomers.append(welcome)
    for runs in tuple(_registered):
        welcome(runs)
    return lambda: _newcomers.remove(welcome)
