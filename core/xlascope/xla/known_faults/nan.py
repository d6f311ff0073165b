"""Exponentials that give NaN where the compiler knows that their operand is NaN (row ``NAN`` of the table).

In programs that hold a NaN (few do) such functions give their operand where that is NaN, of which nothing is left out.
They take two to three times as long by themselves, which is not measurable in a language model's training step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.avals import shaped
from ...ir.jaxpr import Jaxpr
from ..mlir.builder import Builder, attribute
from .operations import operations_of_jaxpr
from .table import NAN

_BOOL = np.dtype(np.bool_)
#: The bytes of the widest numbers that are affected.
_MAX_BYTES = 4


def holds_nan(program: Jaxpr) -> bool:
    """Whether NaN is written in a program, or in one that it holds. Its constants are operands, and not known."""
    return NAN.matches(operations_of_jaxpr(program, NAN.names))


def keep_nan(builder: Builder, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """Return the results of the current equation, a function of one operand, or the operand where that is NaN."""
    (x,), (y,), (aval,) = operands, results, builder.out_avals
    if aval.dtype.itemsize > _MAX_BYTES:
        return [y]
    unequal = {"comparison_direction": attribute("#stablehlo<comparison_direction NE>")}
    is_nan = builder.emit1("stablehlo.compare", [x, x], shaped(aval.shape, _BOOL), unequal)
    return [builder.emit1("stablehlo.select", [is_nan, x, y], aval)]
