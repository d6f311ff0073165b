"""What XLA's CPU back end fuses, and what operations cost there: the facts that the model stands on.

Names are StableHLO's. Costs are those of two cores of a server together; only their proportions matter.
"""

from __future__ import annotations


def _named(names: str) -> frozenset[str]:
    return frozenset(names.split())


#: What costs as much as ten sums.
_TRANSCENDENTAL = _named(
    """acos acosh asin asinh atan atan2 atanh cbrt cosh cosine erf erf_inv exponential exponential_minus_one log
    log_plus_one logistic power sine sinh tan tanh"""
)
_DIVIDING = _named("divide remainder rsqrt sqrt")
_SIMPLE = _named(
    """abs add and bitcast_convert ceil clamp compare complex convert count_leading_zeros floor imag is_finite maximum
    minimum multiply negate not or popcnt real reduce_precision round_nearest_afz round_nearest_even select shift_left
    shift_right_arithmetic shift_right_logical sign subtract xor"""
)
#: What an element of an operand stands elsewhere in than in the result.
MOVING = _named(
    "broadcast_in_dim concatenate dynamic_slice dynamic_update_slice gather pad reduce reshape reverse slice"
)
#: All that a loop over the elements of a result may compute on the way.
FUSIBLE = _TRANSCENDENTAL | _DIVIDING | _SIMPLE | MOVING | _named("constant iota transpose")
#: What XLA computes on the way to one value only; for several it is computed once.
EXPENSIVE = (_TRANSCENDENTAL | _DIVIDING | _named("gather reduce")) - _named("cosine sine tan")
#: Sums, largest and smallest numbers of so many floats or more are left to a library, whose kernels no other operation
#: is computed in; it takes in values of which nothing else is computed, if they come of these.
BY_LIBRARY = 4096
REDUCED_BY_LIBRARY = _named("add maximum minimum")
TAKEN_BY_LIBRARY = (
    _TRANSCENDENTAL | _DIVIDING | _named("abs add ceil floor maximum minimum multiply negate sign subtract")
) - (_named("cbrt cosine sine tan"))
#: What uses an element of its operand several times.
REUSING = _named("broadcast_in_dim gather")
#: What costs nothing where it is computed on the way.
FREE = _named("broadcast_in_dim constant iota reshape")

#: Nanoseconds for an element of what is cheap; and of the rest, by name.
CHEAP = 0.06
NANOSECONDS = dict.fromkeys(_TRANSCENDENTAL, 0.6) | dict.fromkeys(_DIVIDING, 0.15)
#: For a multiplication and an addition in a matrix product.
PRODUCT = 0.02
#: To read a byte of an array, and to write it.
READ, WRITE = 0.06, 0.12
#: To begin a kernel.
LAUNCH = 2000.0
