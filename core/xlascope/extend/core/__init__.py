"""What programs are made of, how to walk and run them, and primitives of one's own."""

from ...api.programs import (
    array_types,
    eval_jaxpr,
    jaxpr_as_fun,
    jaxprs_in_params,
    mapped_aval,
    subjaxprs,
    unmapped_aval,
)
from ...core import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Primitive, ShapedArray, Tracer, Var, check_jaxpr
from ...errors import JaxprTypeError
from ...trace.values import is_value as valid_jaxtype
from . import primitives

__all__ = [
    "Atom",
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "ShapedArray",
    "Tracer",
    "Var",
    "array_types",
    "check_jaxpr",
    "eval_jaxpr",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "primitives",
    "subjaxprs",
    "unmapped_aval",
    "valid_jaxtype",
]
