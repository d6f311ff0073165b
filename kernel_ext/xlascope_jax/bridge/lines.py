"""The user's line of an equation or a call: the innermost one of the user's own files, or else of a library's."""

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
#: What is never shown as the user's: jax itself and what watches it.
_OURS = _JAX + _folders(
    *sys.modules["jaxlib"].__path__,
    LIBRARY,
    _WIDGETS_AND_KERNEL,
    os.path.join(os.path.dirname(_WIDGETS_AND_KERNEL), "xlascope_ipython"),
)
#: Libraries: shown where no file of the user's stands above them.
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
    """Whether a file is the user's own: no library, no Python, not jax and nothing of ours."""
    return _kinds[file] == _USER


def is_jax(file: str) -> bool:
    """Whether a file is jax's own."""
    return file.startswith(_JAX)


def line_of(traceback: Any, holder: records.SourceRange | None = None) -> records.SourceRange | None:
    """The user's line of an equation whose traceback jax kept: of the innermost file that is the user's own.

    A traceback begins at the jitted function that was being traced. Where no file of the user's is in it the line
    of that function's call, ``holder``, goes on from there; where that is none of the user's either it is a library's,
    the innermost. None where there is nothing.
    """
    found = None
    if traceback is not None:
        codes, instructions = traceback.raw_frames()
        found = _line(zip(codes, instructions, strict=True))
    if found is None or (holder is not None and is_users(holder.file) and not is_users(found.file)):
        return holder
    return found


def current_line() -> records.SourceRange | None:
    """The user's line that is being run now."""
    return _line(_frames(sys._getframe(1)))


def line_of_error(error: BaseException) -> records.SourceRange | None:
    """The user's line at which an exception was raised, or passed through."""
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
    """Of frames, innermost first, the user's; a library's innermost where no file of the user's is among them."""
    library = None
    for code, instruction in frames:
        kind = _kinds[code.co_filename]
        if kind == _USER:
            return locate(code, instruction)
        if kind == _LIBRARY and library is None:
            library = code, instruction
    return None if library is None else locate(*library)
