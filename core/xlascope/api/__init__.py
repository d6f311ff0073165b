"""Public transformations: jit, derivatives, vmap, and inspection of programs."""

from ..ir.avals import ShapeDtypeStruct as ShapeDtypeStruct
from .compilation import jit as jit
from .differentiation import grad as grad
from .differentiation import jvp as jvp
from .differentiation import linearize as linearize
from .differentiation import value_and_grad as value_and_grad
from .differentiation import vjp as vjp
from .inspection import abstract as abstract
from .inspection import eval_shape as eval_shape
from .inspection import make_jaxpr as make_jaxpr
from .inspection import trace_program as trace_program
from .jacobians import hessian as hessian
from .jacobians import jacfwd as jacfwd
from .jacobians import jacobian as jacobian
from .jacobians import jacrev as jacrev
from .placement import block_until_ready as block_until_ready
from .placement import clear_caches as clear_caches
from .placement import device_get as device_get
from .placement import device_put as device_put
from .placement import live_arrays as live_arrays
from .transposition import linear_transpose as linear_transpose
from .vectorization import vmap as vmap
