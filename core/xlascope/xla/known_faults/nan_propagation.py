"""NaN propagation in exponentials, which the compiler drops for operands known to be NaN (row ``NAN`` of the table).

In programs that contain a NaN literal (few do) such functions return their operand where it is NaN, which the
compiler does not drop. By themselves they take two to three times as long, which is not measurable in a language
model's training step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.avals import make_aval
from ...ir.jaxpr import Jaxpr
from ..mlir.builder import Builder, attribute
from .fault_table import NAN
from .program_operations import operations_of_jaxpr

_BOOL = np.dtype(np.bool_)
#: Numbers of more bytes are not affected.
_MAX_AFFECTED_BYTES = 4


def has_nan_literal(program: Jaxpr) -> bool:
    """Return whether a program or one of its inner programs contains a NaN literal; constants are not examined."""
    return NAN.matches(operations_of_jaxpr(program, NAN.names))


def propagate_nan(builder: Builder, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """Return the results of the current equation, a function of one operand, or the operand where that is NaN.

    ``operands`` and ``results`` are lists of one MLIR value. Types of more than 32 bits are not affected.
    """
    (x,), (y,), (aval,) = operands, results, builder.out_avals
    if aval.dtype.itemsize > _MAX_AFFECTED_BYTES:
        return [y]
    unequal = {"comparison_direction": attribute("#stablehlo<comparison_direction NE>")}
    is_nan = builder.emit1("stablehlo.compare", [x, x], make_aval(aval.shape, _BOOL), unequal)
    return [builder.emit1("stablehlo.select", [is_nan, x, y], aval)]
