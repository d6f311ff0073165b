"""Components of programs and functions to evaluate them, for authors of interpreters."""

from .api.jaxpr_utils import eval_jaxpr as eval_jaxpr
from .api.jaxpr_utils import jaxpr_as_fun as jaxpr_as_fun
from .ir.atoms import Atom as Atom
from .ir.atoms import Literal as Literal
from .ir.atoms import Var as Var
from .ir.avals import ShapedArray as ShapedArray
from .ir.checker import check_jaxpr as check_jaxpr
from .ir.jaxpr import ClosedJaxpr as ClosedJaxpr
from .ir.jaxpr import Equation
from .ir.jaxpr import Jaxpr as Jaxpr
from .ir.operation import Primitive as Primitive
from .names import explain_missing as _explain_missing
from .operations import registered_operations  # noqa: F401  (lets primitives of one's own be bound)
from .trace.array import Tracer as Tracer

JaxprEqn = Equation

_explain_missing(__name__)
