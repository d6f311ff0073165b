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
from xlascope.ir.user_frames import LIBRARY, locate
from xlascope.lru_cache import FastLRUCache

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _folder_prefixes(*paths: str | None) -> tuple[str, ...]:
    return tuple(os.path.join(os.path.abspath(path), "") for path in paths if path)


_JAX_FOLDERS = _folder_prefixes(*jax.__path__)
#: Files never shown as the user's: those of jax and of xlascope.
_HIDDEN_FOLDERS = _JAX_FOLDERS + _folder_prefixes(
    *sys.modules["jaxlib"].__path__,
    LIBRARY,
    _PACKAGE_FOLDER,
    os.path.join(os.path.dirname(_PACKAGE_FOLDER), "xlascope_ipython"),
)
#: Libraries: shown if no user's file is among the frames.
_LIBRARY_FOLDERS = _folder_prefixes(
    *site.getsitepackages(), site.getusersitepackages(), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")
)
_STDLIB_FOLDERS = _folder_prefixes(sysconfig.get_path("stdlib"))
_USER, _LIBRARY, _HIDDEN = 0, 1, 2


class _FileKinds(FastLRUCache[str, int]):
    """Cache of whether a file is the user's own, a library's, or hidden, by its name."""

    def __missing__(self, file: str) -> int:
        if file.startswith(_HIDDEN_FOLDERS) or file.startswith("<frozen"):
            return self.insert(file, _HIDDEN)
        if file.startswith(_LIBRARY_FOLDERS):
            return self.insert(file, _LIBRARY)
        return self.insert(file, _HIDDEN if file.startswith(_STDLIB_FOLDERS) else _USER)


_file_kinds = _FileKinds(4096)


def is_user_file(file: str) -> bool:
    """Return whether a file is the user's own: not of a library, Python, jax or xlascope."""
    return _file_kinds[file] == _USER


def is_jax_file(file: str) -> bool:
    """Return whether a file belongs to jax."""
    return file.startswith(_JAX_FOLDERS)


def find_user_line(traceback: Any, call_site: records.SourceRange | None = None) -> records.SourceRange | None:
    """Return the user's line of an equation from the traceback that jax stored for it.

    This is the innermost frame in a user's file. A traceback begins at the jitted function being traced, so
    if it has no user's file, ``call_site``, the line of that function's call, is used. If that is not in a
    user's file either, return the innermost library line; None if there is no line at all.
    """
    line = None
    if traceback is not None:
        codes, instructions = traceback.raw_frames()
        line = _innermost_user_line(zip(codes, instructions, strict=True))
    if line is None or (call_site is not None and is_user_file(call_site.file) and not is_user_file(line.file)):
        return call_site
    return line


def current_line() -> records.SourceRange | None:
    """Return the user's line that is being executed."""
    return _innermost_user_line(_iter_frames(sys._getframe(1)))


def find_error_line(error: BaseException) -> records.SourceRange | None:
    """Return the innermost user's line that an exception passed through, or else a library's; None without any."""
    frames = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append((traceback.tb_frame.f_code, traceback.tb_lasti))
        traceback = traceback.tb_next
    return _innermost_user_line(reversed(frames))


def _iter_frames(frame: Any) -> Iterable[tuple[CodeType, int]]:
    while frame is not None:
        yield frame.f_code, frame.f_lasti
        frame = frame.f_back


def _innermost_user_line(frames: Iterable[tuple[CodeType, int]]) -> records.SourceRange | None:
    """Return the line of the first frame in a user's file, or else of the first in a library; None if there is none.

    ``frames`` are pairs of code and instruction offset, innermost first.
    """
    library = None
    for code, instruction in frames:
        kind = _file_kinds[code.co_filename]
        if kind == _USER:
            return locate(code, instruction)
        if kind == _LIBRARY and library is None:
            library = code, instruction
    return None if library is None else locate(*library)
