"""Record of a compiler's memory plan, whose buffers refer to arguments of the program, not of the executable."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ... import records

_UNKNOWN_ARGUMENT = -1


def with_buffers(
    numbers: records.MemoryUse, buffers: Sequence[records.Buffer], kept_operands: Sequence[bool] | None
) -> records.MemoryUse:
    """Return memory statistics with the compiler's buffers, which refer to arguments of the program.

    In ``buffers`` XLA numbers the arguments that the executable takes. ``kept_operands`` says which of the program's
    arguments these are; if it is None (unknown), no buffer refers to an argument.
    """
    arguments = None if kept_operands is None else [number for number, used in enumerate(kept_operands) if used]
    return dataclasses.replace(numbers, buffers=tuple(_renumber_argument(buffer, arguments) for buffer in buffers))


def _renumber_argument(buffer: records.Buffer, arguments: Sequence[int] | None) -> records.Buffer:
    """Return a buffer with the number of the program's argument in place of the executable's.

    ``arguments`` has the program's numbers of those that the executable takes; None if they are unknown.
    """
    if buffer.argument < 0 or (arguments is not None and buffer.argument >= len(arguments)):
        return buffer
    return dataclasses.replace(buffer, argument=_UNKNOWN_ARGUMENT if arguments is None else arguments[buffer.argument])
