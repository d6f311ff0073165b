"""Notes on errors that jaxlib's C++ raises in a cached call, in which no Python code of ours runs.

We add the note where such an error passes our code: at the boundaries of the library (a call inside a
function that is traced or transformed), and in the cell of a notebook. A script that makes the call itself
gets no note.
"""

from __future__ import annotations

import re
from types import TracebackType

from .. import bootstrap
from .explaining import see

_UNHASHABLE = re.compile(r"hash an object of type <class '([\w.]+)'>, (.*)\. The error was", re.DOTALL)
_ARGUMENT = re.compile(r"as argument (\d+)")
#: The maximum number of characters shown of a value.
_MAX_CHARS = 60


def add_note(error: BaseException) -> None:
    """Add the problem, the location and the fix as a note to an error that jaxlib raised in a cached call.

    Other errors stay as they are.
    """
    if error.__class__ is not ValueError:
        return
    text = str(error)
    added = next(
        (note(text, _find_user_location(error.__traceback__)) for words, note in _NOTES.items() if words in text), None
    )
    if added is not None and added not in getattr(error, "__notes__", ()):
        error.add_note(added)


def _find_user_location(traceback: TracebackType | None) -> str:
    """Return the last location of a traceback outside the library, as `` at file.py:12 (in f)``, or ""."""
    location = ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not bootstrap.is_library(code.co_filename):
            location = f" at {bootstrap.title(code.co_filename)}:{traceback.tb_lineno} (in {code.co_qualname})"
        traceback = traceback.tb_next
    return location


def _explain_unhashable(text: str, where: str) -> str:
    parts = _UNHASHABLE.search(text)
    value = "" if parts is None else f", {_shorten(parts[2])} of type {parts[1]},"
    problem = f"A static argument{value} has no hash: jit compiles once for each value, and finds it by its hash."
    fix = "Pass a tuple in place of a list, a frozen dataclass in place of a dict; arrays cannot be static."
    return bootstrap.compose_message(problem, fix, where) + see("static-arguments")


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 3] + "..."


def _explain_deleted(text: str, where: str) -> str:
    number = _ARGUMENT.search(text)
    noun = "An argument" if number is None else f"Array {number[1]} of the arguments"
    problem = (
        f"{noun} has been deleted or donated: a call may reuse the memory of an argument that is donated to it "
        "(donate_argnums), so the array is gone after the call."
    )
    fix = "Go on with the call's result (x = f(x)), pass a copy (x.copy()), or leave donate_argnums away."
    return bootstrap.compose_message(problem, fix, where) + see("DeletedArrayError")


def _explain_unsortable(text: str, where: str) -> str:
    problem = "The keys of a dict in the arguments cannot be sorted: those of one dict have to be of one type."
    fix = "Make them all text ({str(k): v for k, v in d.items()}), or use a list or a collections.OrderedDict."
    return bootstrap.compose_message(problem, fix, where)


_NOTES = {
    "Non-hashable static arguments": _explain_unhashable,
    "has been deleted or donated": _explain_deleted,
    "sorting pytree dictionary keys": _explain_unsortable,
}
