"""Registry of producers, which turn a call into a program and find programs by number."""

from __future__ import annotations

import functools
import logging
import sys
import types
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, Literal, NamedTuple, Protocol

from ..bootstrap import get_engine, is_started
from ..entry_points import find_entry_points
from .inspection_scope import inspection
from .program import Program
from .restored_objects import attributes_restored, find_referenced_values
from .written_call import WrittenCall

_log = logging.getLogger(__name__)

#: Entry points of the group have the name of the module whose programs they watch. They are functions that start it.
GROUP = "xlascope.watchers"


class Query(NamedTuple):
    """Call that is inspected and not executed: see :func:`call`."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


#: Subject of a question.
Subject = Callable[..., Any] | Query | Program


class Producer(Protocol):
    """Provider of programs: an engine, or a watcher of one.

    ``program(query)`` traces a call, and returns None when the function is not this producer's; ``find(number)``
    returns the program with a number, or None when the producer has none. ``written_call(query)`` returns the call as
    its user wrote it, ``"jitted"`` when the function is jitted already, and None when it is not this producer's.
    """

    def program(self, query: Query) -> Program | None: ...

    def find(self, number: int) -> Program | None: ...

    def written_call(self, query: Query) -> WrittenCall | Literal["jitted"] | None: ...


_registered: list[Producer] = []


def register_producer(producer: Producer) -> Callable[[], None]:
    """Register a producer before the engine and all earlier producers; return a function that removes it.

    While a registered producer accepts a function, xlascope's engine is not started for it.
    """
    _registered.insert(0, producer)
    return lambda: _registered.remove(producer)


def call(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Query:
    """Return the call ``fun(*args, **kwargs)`` as an argument of :func:`xlascope.inspect.diff` and similar functions.

    Without keywords a tuple ``(fun, *args)`` does as well.

    >>> call(max, 1, 2).args
    (1, 2)
    """
    return Query(fun, args, kwargs)


def bind_jitted(query: Query) -> Query:
    """Return the call of a jitted method, or of a partial of a jitted function, as one of the jitted function itself.

    The question is about its program, which was jitted by the user. Any other call is returned as it is.

    >>> bind_jitted(Query(functools.partial(max, 1), (2,), {})).args
    (2,)
    """
    function: Any = query.function
    args, kwargs = query.args, query.kwargs
    while isinstance(function, (functools.partial, types.MethodType)):
        if isinstance(function, types.MethodType):
            function, args = function.__func__, (function.__self__, *args)
        else:
            function, args, kwargs = function.func, (*function.args, *args), {**function.keywords, **kwargs}
    is_jitted = all(callable(getattr(function, name, None)) for name in ("lower", "trace"))
    return Query(function, args, kwargs) if is_jitted else query


def program_of(fun: Subject, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Program:
    """Return the program to inspect: ``fun`` itself if it is one, else that of the call ``fun(*args, **kwargs)``.

    The call is traced now, not executed. A :class:`Query` as ``fun`` stands for its call. Raises what tracing raises,
    and TypeError for a program with arguments.
    """
    if isinstance(fun, Program):
        if args or kwargs:
            raise TypeError("a program takes no arguments: it has its own. Example: inspect.why(program)")
        return fun
    query = bind_jitted(fun if isinstance(fun, Query) else Query(fun, args, kwargs or {}))
    with inspection(), attributes_restored(find_referenced_values(query.function, query.args)):
        return next(program for producer in _producers() if (program := producer.program(query)) is not None)


def written_call_of(
    fun: Subject, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> WrittenCall | None:
    """Return the call ``fun(*args, **kwargs)`` as its user wrote it; None for a jitted function and for a program.

    Arguments are as for :func:`program_of`.
    """
    if isinstance(fun, Program):
        return None
    query = bind_jitted(fun if isinstance(fun, Query) else Query(fun, args, kwargs or {}))
    calls = (producer.written_call(query) for producer in _producers() if hasattr(producer, "written_call"))
    call = next((call for call in calls if call is not None), None)
    return call if isinstance(call, WrittenCall) else None


def find_program(number: int) -> Program | None:
    """Return the program with a number in this process, or None when it is unknown or its function is gone."""
    producers = _producers() if is_started() else _registered
    with inspection():
        return next((program for producer in producers if (program := producer.find(number)) is not None), None)


def _producers() -> Iterator[Producer]:
    """Yield the registered producers, and then the engine, which accepts any function and is started for it."""
    if not _registered:
        _load_watchers_of_imported_modules()
    yield from tuple(_registered)
    yield get_engine()


def _load_watchers_of_imported_modules() -> None:
    """Load the watchers of modules that are imported, such as jax, if no producer is registered."""
    for entry_point in _installed_watchers():
        if entry_point.name in sys.modules:
            try:
                entry_point.load()()
            except Exception as error:  # whatever its package does when it is imported
                _log.warning("programs of %s are not known (%s: %s)", entry_point.name, type(error).__name__, error)


@cache
def _installed_watchers() -> tuple[EntryPoint, ...]:
    return find_entry_points(GROUP)
