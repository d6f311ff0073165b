"""Rules for compilation: ``register_lowering(p, rule)``, and what rules write with."""

from ..operations.foreign import LoweringRuleContext
from ..operations.registering import lower_fun, register_lowering
from ..xla.emitting import (
    aval_to_ir_type,
    dense_int_array,
    dense_int_elements,
    dtype_to_ir_type,
    i32_attr,
    i64_attr,
    ir,
    ir_constant,
)

__all__ = [
    "LoweringRuleContext",
    "aval_to_ir_type",
    "dense_int_array",
    "dense_int_elements",
    "dtype_to_ir_type",
    "i32_attr",
    "i64_attr",
    "ir",
    "ir_constant",
    "lower_fun",
    "register_lowering",
]
