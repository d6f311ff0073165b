"""Cost model of XLA's CPU back end: which operations it fuses, and what they cost.

Names are StableHLO's. Costs are those of two cores of a server together; only their ratios matter.
"""

from __future__ import annotations


def _named(names: str) -> frozenset[str]:
    """Split a text into a set of names."""
    return frozenset(names.split())


#: Operations that cost as much as ten additions.
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
#: Operations whose operand and result have an element at different indices.
MOVING = _named(
    "broadcast_in_dim concatenate dynamic_slice dynamic_update_slice gather pad reduce reshape reverse slice"
)
#: Operations that can be fused into a loop over the elements of a result.
FUSIBLE = _TRANSCENDENTAL | _DIVIDING | _SIMPLE | MOVING | _named("constant iota transpose")
#: Operations that XLA fuses into one user only; for several users it computes them once.
EXPENSIVE = (_TRANSCENDENTAL | _DIVIDING | _named("gather reduce")) - _named("cosine sine tan")
#: Sums, minima and maxima of this many floats or more are left to a library. Its kernels are fused into no other
#: operation; they fuse values with no other use, if they result from these operations.
BY_LIBRARY = 4096
REDUCED_BY_LIBRARY = _named("add maximum minimum")
TAKEN_BY_LIBRARY = (
    _TRANSCENDENTAL | _DIVIDING | _named("abs add ceil floor maximum minimum multiply negate sign subtract")
) - (_named("cbrt cosine sine tan"))
#: Operations that use an element of their operand several times.
REUSING = _named("broadcast_in_dim gather")
#: Operations that cost nothing when fused.
FREE = _named("broadcast_in_dim constant iota reshape")

#: Nanoseconds for an element of a cheap operation, and of the others by name.
CHEAP = 0.06
NANOSECONDS = dict.fromkeys(_TRANSCENDENTAL, 0.6) | dict.fromkeys(_DIVIDING, 0.15)
#: Cost of a multiplication and an addition in a matrix product.
PRODUCT = 0.02
#: Cost of reading a byte of an array, and of writing it.
READ, WRITE = 0.06, 0.12
#: Cost of launching a kernel.
LAUNCH = 2000.0
