"""Functions with custom batching rules, under JAX's module name."""

from .control.rules.custom_vmap import custom_vmap as custom_vmap
from .control.rules.custom_vmap import sequential_vmap as sequential_vmap
from .names import explain_missing as _explain_missing

_explain_missing(__name__)
