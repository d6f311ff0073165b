"""What a function does to one operand of a known type, worked out once: operations to apply one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.avals import ShapedArray
from ..ir.operation import Operation
from ..trace.bind import bind1
from ..trace.jaxpr_trace import stage

Chain = tuple[Operation, ...]


def chain(function: Callable[[Any], Any], aval: ShapedArray) -> Chain:
    """The operations that ``function`` applies to an operand of that type, each to the result of the one before.

    >>> import numpy as np, xlascope.numpy
    >>> from xlascope.ir.avals import shaped
    >>> chain(lambda x: x[1], shaped((3, 2), np.dtype("float32")))
    (slice[start_indices=(1, 0) limit_indices=(2, 2) strides=None], squeeze[dimensions=(0,)])
    """
    program = stage(lambda x: [function(x)], [aval])
    return tuple(raw[0] for raw in program.jaxpr.raw)


def apply(operations: Chain, x: Any) -> Any:
    """The operations of a chain applied to an operand."""
    for operation in operations:
        x = bind1(operation, x)
    return x
