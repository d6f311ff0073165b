"""Short tracebacks: what reaches the user shows the user's frames, not ours.

An exception leaves the library through functions marked :func:`api_boundary` (what users call: the trace of a jitted
function, transformations, loops, the operators of arrays). On its way out the frames of the library are taken from its
traceback. A call that raises nothing pays for a ``try``, which is nothing.

The setting ``traceback_filtering`` chooses. ``remove_frames`` does that and adds a note, ``quiet_remove_frames``
leaves out the note. ``tracebackhide`` keeps the frames and marks them for tools that hide such frames (IPython,
pytest), where a debugger can still go to them. ``off`` does nothing. ``auto`` is ``remove_frames``: IPython always
shows the last frame of a traceback, hidden or not, and that one is where the library raised.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import ParamSpec, TypeVar

from ..errors.notes import add_note
from ..ir.sources import is_library
from ..runtime.boot import traceback_filtering

P = ParamSpec("P")
R = TypeVar("R")

NOTE = "(xlascope has removed its own frames from this traceback; XLASCOPE_TRACEBACK_FILTERING=off shows them.)"


def api_boundary(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator for a function that users call: exceptions that leave it show no frames of the library."""

    @functools.wraps(function)
    def bounded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            filter_traceback(error)
            raise  # a bare raise adds no frame to the traceback that was just set

    return bounded


def filter_traceback(error: BaseException, folders: tuple[str, ...] = ()) -> None:
    """Take the library's frames from the traceback of an exception and of those that caused it, as the setting says.

    For an ``except`` clause that raises the exception again with a bare ``raise``. Files below ``folders`` count as the
    library's too.
    """
    add_note(error)
    mode = traceback_filtering.value
    if mode == "off":
        return
    removed = False
    for each in _chain(error):
        if mode == "tracebackhide":
            _hide(each.__traceback__, folders)
        else:
            short = _without_library(each.__traceback__, folders)
            removed = removed or short is not each.__traceback__
            each.__traceback__ = short
    if removed and mode != "quiet_remove_frames" and NOTE not in getattr(error, "__notes__", ()):
        error.add_note(NOTE)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and those that a printed traceback shows before it."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        shown = one.__cause__ if one.__suppress_context__ else one.__context__
        if shown is not None:
            waiting.append(shown)
        if isinstance(one, BaseExceptionGroup):
            waiting.extend(one.exceptions)


def _without_library(traceback: TracebackType | None, folders: tuple[str, ...]) -> TracebackType | None:
    """The traceback without the frames of the library; the same object where there are none."""
    entries = list(_entries(traceback))
    kept = [entry for entry in entries if not _is_ours(entry, folders)]
    if len(kept) == len(entries):
        return traceback
    short: TracebackType | None = None
    for entry in reversed(kept):
        short = TracebackType(short, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return short


def _hide(traceback: TracebackType | None, folders: tuple[str, ...]) -> None:
    for entry in _entries(traceback):
        if _is_ours(entry, folders):
            entry.tb_frame.f_locals["__tracebackhide__"] = True


def _is_ours(entry: TracebackType, folders: tuple[str, ...]) -> bool:
    file = entry.tb_frame.f_code.co_filename
    return is_library[file] or file.startswith(folders)


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


__all__ = ["NOTE", "api_boundary", "filter_traceback"]
