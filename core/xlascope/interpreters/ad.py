"""Rules for differentiation: ``primitive_jvps[p] = rule``, ``primitive_transposes[p] = rule``, and shortcuts."""

from ..operations.foreign import UndefinedPrimal as UndefinedPrimal
from ..operations.foreign import Zero as Zero
from ..operations.foreign import primitive_jvps as primitive_jvps
from ..operations.foreign import primitive_transposes as primitive_transposes
from ..operations.registering import add_tangents as add_tangents
from ..operations.registering import defbilinear as defbilinear
from ..operations.registering import defjvp as defjvp
from ..operations.registering import defjvp2 as defjvp2
from ..operations.registering import deflinear as deflinear
from ..operations.registering import deflinear2 as deflinear2
from ..operations.registering import get_primitive_transpose as get_primitive_transpose
from ..operations.registering import instantiate_zeros as instantiate_zeros
from ..operations.registering import is_undefined_primal as is_undefined_primal
from ..operations.registering import zeros_like_aval as zeros_like_aval
