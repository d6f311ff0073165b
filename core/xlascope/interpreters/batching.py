"""Rules for vectorization: ``primitive_batchers[p] = rule``, and shortcuts."""

from ..operations.foreign import primitive_batchers as primitive_batchers
from ..operations.registering import bdim_at_front as bdim_at_front
from ..operations.registering import broadcast as broadcast
from ..operations.registering import defbroadcasting as defbroadcasting
from ..operations.registering import defreducer as defreducer
from ..operations.registering import defvectorized as defvectorized
from ..operations.registering import moveaxis as moveaxis

#: The mapped axis of an operand that has none.
not_mapped = None
