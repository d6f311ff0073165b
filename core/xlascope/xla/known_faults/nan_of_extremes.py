"""NaN propagation in maxima and minima, which YNNPACK and all-reduces of CPUs drop (row ``EXTREME`` of the table).

The sum of the squares of the same elements is computed beside the extreme, and selected where it is NaN. That is so
for no other elements: a sum of squares has no ``inf - inf``. YNNPACK reduces both, which is faster than a single
reduction of XLA's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.avals import ShapedArray, make_aval
from ..mlir.builder import Builder, attribute
from .fault_table import AFFECTED_EXTREMES, MIN_ELEMENTS_OF_EXTREME

_BOOL = np.dtype(np.bool_)


def may_drop_nan(builder: Builder, operand: ShapedArray) -> bool:
    """Return whether a maximum or minimum over elements of ``operand`` may drop NaN, as the builder's program runs.

    If several devices run it, they may combine their results by an all-reduce.
    """
    return (
        builder.platform == "cpu"
        and operand.dtype.name in AFFECTED_EXTREMES
        and (operand.size >= MIN_ELEMENTS_OF_EXTREME or builder.is_partitioned)
    )


def propagate_nan_of_extreme(
    builder: Builder, x: Any, operand: ShapedArray, extreme: Any, emit_sum: Callable[[Any], Any]
) -> Any:
    """Return the MLIR value of an extreme of ``x``, or NaN where an element is NaN.

    ``operand`` is the type of ``x``. ``emit_sum`` emits the sum, over the same elements, of a value of that type.
    The result has the type of the current equation's only result.
    """
    (aval,) = builder.out_avals
    squares = emit_sum(builder.emit1("stablehlo.multiply", [x, x], operand))
    unequal = {"comparison_direction": attribute("#stablehlo<comparison_direction NE>")}
    is_nan = builder.emit1("stablehlo.compare", [squares, squares], make_aval(aval.shape, _BOOL), unequal)
    return builder.emit1("stablehlo.select", [is_nan, squares, extreme], aval)
