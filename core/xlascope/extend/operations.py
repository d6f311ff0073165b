"""Base classes for custom operations: derive from ``Operation`` or a family, with all rules in one class."""

from ..ir.avals import ShapedArray as ShapedArray
from ..ir.markers import NOT_MAPPED as NOT_MAPPED
from ..ir.markers import ZERO as ZERO
from ..ir.markers import LinearInput as LinearInput
from ..ir.operation import Operation as Operation
from ..operations.elementwise import Binary as Binary
from ..operations.elementwise import Unary as Unary
from ..operations.linear_operation import Linear as Linear
from ..operations.operand_checks import is_linear as is_linear
from ..trace.bind import bind as bind
from ..trace.bind import bind1 as bind1
from ..trace.values import aval_of as aval_of
