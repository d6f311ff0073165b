"""Late-bound hooks: set by higher layers, called by lower ones that cannot import them.

Inspecting programs does not need the engine, and it must not start in a process that uses another engine, since its
first use sets jaxlib's process-wide state. It starts with the first question about a function that belongs to no other
engine.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_LIBRARY = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _not_configured(*_: object) -> None:
    raise RuntimeError("nobody has said how the method table is filled: import xlascope, not a module of it by itself")


#: Fills the table of methods of arrays and tracers (``trace/methods.py``); set by a higher layer.
fill_methods: Callable[[], None] = _not_configured

#: Returns the module with the methods of ufuncs (such as ``add.reduce``); set by a higher layer.
ufunc_methods: Callable[[], Any] = _not_configured

#: Registers arrays and tracers with a library, given its imported module's name.
register_with_library: Callable[[str], None] = _not_configured


def is_library(filename: str) -> bool:
    """Return whether a file belongs to the library ``xlascope`` rather than to the user or another package."""
    return filename.startswith(_LIBRARY)


def _default_user_location() -> str:
    """Return the user's line as `` at file.py:12 (in f)``: that of the innermost frame outside the library; or ""."""
    frame = sys._getframe(1)
    while is_library(frame.f_code.co_filename):
        if frame.f_back is None:
            return ""
        frame = frame.f_back
    return f" at {frame.f_code.co_filename}:{frame.f_lineno} (in {frame.f_code.co_qualname})"


#: Returns the user's line, for layers below ``ir/user_frames.py``, which replaces it to use the display names of files.
format_user_location: Callable[[], str] = _default_user_location

#: Returns the display name of a file: ``In[7]`` for the cell of a notebook.
title: Callable[[str], str] = str


def compose_message(problem: str, fix: str = "", location: str | None = None) -> str:
    """Return the message of an error: the problem, the fix, and the location, each on a line of its own.

    ``problem`` is a sentence that says what was wrong, ``fix`` one that says how to mend it. ``location`` is the
    location, as `` at file.py:12 (in f)``; None stands for the user's line. An empty ``fix`` or ``location`` adds no
    line.

    >>> print(compose_message("x is a list.", "Make an array of it.", " at program.py:3 (in f)"))
    x is a list.
    Make an array of it.
    At program.py:3 (in f).
    """
    location_text = format_user_location() if location is None else location
    return "\n".join([problem, *[fix] * bool(fix), *[f"At{location_text[3:]}."] * bool(location_text)])


#: Removes the library's frames from the traceback of an exception, for layers below ``traceback_filtering``.
filter_traceback: Callable[[BaseException], None] = _not_configured


def api_boundary(function: F) -> F:
    """Return a wrapper of a public function that removes the library's frames from the tracebacks of exceptions."""

    @functools.wraps(function)
    def call_with_filtered_traceback(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            filter_traceback(error)
            raise

    return call_with_filtered_traceback  # type: ignore[return-value]


_engine_factory: Callable[[], Any] | None = None
_engine: Any = None


def set_engine_factory(factory: Callable[[], Any]) -> None:
    """Set the function that :func:`get_engine` calls once, without arguments, to create the engine."""
    global _engine_factory
    _engine_factory = factory


def get_engine() -> Any:
    """Return the engine of this process, the producer of programs for calls; create it on first use."""
    global _engine
    if _engine is None:
        assert _engine_factory is not None  # xlascope/__init__.py sets it
        _engine = _engine_factory()
    return _engine


def is_started() -> bool:
    """Return whether the engine has been started in this process, which sets jaxlib's process-wide state."""
    return "xlascope.runtime.boot" in sys.modules
