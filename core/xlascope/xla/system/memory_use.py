"""A compiler's plan of memory as a record: its buffers belong to arguments of the program, not of the executable."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ... import records

_UNKNOWN = -1


def memory_use(
    numbers: records.MemoryUse, buffers: Sequence[records.Buffer], kept: Sequence[bool] | None
) -> records.MemoryUse:
    """The compiler's statistics with its buffers.

    XLA counts the arguments that it takes, the record those of the program, of which ``kept`` says which are taken
    (None when nobody knows; then no buffer is said to be an argument of the program).
    """
    taken = None if kept is None else [number for number, keep in enumerate(kept) if keep]
    return dataclasses.replace(numbers, buffers=tuple(_numbered(each, taken) for each in buffers))


def _numbered(buffer: records.Buffer, taken: Sequence[int] | None) -> records.Buffer:
    if buffer.argument < 0 or (taken is not None and buffer.argument >= len(taken)):
        return buffer
    return dataclasses.replace(buffer, argument=_UNKNOWN if taken is None else taken[buffer.argument])
