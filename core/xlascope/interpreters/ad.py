"""Rules for differentiation: ``primitive_jvps[p] = rule``, ``primitive_transposes[p] = rule``, and shortcuts."""

from ..operations.registered_operations import UndefinedPrimal as UndefinedPrimal
from ..operations.registered_operations import Zero as Zero
from ..operations.registered_operations import primitive_jvps as primitive_jvps
from ..operations.registered_operations import primitive_transposes as primitive_transposes
from ..operations.rule_registration import add_tangents as add_tangents
from ..operations.rule_registration import defbilinear as defbilinear
from ..operations.rule_registration import defjvp as defjvp
from ..operations.rule_registration import defjvp2 as defjvp2
from ..operations.rule_registration import deflinear as deflinear
from ..operations.rule_registration import deflinear2 as deflinear2
from ..operations.rule_registration import get_primitive_transpose as get_primitive_transpose
from ..operations.rule_registration import instantiate_zeros as instantiate_zeros
from ..operations.rule_registration import is_undefined_primal as is_undefined_primal
from ..operations.rule_registration import zeros_like_aval as zeros_like_aval
