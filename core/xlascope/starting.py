"""What is handed down: said from above, where it is known, and used from below, where nobody may know it.

Looking at programs needs no engine, and in a process that belongs to another one ours must not start: its first use
sets jaxlib's process-wide state. It is started by the first question that is about a function of nobody else's.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_LIBRARY = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _nobody(*_: object) -> None:
    raise RuntimeError("nobody has said how the method table is filled: import xlascope, not a module of it by itself")


#: Fills the table of methods of arrays and tracers (``trace/methods.py``), for what fills it stands above.
fill_methods: Callable[[], None] = _nobody

#: Gives the methods of ufuncs (``add.reduce``), which stand above the functions that have them.
ufunc_methods: Callable[[], Any] = _nobody

#: Lets a library know arrays and tracers, once its module of that name has been imported.
register_with_library: Callable[[str], None] = _nobody


def is_library(filename: str) -> bool:
    """Return whether a file belongs to the library."""
    return filename.startswith(_LIBRARY)


def _plain_where() -> str:
    """Return the user's line, `` at file.py:12 (in f)``: that of the innermost frame that is not the library's."""
    frame = sys._getframe(1)
    while is_library(frame.f_code.co_filename):
        if frame.f_back is None:
            return ""
        frame = frame.f_back
    return f" at {frame.f_code.co_filename}:{frame.f_lineno} (in {frame.f_code.co_qualname})"


#: Says where the user's program is, for what stands below ``ir/sources.py``, which also knows what files are called.
where: Callable[[], str] = _plain_where

#: What people call a file: ``In[7]`` for the cell of a notebook.
title: Callable[[str], str] = str


def compose_message(what: str, fix: str = "", place: str | None = None) -> str:
    """Return the message of an error: what was wrong, how to mend it, and the user's line, each on a line of its own.

    ``place`` is `` at file.py:12 (in f)``, by default the user's line; nothing is said of one that is not known.

    >>> print(compose_message("x is a list.", "Make an array of it.", " at program.py:3 (in f)"))
    x is a list.
    Make an array of it.
    At program.py:3 (in f).
    """
    here = where() if place is None else place
    return "\n".join([what, *[fix] * bool(fix), *[f"At{here[3:]}."] * bool(here)])


#: Takes the library's frames from the traceback of an exception, for what stands below ``traceback_filtering``.
filter_traceback: Callable[[BaseException], None] = _nobody


def boundary(function: F) -> F:
    """Decorator for a function that users call: exceptions that leave it show no frames of the library."""

    @functools.wraps(function)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            filter_traceback(error)
            raise

    return bounded  # type: ignore[return-value]


_start: Callable[[], Any] | None = None
_started: Any = None


def start_with(start: Callable[[], Any]) -> None:
    """Say how the engine is started: ``start()`` returns what turns calls into programs."""
    global _start
    _start = start


def engine() -> Any:
    """What turns calls into programs: the engine, started now if it was not before."""
    global _started
    if _started is None:
        assert _start is not None  # xlascope/__init__.py says it
        _started = _start()
    return _started


def is_started() -> bool:
    """Whether somebody uses the engine in this process; where nobody does it has no programs."""
    return "xlascope.runtime.boot" in sys.modules
