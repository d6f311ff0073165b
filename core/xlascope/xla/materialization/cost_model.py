"""Cost model of XLA's CPU back end: which operations it fuses, and what they cost.

Names are StableHLO's. Costs are those of two cores of a server together; only their ratios matter.
"""

from __future__ import annotations


def _names(names: str) -> frozenset[str]:
    """Split a text into a set of names."""
    return frozenset(names.split())


#: Operations that cost as much as ten additions.
_TRANSCENDENTAL_OPS = _names(
    """acos acosh asin asinh atan atan2 atanh cbrt cosh cosine erf erf_inv exponential exponential_minus_one log
    log_plus_one logistic power sine sinh tan tanh"""
)
_DIVISION_OPS = _names("divide remainder rsqrt sqrt")
_SIMPLE_OPS = _names(
    """abs add and bitcast_convert ceil clamp compare complex convert count_leading_zeros floor imag is_finite maximum
    minimum multiply negate not or popcnt real reduce_precision round_nearest_afz round_nearest_even select shift_left
    shift_right_arithmetic shift_right_logical sign subtract xor"""
)
#: Operations whose operand and result have an element at different indices.
DATA_MOVEMENT_OPS = _names(
    "broadcast_in_dim concatenate dynamic_slice dynamic_update_slice gather pad reduce reshape reverse slice"
)
#: Operations that can be fused into a loop over the elements of a result.
FUSIBLE_OPS = _TRANSCENDENTAL_OPS | _DIVISION_OPS | _SIMPLE_OPS | DATA_MOVEMENT_OPS | _names("constant iota transpose")
#: Operations that XLA fuses into one user only; for several users it computes them once.
EXPENSIVE_OPS = (_TRANSCENDENTAL_OPS | _DIVISION_OPS | _names("gather reduce")) - _names("cosine sine tan")
#: Sums, minima and maxima of this many floats or more are left to a library. Its kernels are fused into no other
#: operation; they fuse values with no other use, if they result from these operations.
MIN_LIBRARY_REDUCE_ELEMENTS = 4096
LIBRARY_REDUCERS = _names("add maximum minimum")
LIBRARY_FUSIBLE_OPS = (
    _TRANSCENDENTAL_OPS | _DIVISION_OPS | _names("abs add ceil floor maximum minimum multiply negate sign subtract")
) - (_names("cbrt cosine sine tan"))
#: Operations that use an element of their operand several times.
REUSING_OPS = _names("broadcast_in_dim gather")
#: Operations that cost nothing when fused.
FREE_OPS = _names("broadcast_in_dim constant iota reshape")

#: Nanoseconds for an element of a cheap operation, and of the others by name.
CHEAP_OP_NANOSECONDS = 0.06
OP_NANOSECONDS = dict.fromkeys(_TRANSCENDENTAL_OPS, 0.6) | dict.fromkeys(_DIVISION_OPS, 0.15)
#: Cost of a multiplication and an addition in a matrix product.
MULTIPLY_ADD_NANOSECONDS = 0.02
#: Cost of reading a byte of an array, and of writing it.
READ_BYTE_NANOSECONDS, WRITE_BYTE_NANOSECONDS = 0.06, 0.12
#: Cost of launching a kernel.
LAUNCH_NANOSECONDS = 2000.0
