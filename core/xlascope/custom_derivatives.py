"""Functions with derivative rules of their own, under JAX's module name."""

from .control.rules.closures import closure_convert, custom_gradient
from .control.rules.custom_jvp import custom_jvp
from .control.rules.custom_vjp import CustomVJPPrimal, custom_vjp, custom_vjp_primal_tree_values
from .control.rules.linear_call import linear_call
from .control.rules.tangents import SymbolicZero, zero_from_primal

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]
