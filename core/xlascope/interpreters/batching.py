"""Rules for vectorization: ``primitive_batchers[p] = rule``, and short ways."""

from ..operations.foreign import primitive_batchers
from ..operations.registering import (
    bdim_at_front,
    broadcast,
    defbroadcasting,
    defreducer,
    defvectorized,
    moveaxis,
)

#: The mapped axis of an operand that has none.
not_mapped = None

__all__ = [
    "bdim_at_front",
    "broadcast",
    "defbroadcasting",
    "defreducer",
    "defvectorized",
    "moveaxis",
    "not_mapped",
    "primitive_batchers",
]
