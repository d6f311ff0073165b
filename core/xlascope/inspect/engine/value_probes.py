"""Probes: what a twin program computes about each value that it materializes, and how loops reduce it.

A probe's *state* is a list of arrays whose first axis counts sites. It is plain: concatenated where programs follow
each other, updated by every iteration of a loop, and passed out of branches and of the devices of a ``shard_map``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from ...dtypes import dtype_kind
from ...operations.arithmetic import add, mul, sub
from ...operations.bits import bitwise_and, bitwise_or, shift_right_logical
from ...operations.comparisons import eq, ge, gt, lt, ne
from ...operations.complex_numbers import imag, real
from ...operations.conversion import bitcast_convert_type, convert_element_type
from ...operations.extremes import clamp
from ...operations.extremes import max as maximum
from ...operations.extremes import min as minimum
from ...operations.reductions import reduce_max, reduce_min
from ...operations.rounding import is_finite
from ...operations.selection import select
from ...operations.shapes import broadcast_in_dim, broadcasted_iota, full, reduce_sum, reshape
from ...operations.slicing import concatenate, slice_in_dim
from ...operations.tangent_arithmetic import neg
from ...trace.values import aval_of

State = list[Any]

#: Bit of a code that says that the value was computed; the others are the bits of the largest magnitude in float32.
RAN = np.uint32(1 << 31)
#: Magnitude bits of infinity, and the mask of magnitude bits.
INFINITY_BITS, MAGNITUDE_MASK = np.uint32(0x7F800000), np.uint32(0x7FFFFFFF)
#: Iteration of an event that never happened.
NEVER = np.int32(np.iinfo(np.int32).max)
#: The kinds of events whose first iteration is found: the first NaN, and the first NaN or infinity.
EVENTS = 2
#: The exponents of float32 and float64 that a histogram tells apart: 2**-150 (and less) to 2**127 (and more).
MIN_EXPONENT, MAX_EXPONENT = -150, 127
BINS = MAX_EXPONENT - MIN_EXPONENT + 1
#: First columns of a row of sums: numbers of elements; then the sum, the sum of squares, and the histogram's bins.
COUNTS = ("elements", "zeros", "subnormals", "nans", "infs", "negatives")
_SUM_COLUMNS = len(COUNTS) + 2 + BINS


def is_probed(aval: Any) -> bool:
    """Return whether values of a type are probed: floating-point and complex numbers."""
    return not _is_extended(aval.dtype) and dtype_kind(aval.dtype) in "fc"


def _is_extended(dtype: Any) -> bool:
    return not isinstance(dtype, np.dtype)


@dataclass(frozen=True)
class Magnitudes:
    """Probe of the first pass: one number for each value, the bits of its largest magnitude (NaN before infinity).

    As unsigned integers the bits of magnitudes are ordered, infinity is above all numbers and NaN above infinity, so
    an integer maximum tells NaN, infinity and range. The state is (codes, uint32[n]; in loops the iterations of the
    first NaN, and of the first NaN or infinity, int32[n, 2, depth], outermost loop first).
    """

    #: Whether the operands of equations are probed as well as the results.
    with_operands = False

    def measure(self, x: Any) -> State:
        """Return the state of one value."""
        size = aval_of(x).size
        if not size:
            return [np.full(1, RAN, np.uint32)]
        bits = _magnitude_bits(x)
        return [reshape(bitwise_or(reduce_max(bits, range(aval_of(bits).ndim)), RAN), (1,))]

    def mark(self, state: State, results: Sequence[Any]) -> State:
        """Return the state of the operands and results of an equation with these results."""
        return state

    def initial(self, count: int, depth: int) -> State:
        """Return the state of ``count`` values that were not computed, in ``depth`` loops."""
        codes = full((count,), np.uint32(0))
        return [codes, full((count, EVENTS, depth), NEVER)] if depth else [codes]

    def pad(self, state: State, count: int, depth: int, new_depth: int) -> State:
        """Return a state with columns for ``new_depth`` loops instead of ``depth``."""
        if depth == new_depth:
            return state
        missing = full((count, EVENTS, new_depth - depth), np.int32(0))
        return [state[0], missing if depth == 0 else concatenate([state[1], missing], 2)]

    def enter_loop(self, state: State, count: int, depth: int, iteration: Any) -> State:
        """Return the state of an iteration as one of the loop: with the iteration in a new first column."""
        codes = state[0]
        magnitudes = bitwise_and(codes, MAGNITUDE_MASK)
        happened = concatenate(
            [reshape(gt(magnitudes, INFINITY_BITS), (count, 1)), reshape(ge(magnitudes, INFINITY_BITS), (count, 1))], 1
        )
        column = select(happened, broadcast_in_dim(iteration, (count, EVENTS), ()), full((count, EVENTS), NEVER))
        column = reshape(column, (count, EVENTS, 1))
        return [codes, concatenate([column, state[1]], 2) if depth else column]

    def update(self, old: State, new: State, count: int, depth: int) -> State:
        """Return the state after an iteration: ``old`` before it, ``new`` of it alone, both of ``depth`` loops."""
        shape = (count, EVENTS, depth)
        first = _first_column(old[1], count, EVENTS)
        is_open = broadcast_in_dim(eq(first, NEVER), shape, (0, 1))
        return [maximum(old[0], new[0]), select(is_open, new[1], old[1])]


@dataclass(frozen=True)
class Statistics:
    """Probe of the second pass: full statistics of the results and operands of chosen equations.

    The state is (sums, float64[n, 8 + bins]; minima and maxima of finite elements, float64[n]; whether the value is
    final, bool[n]). In loops all iterations are taken together, or with ``until`` the latest counts, up to the first
    one in which a result of the equation is NaN (``"nan"``), or NaN or infinite (``"inf"``).
    """

    until: str = ""
    with_operands = True

    def measure(self, x: Any) -> State:
        """Return the state of one value."""
        parts = [real(x), imag(x)] if dtype_kind(aval_of(x).dtype) == "c" else [x]
        states = [_measure_real(part) for part in parts]
        state = states[0] if len(states) == 1 else _merge(*states)
        return [*state, np.zeros(1, np.bool_)]

    def mark(self, state: State, results: Sequence[Any]) -> State:
        """Return the state of values of an equation with these results: final if one of them is NaN or infinite."""
        probed = [x for x in results if is_probed(aval_of(x)) and aval_of(x).size]
        if not self.until or not probed:
            return state
        bits = [reduce_max(_magnitude_bits(x), range(aval_of(x).ndim)) for x in probed]
        worst = bits[0]
        for other in bits[1:]:
            worst = maximum(worst, other)
        final = gt(worst, INFINITY_BITS) if self.until == "nan" else ge(worst, INFINITY_BITS)
        return [*state[:3], broadcast_in_dim(final, (aval_of(state[1]).shape[0],), ())]

    def initial(self, count: int, depth: int) -> State:
        """Return the state of ``count`` values that were not computed."""
        infinities = full((count,), np.float64(np.inf))
        return [
            full((count, _SUM_COLUMNS), np.float64(0.0)),
            infinities,
            full((count,), np.float64(-np.inf)),
            full((count,), np.bool_(False)),
        ]

    def pad(self, state: State, count: int, depth: int, new_depth: int) -> State:
        """Return the state, which is the same in any number of loops."""
        return state

    def enter_loop(self, state: State, count: int, depth: int, iteration: Any) -> State:
        """Return the state of an iteration as one of the loop."""
        return state

    def update(self, old: State, new: State, count: int, depth: int) -> State:
        """Return the state after an iteration: ``old`` before it, ``new`` of it alone."""
        if not self.until:
            return [*_merge(old[:3], new[:3]), bitwise_or(old[3], new[3])]
        computed = gt(_first_column(new[0], count), np.float64(0.0))
        takes_new = bitwise_and(eq(old[3], np.bool_(False)), computed)
        rows = broadcast_in_dim(takes_new, (count, _SUM_COLUMNS), (0,))
        return [select(rows, new[0], old[0]), *(select(takes_new, n, o) for n, o in zip(new[1:], old[1:], strict=True))]


Probe = Magnitudes | Statistics


def concatenate_states(states: Sequence[State]) -> State:
    """Return one state for the sites of several, in order; in two steps where there are many."""
    return [_concatenate_all([state[index] for state in states]) for index in range(len(states[0]))]


#: The largest number of operands of one concatenation.
_MAX_CONCATENATED = 256


def _concatenate_all(arrays: Sequence[Any]) -> Any:
    while len(arrays) > 1:
        groups = [arrays[i : i + _MAX_CONCATENATED] for i in range(0, len(arrays), _MAX_CONCATENATED)]
        arrays = [concatenate(group, 0) if len(group) > 1 else group[0] for group in groups]
    return arrays[0]


def _first_column(x: Any, *shape: int) -> Any:
    """Return the first entries along the last axis of ``x``, which have this shape."""
    axis = aval_of(x).ndim - 1
    return reshape(slice_in_dim(x, 0, 1, axis), shape)


def _magnitude_bits(x: Any) -> Any:
    """Return the magnitudes as bits of float32; those of float64 beyond its range become its largest number."""
    dtype = aval_of(x).dtype
    if dtype_kind(dtype) == "c":
        return maximum(_magnitude_bits(real(x)), _magnitude_bits(imag(x)))
    narrow = x if dtype == np.float32 else convert_element_type(x, np.float32)
    bits = bitwise_and(bitcast_convert_type(narrow, np.uint32), MAGNITUDE_MASK)
    if dtype != np.float64:
        return bits
    overflows = bitwise_and(eq(bits, INFINITY_BITS), is_finite(x))
    return select(overflows, np.uint32(INFINITY_BITS - 1), bits)


def _measure_real(x: Any) -> State:
    """Return sums, minimum and maximum of one array of real numbers."""
    aval = aval_of(x)
    if not aval.size:
        return [np.zeros((1, _SUM_COLUMNS)), np.full(1, np.inf), np.full(1, -np.inf)]
    x = reshape(x, (aval.size,))
    wide = convert_element_type(x, np.float64)
    zero, one = np.float64(0.0), np.float64(1.0)
    tiny, top = np.float64(ml_dtypes.finfo(aval.dtype).smallest_normal), np.float64(np.inf)
    magnitude = _absolute(wide)
    finite = lt(magnitude, top)
    in_range = select(finite, wide, full((aval.size,), zero))
    marks = (
        full((aval.size,), np.bool_(True)),
        eq(wide, zero),
        bitwise_and(gt(magnitude, zero), lt(magnitude, tiny)),
        ne(wide, wide),
        eq(magnitude, top),
        lt(wide, zero),
    )
    counts = [reduce_sum(select(mark, full((aval.size,), one), full((aval.size,), zero)), (0,)) for mark in marks]
    sums = [reduce_sum(in_range, (0,)), reduce_sum(mul(in_range, in_range), (0,))]
    low = reduce_min(select(finite, wide, full((aval.size,), top)), (0,))
    high = reduce_max(select(finite, wide, full((aval.size,), np.float64(-np.inf))), (0,))
    columns = [reshape(value, (1,)) for value in (*counts, *sums)]
    row = concatenate([*columns, _exponent_histogram(magnitude, finite)], 0)
    return [reshape(row, (1, _SUM_COLUMNS)), reshape(low, (1,)), reshape(high, (1,))]


def _absolute(x: Any) -> Any:
    return select(lt(x, np.float64(0.0)), neg(x), x)


def _exponent_histogram(magnitude: Any, finite: Any) -> Any:
    """Return how many elements have each exponent, float64[bins]; ``magnitude`` is float64[n].

    Each bin is a comparison with all elements, fused with its sum: a scatter into the bins is a loop on CPUs.
    """
    size = aval_of(magnitude).size
    bits = shift_right_logical(bitcast_convert_type(magnitude, np.uint64), np.uint64(52))
    exponents = sub(convert_element_type(bits, np.int32), np.int32(1023))
    exponents = clamp(np.int32(MIN_EXPONENT), exponents, np.int32(MAX_EXPONENT))
    counted = bitwise_and(finite, gt(magnitude, np.float64(0.0)))
    exponents = select(counted, exponents, full((size,), np.int32(MAX_EXPONENT + 1)))
    shape = (BINS, size)
    same = eq(
        broadcast_in_dim(exponents, shape, (1,)), add(broadcasted_iota(np.int32, shape, 0), np.int32(MIN_EXPONENT))
    )
    return convert_element_type(reduce_sum(convert_element_type(same, np.int32), (1,)), np.float64)


def _merge(first: State, second: State) -> State:
    """Return the statistics of two sets of elements together."""
    return [add(first[0], second[0]), minimum(first[1], second[1]), maximum(first[2], second[2])]
