"""Late-bound hooks: set by higher layers, called by lower ones that cannot import them.

Inspecting programs needs no engine, and in a process of another engine ours must not start: its first use
sets jaxlib's process-wide state. It is started by the first question about a function that belongs to no
other engine.
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


#: Fills the table of methods of arrays and tracers (``trace/methods.py``); set by a higher layer.
fill_methods: Callable[[], None] = _nobody

#: Returns the module with the methods of ufuncs (``add.reduce``); set by a higher layer.
ufunc_methods: Callable[[], Any] = _nobody

#: Registers arrays and tracers with a library, given its imported module's name.
register_with_library: Callable[[str], None] = _nobody


def is_library(filename: str) -> bool:
    """Return whether a file belongs to the library."""
    return filename.startswith(_LIBRARY)


def _plain_where() -> str:
    """Return the user's line, `` at file.py:12 (in f)``: that of the innermost frame outside the library."""
    frame = sys._getframe(1)
    while is_library(frame.f_code.co_filename):
        if frame.f_back is None:
            return ""
        frame = frame.f_back
    return f" at {frame.f_code.co_filename}:{frame.f_lineno} (in {frame.f_code.co_qualname})"


#: Returns the user's line, for layers below ``ir/sources.py``, which replaces it to use the display names of files.
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
    """Set the function that starts the engine: ``start()`` returns the object that makes programs of calls."""
    global _start
    _start = start


def engine() -> Any:
    """Return the engine, which makes programs of calls; start it on first use."""
    global _started
    if _started is None:
        assert _start is not None  # xlascope/__init__.py sets it
        _started = _start()
    return _started


def is_started() -> bool:
    """Return whether the engine has been booted in this process; if not, it has no programs."""
    return "xlascope.runtime.boot" in sys.modules
