"""Places in code where NumPy reads an array's memory: jaxlib waits there for the result, and reports nothing.

NumPy itself never sleeps. So a thread that is blocked in one of its functions waits for the array that it reads.
"""

from __future__ import annotations

import dis
import os
from types import CodeType

import numpy as np

from ...lru_cache import FastLRUCache

#: NumPy's functions that are written in C and read an array's memory.
_READERS = frozenset({"array", "asarray", "asanyarray", "ascontiguousarray", "concatenate", "copyto", "stack", "dot"})
_NUMPY_FOLDER = os.path.join(os.path.dirname(np.__file__), "")
_LOADS = frozenset({"LOAD_ATTR", "LOAD_GLOBAL", "LOAD_METHOD", "LOAD_NAME"})


class _CalledNames(FastLRUCache[tuple[CodeType, int], str]):
    """Cache of the name of the function that an instruction calls, ``""`` if it is none or its name is not known."""

    def __missing__(self, location: tuple[CodeType, int]) -> str:
        return self.insert(location, _find_called_name(*location))


_called_names = _CalledNames(1024)


def is_array_read(code: CodeType, instruction: int) -> bool:
    """Return whether an instruction, by its offset, is in NumPy's code or calls a function that reads an array.

    >>> import types
    >>> code = compile("np.asarray(y)", "example", "eval")
    >>> call = max(item.offset for item in dis.get_instructions(code) if item.opname.startswith("CALL"))
    >>> is_array_read(code, call)
    True
    """
    return code.co_filename.startswith(_NUMPY_FOLDER) or _called_names[code, instruction] in _READERS


def _find_called_name(code: CodeType, instruction: int) -> str:
    """Return the last part of the name that was loaded where the call begins: ``asarray`` in ``np.asarray(y)``."""
    instructions = list(dis.get_instructions(code))
    call = next((item for item in instructions if item.offset == instruction), None)
    if call is None or call.positions is None or not call.opname.startswith("CALL"):
        return ""
    begin = call.positions[0], call.positions[2]
    names = [
        str(item.argval)
        for item in instructions
        if item.opname in _LOADS and item.offset < instruction and item.positions is not None
        if (item.positions[0], item.positions[2]) == begin
    ]
    return names[-1] if names else ""
