"""Functions with derivative rules of their own, under JAX's module name."""

from .control.closures import closure_convert as closure_convert
from .control.closures import custom_gradient as custom_gradient
from .control.custom import SymbolicZero as SymbolicZero
from .control.custom_jvp import custom_jvp as custom_jvp
from .control.custom_vjp import CustomVJPPrimal as CustomVJPPrimal
from .control.custom_vjp import custom_vjp as custom_vjp
from .control.custom_vjp import custom_vjp_primal_tree_values as custom_vjp_primal_tree_values
from .control.custom_vjp import zero_from_primal as zero_from_primal
from .control.linear_call import linear_call as linear_call
