"""Rules for differentiation: ``primitive_jvps[p] = rule``, ``primitive_transposes[p] = rule``, and short ways."""

from ..operations.foreign import UndefinedPrimal, Zero, primitive_jvps, primitive_transposes
from ..operations.registering import (
    add_tangents,
    defbilinear,
    defjvp,
    defjvp2,
    deflinear,
    deflinear2,
    get_primitive_transpose,
    instantiate_zeros,
    is_undefined_primal,
    zeros_like_aval,
)

__all__ = [
    "UndefinedPrimal",
    "Zero",
    "add_tangents",
    "defbilinear",
    "defjvp",
    "defjvp2",
    "deflinear",
    "deflinear2",
    "get_primitive_transpose",
    "instantiate_zeros",
    "is_undefined_primal",
    "primitive_jvps",
    "primitive_transposes",
    "zeros_like_aval",
]
