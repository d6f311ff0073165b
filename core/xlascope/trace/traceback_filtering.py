"""Traceback filtering: users see their own frames, not the library's.

An exception leaves the library through functions decorated with :func:`api_boundary` (what users call: the
trace of a jitted function, transformations, loops, the operators of arrays). On its way out the frames of the
library are removed from its traceback. A call that does not raise has no overhead but the ``try``, which is
free.

The setting ``traceback_filtering`` selects the mode. ``remove_frames`` does that and adds a note,
``quiet_remove_frames`` leaves out the note. ``tracebackhide`` keeps the frames and marks them for tools that
hide such frames (IPython, pytest), where a debugger can still go to them. ``off`` does nothing. ``auto`` is
``remove_frames``: IPython always shows the last frame of a traceback, hidden or not, and that one is where
the library raised.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import ParamSpec, TypeVar

from ..errors.notes import add_note
from ..ir.user_frames import is_library
from ..runtime.boot import traceback_filtering

P = ParamSpec("P")
R = TypeVar("R")

NOTE = "(xlascope has removed its own frames from this traceback; XLASCOPE_TRACEBACK_FILTERING=off shows them.)"


def api_boundary(function: Callable[P, R]) -> Callable[P, R]:
    """Return a wrapper of a public function that removes the library's frames from the tracebacks of exceptions."""

    @functools.wraps(function)
    def call_filtered(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            filter_traceback(error)
            raise  # a bare raise adds no frame to the traceback that was just set

    return call_filtered


def filter_traceback(error: BaseException, folders: tuple[str, ...] = ()) -> None:
    """Remove the library's frames from the tracebacks of an exception and its causes, as the setting says.

    The setting is ``traceback_filtering``; the module docstring lists its values.

    Call it in an ``except`` clause that ends with a bare ``raise``. Files whose path starts with one of
    ``folders`` count as the library's too. The note is left to the outermost caller of this function: where the
    library itself calls the function with the ``except`` clause, frames of the library may still be added.
    """
    add_note(error)
    mode = traceback_filtering.value
    if mode == "off":
        return
    removed = False
    for exception in _iter_exception_chain(error):
        if mode == "tracebackhide":
            _hide_library_frames(exception.__traceback__, folders)
        else:
            filtered = _strip_library_frames(exception.__traceback__, folders)
            removed = removed or filtered is not exception.__traceback__
            exception.__traceback__ = filtered
    caller = sys._getframe(1).f_back
    if caller is not None and is_library[caller.f_code.co_filename]:
        return
    if removed and mode != "quiet_remove_frames" and NOTE not in getattr(error, "__notes__", ()):
        error.add_note(NOTE)


def _iter_exception_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and all exceptions (causes, contexts, groups) that its printed traceback includes."""
    visited: set[int] = set()
    waiting = [error]
    while waiting:
        exception = waiting.pop()
        if id(exception) in visited:
            continue
        visited.add(id(exception))
        yield exception
        shown = exception.__cause__ if exception.__suppress_context__ else exception.__context__
        if shown is not None:
            waiting.append(shown)
        if isinstance(exception, BaseExceptionGroup):
            waiting.extend(exception.exceptions)


def _strip_library_frames(traceback: TracebackType | None, folders: tuple[str, ...]) -> TracebackType | None:
    """Return a traceback without the frames of the library; the same object if it has none.

    Files whose path starts with one of ``folders`` count as the library's too.
    """
    entries = list(_iter_entries(traceback))
    retained = [entry for entry in entries if not _is_library_frame(entry, folders)]
    if len(retained) == len(entries):
        return traceback
    filtered: TracebackType | None = None
    for entry in reversed(retained):
        filtered = TracebackType(filtered, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return filtered


def _hide_library_frames(traceback: TracebackType | None, folders: tuple[str, ...]) -> None:
    for entry in _iter_entries(traceback):
        if _is_library_frame(entry, folders):
            entry.tb_frame.f_locals["__tracebackhide__"] = True


def _is_library_frame(entry: TracebackType, folders: tuple[str, ...]) -> bool:
    file = entry.tb_frame.f_code.co_filename
    if file.startswith("<"):  # made from text, as the methods of a dataclass: it has the globals of its module
        file = str(entry.tb_frame.f_globals.get("__file__") or file)
    return is_library[file] or file.startswith(folders)


def _iter_entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


__all__ = ["NOTE", "api_boundary", "filter_traceback"]
