"""Sequences of unary operations, recorded once for an operand type and applied in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.avals import ShapedArray
from ..ir.operation import Operation
from ..trace.bind import bind1
from ..trace.jaxpr_trace import stage

OpChain = tuple[Operation, ...]


def record_chain(function: Callable[[Any], Any], aval: ShapedArray) -> OpChain:
    """Return the chain of unary operations that ``function`` applies to an operand of type ``aval``.

    Each operation takes the result of the previous one.

    >>> import numpy as np, xlascope.numpy
    >>> from xlascope.ir.avals import make_aval
    >>> record_chain(lambda x: x[1], make_aval((3, 2), np.dtype("float32")))
    (slice[start_indices=(1, 0) limit_indices=(2, 2) strides=None], squeeze[dimensions=(0,)])
    """
    program = stage(lambda x: [function(x)], [aval])
    return tuple(raw[0] for raw in program.jaxpr.raw)


def apply_chain(operations: OpChain, x: Any) -> Any:
    """Apply the operations of a chain to an operand, one after the other."""
    for operation in operations:
        x = bind1(operation, x)
    return x
