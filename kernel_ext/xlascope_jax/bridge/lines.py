"""The user's line of an equation or a call: the innermost one in the user's own files, or else in a library."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterable
from types import CodeType
from typing import Any

import jax

from xlascope import records
from xlascope.ir.sources import LIBRARY, locate
from xlascope.recent import Recent

_WIDGETS_AND_KERNEL = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _folders(*paths: str | None) -> tuple[str, ...]:
    return tuple(os.path.join(os.path.abspath(path), "") for path in paths if path)


_JAX = _folders(*jax.__path__)
#: Files never shown as the user's: those of jax and of xlascope.
_OURS = _JAX + _folders(
    *sys.modules["jaxlib"].__path__,
    LIBRARY,
    _WIDGETS_AND_KERNEL,
    os.path.join(os.path.dirname(_WIDGETS_AND_KERNEL), "xlascope_ipython"),
)
#: Libraries: shown if no user's file is among the frames.
_INSTALLED = _folders(
    *site.getsitepackages(), site.getusersitepackages(), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")
)
_PYTHON = _folders(sysconfig.get_path("stdlib"))
_USER, _LIBRARY, _NEVER = 0, 1, 2


class _Kinds(Recent[str, int]):
    def __missing__(self, file: str) -> int:
        if file.startswith(_OURS) or file.startswith("<frozen"):
            return self.keep(file, _NEVER)
        if file.startswith(_INSTALLED):
            return self.keep(file, _LIBRARY)
        return self.keep(file, _NEVER if file.startswith(_PYTHON) else _USER)


_kinds = _Kinds(4096)


def is_users(file: str) -> bool:
    """Return whether a file is the user's own: not of a library, Python, jax or xlascope."""
    return _kinds[file] == _USER


def is_jax(file: str) -> bool:
    """Return whether a file belongs to jax."""
    return file.startswith(_JAX)


def line_of(traceback: Any, call_site: records.SourceRange | None = None) -> records.SourceRange | None:
    """Return the user's line of an equation from the traceback that jax stored for it.

    This is the innermost frame in a user's file. A traceback begins at the jitted function being traced, so
    if it has no user's file, ``call_site``, the line of that function's call, is used. If that is not in a
    user's file either, return the innermost library line; None if there is no line at all.
    """
    line = None
    if traceback is not None:
        codes, instructions = traceback.raw_frames()
        line = _line(zip(codes, instructions, strict=True))
    if line is None or (call_site is not None and is_users(call_site.file) and not is_users(line.file)):
        return call_site
    return line


def current_line() -> records.SourceRange | None:
    """Return the user's line that is being executed."""
    return _line(_frames(sys._getframe(1)))


def line_of_error(error: BaseException) -> records.SourceRange | None:
    """Return the user's line at which an exception was raised or which it passed through."""
    frames = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append((traceback.tb_frame.f_code, traceback.tb_lasti))
        traceback = traceback.tb_next
    return _line(reversed(frames))


def _frames(frame: Any) -> Iterable[tuple[CodeType, int]]:
    while frame is not None:
        yield frame.f_code, frame.f_lasti
        frame = frame.f_back


def _line(frames: Iterable[tuple[CodeType, int]]) -> records.SourceRange | None:
    """Return the first user line of frames, innermost first, or else the first library line."""
    library = None
    for code, instruction in frames:
        kind = _kinds[code.co_filename]
        if kind == _USER:
            return locate(code, instruction)
        if kind == _LIBRARY and library is None:
            library = code, instruction
    return None if library is None else locate(*library)
