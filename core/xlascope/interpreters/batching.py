"""Rules for vectorization: ``primitive_batchers[p] = rule``, and shortcuts."""

from ..operations.registered_operations import primitive_batchers as primitive_batchers
from ..operations.rule_registration import bdim_at_front as bdim_at_front
from ..operations.rule_registration import broadcast as broadcast
from ..operations.rule_registration import defbroadcasting as defbroadcasting
from ..operations.rule_registration import defreducer as defreducer
from ..operations.rule_registration import defvectorized as defvectorized
from ..operations.rule_registration import moveaxis as moveaxis

#: The mapped axis of an operand that has none.
not_mapped = None
