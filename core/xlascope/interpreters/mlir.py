"""Rules for lowering: ``register_lowering(p, rule)``, and helpers that rules use."""

from ..operations.registered_operations import LoweringRuleContext as LoweringRuleContext
from ..operations.rule_registration import lower_fun as lower_fun
from ..operations.rule_registration import register_lowering as register_lowering
from ..xla.mlir.jax_mlir_api import aval_to_ir_type as aval_to_ir_type
from ..xla.mlir.jax_mlir_api import dense_int_array as dense_int_array
from ..xla.mlir.jax_mlir_api import dense_int_elements as dense_int_elements
from ..xla.mlir.jax_mlir_api import dtype_to_ir_type as dtype_to_ir_type
from ..xla.mlir.jax_mlir_api import i32_attr as i32_attr
from ..xla.mlir.jax_mlir_api import i64_attr as i64_attr
from ..xla.mlir.jax_mlir_api import ir as ir
from ..xla.mlir.jax_mlir_api import ir_constant as ir_constant
