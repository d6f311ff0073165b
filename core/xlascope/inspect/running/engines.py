"""Registry of execution engines for the sampler: xlascope's once it is started, and others.

Every engine that executes programs registers itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ... import records

#: Called as ``(function, args, kwargs, out)`` after each call that jaxlib repeats in C++.
CallHook = Callable[[Any, Any, Any, Any], None]
#: Called with a program's number and results when a call of it that went through Python is dispatched.
DispatchListener = Callable[[int, Any], None]


class WatchedProgram(NamedTuple):
    """Program of a watched function: its number and name; ``modules()`` are those compiled for it so far."""

    number: int
    name: str
    modules: Callable[[], Iterable[str]]


class ReplayableCall(NamedTuple):
    """Call whose arguments were held: a jitted function, its arguments, and the numbers of its programs so far."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    programs: tuple[int, ...]


class ArgumentHolder(Protocol):
    """Holder of the arguments of the latest calls of an engine's functions, from when it is made to ``stop``."""

    def holds(self, key: Any, arguments: Any) -> bool:
        """Return whether the arguments of the latest call of a function may be held."""

    def stop(self, arguments: Mapping[Any, Any]) -> tuple[list[ReplayableCall], list[str]]:
        """Return the latest calls that can be made again, latest first, and why others cannot.

        ``arguments`` are those of calls in C++, by the keys of functions, latest last.
        """


class ExecutionEngine(Protocol):
    """Engine in this process whose calls can be counted and whose programs are known by its functions.

    ``dispatched`` holds the listeners for calls that go through Python (after a ``Started`` record of the stage
    ``run`` on the same thread); calls that stay in C++ are reported to the hook.
    """

    dispatched: list[DispatchListener]

    def hook(self) -> CallHook | None:
        """Return the current hook."""

    def set_hook(self, hook: CallHook | None) -> None:
        """Set the hook that is called after calls, including those of other engines in the process."""

    def key(self, function: Any) -> Any:
        """Return the key by which the calls of a function are counted; None for a function of another engine.

        It is the function itself, unless the engine creates another for each call.
        """

    def is_operation(self, key: Any) -> bool:
        """Return whether the function that has this key belongs to the library: a call of it is an eager operation."""

    def programs(self, key: Any) -> Sequence[WatchedProgram]:
        """Return all programs so far of the function that has this key, oldest first."""

    def find_program(self, key: Any, arguments: Any) -> int | None:
        """Return the number of the program that a call just ran, from its arguments ``(args, kwargs)``.

        ``key`` is that of its function. None if it is not known. It is called on the thread of the call.
        """

    def argument_types(self, key: Any) -> Mapping[int, Mapping[Any, Any]]:
        """Return the types of the arguments by path, of each program of the function that has this key by number.

        Paths and types are those of :mod:`.program_reader`. Empty if they are not known.
        """

    def records_of(self, number: int) -> Iterable[records.Record]:
        """Return the records of an existing program: ``Traced``, and ``Compiled`` of what was compiled."""

    def remember(self, record: records.Traced | records.Compiled) -> None:
        """Cache a record that is expensive to rebuild."""

    def leaves(self, out: Any) -> list[Any]:
        """Return the arrays among the results of a call."""

    def argument_holder(self) -> ArgumentHolder | None:
        """Return a new holder of arguments; None if calls of this engine cannot be made again."""

    def labels(self) -> Mapping[tuple[str, int], str]:
        """Return the unique labels of modules that share a name, by name and XLA's program id."""


_registered: list[ExecutionEngine] = []
_subscribers: list[Callable[[ExecutionEngine], None]] = []


def register_engine(engine: ExecutionEngine) -> Callable[[], None]:
    """Register an engine with current and future subscribers; return a function that removes it."""
    _registered.append(engine)
    for callback in tuple(_subscribers):
        callback(engine)
    return lambda: _registered.remove(engine)


def subscribe(callback: Callable[[ExecutionEngine], None]) -> Callable[[], None]:
    """Call ``callback`` with each current and future engine; return a function that ends the subscription."""
    _subscribers.append(callback)
    for engine in tuple(_registered):
        callback(engine)
    return lambda: _subscribers.remove(callback)


def registered_engines() -> tuple[ExecutionEngine, ...]:
    """Return the engines of this process so far, in the order in which they registered."""
    return tuple(_registered)
