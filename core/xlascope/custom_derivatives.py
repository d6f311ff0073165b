"""Functions with custom derivative rules, under JAX's module name."""

from .control.rules.closure_conversion import closure_convert as closure_convert
from .control.rules.closure_conversion import custom_gradient as custom_gradient
from .control.rules.custom_jvp import custom_jvp as custom_jvp
from .control.rules.custom_vjp import CustomVJPPrimal as CustomVJPPrimal
from .control.rules.custom_vjp import custom_vjp as custom_vjp
from .control.rules.custom_vjp import custom_vjp_primal_tree_values as custom_vjp_primal_tree_values
from .control.rules.linear_call import linear_call as linear_call
from .control.rules.tangents import SymbolicZero as SymbolicZero
from .control.rules.tangents import zero_from_primal as zero_from_primal
from .names import explain_missing as _explain_missing

_explain_missing(__name__)
