"""From a code object and an instruction to the user's line."""

from __future__ import annotations

import functools
import os
from types import CodeType

from ..records import SourceRange

#: Files under this folder are the library: the user's line is the first frame outside it.
LIBRARY = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class _IsLibrary(dict[str, bool]):
    def __missing__(self, filename: str) -> bool:
        answer = self[filename] = filename.startswith(LIBRARY)
        return answer


#: Whether a file name belongs to the library, remembered per name.
is_library = _IsLibrary()


@functools.lru_cache(maxsize=4096)
def _positions(code: CodeType) -> tuple[tuple[int | None, int | None, int | None, int | None], ...]:
    return tuple(code.co_positions())


@functools.lru_cache(maxsize=65536)
def locate(code: CodeType | None, lasti: int) -> SourceRange | None:
    """The source range of an instruction; None where nothing is known."""
    if code is None:
        return None
    line, end_line, column, end_column = _positions(code)[lasti // 2]
    if line is None:
        return None
    return SourceRange(
        code.co_filename, line, column or 0, end_line or line, end_column or 0, code.co_qualname
    )
