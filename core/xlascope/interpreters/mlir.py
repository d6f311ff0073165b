"""Rules for lowering: ``register_lowering(p, rule)``, and helpers that rules use."""

from ..operations.foreign import LoweringRuleContext as LoweringRuleContext
from ..operations.registering import lower_fun as lower_fun
from ..operations.registering import register_lowering as register_lowering
from ..xla.mlir.emitting import aval_to_ir_type as aval_to_ir_type
from ..xla.mlir.emitting import dense_int_array as dense_int_array
from ..xla.mlir.emitting import dense_int_elements as dense_int_elements
from ..xla.mlir.emitting import dtype_to_ir_type as dtype_to_ir_type
from ..xla.mlir.emitting import i32_attr as i32_attr
from ..xla.mlir.emitting import i64_attr as i64_attr
from ..xla.mlir.emitting import ir as ir
from ..xla.mlir.emitting import ir_constant as ir_constant
