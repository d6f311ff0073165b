"""The transformations as users call them: jit, derivatives, vmap, and looking at programs."""

from ..ir.avals import ShapeDtypeStruct
from .compilation import jit
from .differentiation import grad, jvp, linearize, value_and_grad, vjp
from .jacobians import hessian, jacfwd, jacobian, jacrev
from .looking import abstract, eval_shape, make_jaxpr, trace_program
from .placement import block_until_ready, clear_caches, device_get, device_put, live_arrays
from .transposition import linear_transpose
from .vectorization import vmap

__all__ = [
    "ShapeDtypeStruct",
    "abstract",
    "block_until_ready",
    "clear_caches",
    "device_get",
    "device_put",
    "eval_shape",
    "grad",
    "hessian",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "live_arrays",
    "make_jaxpr",
    "trace_program",
    "value_and_grad",
    "vjp",
    "vmap",
]
