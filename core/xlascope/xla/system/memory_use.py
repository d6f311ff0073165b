"""Record of a compiler's memory plan, whose buffers refer to arguments of the program, not of the executable."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ... import records

_UNKNOWN = -1


def memory_use(
    numbers: records.MemoryUse, buffers: Sequence[records.Buffer], kept_operands: Sequence[bool] | None
) -> records.MemoryUse:
    """Return the compiler's statistics with its buffers.

    XLA numbers the arguments that the executable takes, the record those of the program, of which ``kept_operands``
    says which are taken (None if unknown; then no buffer refers to an argument).
    """
    arguments = None if kept_operands is None else [number for number, used in enumerate(kept_operands) if used]
    return dataclasses.replace(numbers, buffers=tuple(_numbered(buffer, arguments) for buffer in buffers))


def _numbered(buffer: records.Buffer, arguments: Sequence[int] | None) -> records.Buffer:
    """Return the buffer with the number of the program's argument."""
    if buffer.argument < 0 or (arguments is not None and buffer.argument >= len(arguments)):
        return buffer
    return dataclasses.replace(buffer, argument=_UNKNOWN if arguments is None else arguments[buffer.argument])
