"""To define an operation of one's own with all its rules in one class: derive from ``Operation`` or a family."""

from ..ir.avals import ShapedArray
from ..ir.markers import NOT_MAPPED, ZERO, LinearInput
from ..ir.operation import Operation
from ..operations.families import Binary, Linear, Unary, is_linear
from ..trace.bind import bind, bind1
from ..trace.values import aval_of

__all__ = [
    "NOT_MAPPED",
    "ZERO",
    "Binary",
    "Linear",
    "LinearInput",
    "Operation",
    "ShapedArray",
    "Unary",
    "aval_of",
    "bind",
    "bind1",
    "is_linear",
]
