"""What programs are made of, and how to run them: for those who write interpreters of their own."""

from .api.programs import eval_jaxpr, jaxpr_as_fun
from .ir.atoms import Atom, Literal, Var
from .ir.avals import ShapedArray
from .ir.checker import check_jaxpr
from .ir.jaxpr import ClosedJaxpr, Jaxpr
from .ir.jaxpr import Equation as JaxprEqn
from .ir.operation import Primitive
from .operations import foreign as _foreign  # noqa: F401  (lets primitives of one's own be bound)
from .trace.tracer import Tracer

__all__ = [
    "Atom",
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Primitive",
    "ShapedArray",
    "Tracer",
    "Var",
    "check_jaxpr",
    "eval_jaxpr",
    "jaxpr_as_fun",
]
