"""Who turns a call into a program, and finds a program by its number: our engine, and others that are registered."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, NamedTuple, Protocol

from ..entry_points import find_entry_points
from ..starting import engine, is_started
from .program import Program
from .quiet import inspection

_log = logging.getLogger(__name__)

#: Entry points of the group are named by the module whose programs they watch: functions that begin it.
GROUP = "xlascope.watchers"


class Asked(NamedTuple):
    """A call that is asked about and not made: see :func:`call`."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


#: What questions are asked about.
Subject = Callable[..., Any] | Asked | Program


class Producer(Protocol):
    """Something that has programs: an engine, or who watches one.

    ``program(asked)`` traces a call, and is None when the function is not this producer's; ``find(number)`` is the
    program that has a number, None when it has none of that number or knows it no more.
    """

    def program(self, asked: Asked) -> Program | None: ...

    def find(self, number: int) -> Program | None: ...


_registered: list[Producer] = []


def register_producer(producer: Producer) -> Callable[[], None]:
    """Let a producer be asked before our engine, and before those registered earlier; returns what undoes that.

    While one answers for a function our engine is not started for it.
    """
    _registered.insert(0, producer)
    return lambda: _registered.remove(producer)


def call(fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Asked:
    """The call ``fun(*args, **kwargs)``, for :func:`xlascope.inspect.diff` and its kin.

    Without keywords a tuple ``(fun, *args)`` does as well.

    >>> call(max, 1, 2).args
    (1, 2)
    """
    return Asked(fun, args, kwargs)


def program_of(fun: Subject, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Program:
    """The program that a question's arguments name: one given as such, or that of a call, traced now.

    Raises what tracing raises, and TypeError for a program with arguments.
    """
    if isinstance(fun, Program):
        if args or kwargs:
            raise TypeError("a program takes no arguments: it has its own. Example: inspect.why(program)")
        return fun
    asked = fun if isinstance(fun, Asked) else Asked(fun, args, kwargs or {})
    with inspection():
        return next(made for each in _producers() if (made := each.program(asked)) is not None)


def find_program(number: int) -> Program | None:
    """The program of a number, in this process; None when nobody knows it, or its function is gone."""
    producers = _producers() if is_started() else _registered
    with inspection():
        return next((found for each in producers if (found := each.find(number)) is not None), None)


def _producers() -> Iterator[Producer]:
    """Those registered, and our engine, which takes any function: started when nobody else does."""
    if not _registered:
        _watch_what_is_imported()
    yield from tuple(_registered)
    yield engine()


def _watch_what_is_imported() -> None:
    """Where a question may be about a function of jax and nobody watches jax: from now on it is watched."""
    for each in _installed():
        if each.name in sys.modules:
            try:
                each.load()()
            except Exception as error:  # whatever its package does when it is imported
                _log.warning("programs of %s are not known (%s: %s)", each.name, type(error).__name__, error)


@cache
def _installed() -> tuple[EntryPoint, ...]:
    return find_entry_points(GROUP)
