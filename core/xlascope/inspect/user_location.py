"""The user's instruction that a thread executes: the innermost one outside of installed libraries."""

from __future__ import annotations

import os
import sysconfig
from types import CodeType
from typing import Any

from ..ir.user_frames import is_library
from ..lru_cache import FastLRUCache

#: Instruction of a code object, as its offset.
CodeLocation = tuple[CodeType, int]
#: The folder of Python's own modules, and parts of the paths of installed ones.
_STANDARD_LIBRARY = os.path.join(sysconfig.get_path("stdlib"), "")
_INSTALLED = ("site-packages", "dist-packages")


class _IsInstalled(FastLRUCache[str, bool]):
    """Cache of whether a file belongs to xlascope, to an installed library or to Python, by its name."""

    def __missing__(self, file: str) -> bool:
        of_python = file.startswith((_STANDARD_LIBRARY, "<frozen", "<magic-"))
        return self.insert(file, is_library[file] or of_python or any(folder in file for folder in _INSTALLED))


is_installed = _IsInstalled(4096)


#: Parts of the paths of packages that run cells: where their frames lead to none of a cell, they work for themselves.
_SHELLS = (f"{os.sep}IPython{os.sep}", f"{os.sep}ipykernel{os.sep}")


def find_user_frame(frame: Any) -> Any:
    """Return the innermost frame in a user's file, from a frame on.

    Without one it is the innermost outside xlascope, of a program that is installed; None in a shell that runs cells.
    """
    outside, is_in_shell = None, False
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_installed[file]:
            return frame
        if outside is None and not is_library[file]:
            outside = frame
        is_in_shell = is_in_shell or any(package in file for package in _SHELLS)
        frame = frame.f_back
    return None if is_in_shell else outside


def find_user_location(frame: Any) -> CodeLocation | None:
    """Return the current instruction of :func:`find_user_frame`, None if there is no such frame."""
    user_frame = find_user_frame(frame)
    return None if user_frame is None else (user_frame.f_code, user_frame.f_lasti)
