"""Log of the operations that a builder emits, so that a module need not be read back from MLIR.

Reading an operation from MLIR costs as much as writing it. A log may miss operations that others than the builder
emit: its readers have to notice an operand that they do not know, and read the module instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

#: An operation with one result and no region: its name, its operands, the MLIR type of its result, the result, and the
#: attributes.
LogEntry = tuple[str, Sequence[Any], Any, Any, dict[str, Any] | None]


class LoggedBlock(NamedTuple):
    """Operations of one block in order, its arguments with their types, and the operands of the operation that ends it.

    ``entries`` has a :data:`LogEntry` for most operations, also for reductions of which nothing but their regions' only
    operation is known. For others the third part is None and the fourth a :class:`LoggedOperation`; the attributes are
    those of a ``func.call`` alone: the symbol ``callee``, and the ``name`` of the call. ``returned`` is filled when
    the block ends.
    """

    arguments: Sequence[Any]
    types: Sequence[Any]
    entries: list[LogEntry]
    returned: list[Any]


class LoggedOperation(NamedTuple):
    """Operation with several results, or with regions: the MLIR operation, its results, and its regions' blocks."""

    operation: Any
    results: Sequence[Any]
    blocks: list[LoggedBlock]


class ModuleLog(NamedTuple):
    """Logs of a module's functions by symbol; ``main`` is the program."""

    functions: dict[str, LoggedBlock]
