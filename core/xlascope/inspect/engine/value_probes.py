"""Probes: what a twin program computes about each value that it materializes, and how loops reduce it.

A probe's *state* is a list of arrays whose first axis counts sites. It is plain: concatenated where programs follow
each other, updated by every iteration of a loop, and passed out of branches and of the devices of a ``shard_map``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import ml_dtypes
import numpy as np

from ...control.flow.reduce_op import Reduce
from ...control.programs.interning import intern_program
from ...dtypes import dtype_kind
from ...ir.avals import make_aval
from ...ir.jaxpr import ClosedJaxpr
from ...operations.arithmetic import abs as abs_
from ...operations.arithmetic import add, mul
from ...operations.bits import bitwise_and, bitwise_or, bitwise_xor, shift_right_arithmetic, shift_right_logical
from ...operations.comparisons import eq, ge, gt, le, lt, ne
from ...operations.complex_numbers import imag, real
from ...operations.conversion import bitcast_convert_type, convert_element_type
from ...operations.dimension_numbers import ScatterDimensionNumbers
from ...operations.extremes import clamp
from ...operations.extremes import max as maximum
from ...operations.extremes import min as minimum
from ...operations.indexing import ScatterAdd
from ...operations.rounding import is_finite
from ...operations.selection import select
from ...operations.shapes import broadcast_in_dim, full, reshape
from ...operations.slicing import concatenate, slice_in_dim
from ...trace.bind import bind, bind1
from ...trace.jaxpr_trace import stage
from ...trace.values import aval_of

State = list[Any]

#: Bit of a code that says that the value was computed; the others are the bits of the largest magnitude in float32.
RAN = np.uint32(1 << 31)
#: Magnitude bits of infinity, and the mask of magnitude bits.
INFINITY_BITS, MAGNITUDE_MASK = np.uint32(0x7F800000), np.uint32(0x7FFFFFFF)
#: Iteration of an event that never happened.
NEVER = np.int32(np.iinfo(np.int32).max)
#: The kinds of events whose first iteration is found: the first NaN, and the first NaN or infinity.
EVENT_KINDS = ("nan", "inf")
#: The exponents that a histogram tells apart: 2**-127 (and less) to 2**127 (and more).
MIN_EXPONENT, MAX_EXPONENT = -127, 127
BINS = MAX_EXPONENT - MIN_EXPONENT + 1
#: The number of elements from which a histogram is of every so many of them.
MAX_HISTOGRAM_ELEMENTS, HISTOGRAM_STRIDE = 1 << 16, 8
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
    """Probe of the first pass: one number for each value, the bits of its largest magnitude, NaN before infinity.

    As unsigned integers the bits of magnitudes are ordered, infinity is above all numbers and NaN above infinity, so
    an integer maximum tells NaN, infinity and range. The state is (codes, uint32[n]; in loops the iterations of the
    first NaN, and of the first NaN or infinity, int32[n, 2, depth], outermost loop first).
    """

    def needs_operands(self, results: Sequence[Any]) -> bool:
        """Return whether the operands of an equation with these results are probed as well."""
        return False

    def measure(self, x: Any) -> State:
        """Return the state of one value."""
        size = aval_of(x).size
        if not size:
            return [np.full(1, RAN, np.uint32)]
        return [reshape(bitwise_or(_largest_bits(x), RAN), (1,))]

    def mark(self, state: State, results: Sequence[Any]) -> State:
        """Return the state of the operands and results of an equation with these results."""
        return state

    def initial(self, count: int, depth: int) -> State:
        """Return the state of ``count`` values that were not computed, in ``depth`` loops."""
        codes = full((count,), np.uint32(0))
        return [codes, full((count, len(EVENT_KINDS), depth), NEVER)] if depth else [codes]

    def pad(self, state: State, count: int, depth: int, new_depth: int) -> State:
        """Return a state with columns for ``new_depth`` loops instead of ``depth``."""
        if depth == new_depth:
            return state
        missing = full((count, len(EVENT_KINDS), new_depth - depth), np.int32(0))
        return [state[0], missing if depth == 0 else concatenate([state[1], missing], 2)]

    def enter_loop(self, state: State, count: int, depth: int, iteration: Any) -> State:
        """Return the state of an iteration as one of the loop: with the iteration in a new first column."""
        codes = state[0]
        magnitudes = bitwise_and(codes, MAGNITUDE_MASK)
        happened = concatenate(
            [reshape(gt(magnitudes, INFINITY_BITS), (count, 1)), reshape(ge(magnitudes, INFINITY_BITS), (count, 1))], 1
        )
        column = select(
            happened, broadcast_in_dim(iteration, (count, len(EVENT_KINDS)), ()), full((count, len(EVENT_KINDS)), NEVER)
        )
        column = reshape(column, (count, len(EVENT_KINDS), 1))
        return [codes, concatenate([column, state[1]], 2) if depth else column]

    def update(self, old: State, new: State, count: int, depth: int) -> State:
        """Return the state after an iteration: ``old`` before it, ``new`` of it alone, both of ``depth`` loops."""
        shape = (count, len(EVENT_KINDS), depth)
        first = _first_column(old[1], count, len(EVENT_KINDS))
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

    def needs_operands(self, results: Sequence[Any]) -> bool:
        """Return whether the operands of an equation with these results are probed as well.

        They are where something was born, and where half precision may have lost something.
        """
        return bool(self.until) or any(is_probed(aval_of(x)) and aval_of(x).dtype.itemsize < 4 for x in results)

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
        worst = functools.reduce(maximum, map(_largest_bits, probed))
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


@dataclass(frozen=True)
class Sums:
    """Probe of a watched step: the number of elements, zeros, sum and sum of squares of each value.

    The state is float64[n, 4]; loops sum over all iterations. A sum of squares of numbers in float32 is finite where
    they are.
    """

    def needs_operands(self, results: Sequence[Any]) -> bool:
        """Return whether the operands of an equation with these results are probed as well."""
        return False

    def measure(self, x: Any) -> State:
        """Return the state of one value."""
        aval = aval_of(x)
        if not aval.size:
            return [np.zeros((1, 4))]
        parts = [real(x), imag(x)] if dtype_kind(aval.dtype) == "c" else [x]
        wides = [convert_element_type(part, np.float64) for part in parts]
        square = functools.reduce(add, [mul(wide, wide) for wide in wides])
        zeros = convert_element_type(eq(square, np.float64(0.0)), np.float64)
        sums = reduce_all([zeros, wides[0], square], [np.float64(0.0)] * 3, _sum_program)
        return [reshape(concatenate([np.full(1, aval.size, np.float64), *(reshape(s, (1,)) for s in sums)], 0), (1, 4))]

    def mark(self, state: State, results: Sequence[Any]) -> State:
        """Return the state, to which the equation's results add nothing."""
        return state

    def initial(self, count: int, depth: int) -> State:
        """Return the state of ``count`` values that were not computed."""
        return [full((count, 4), np.float64(0.0))]

    def pad(self, state: State, count: int, depth: int, new_depth: int) -> State:
        """Return the state, which is the same in any number of loops."""
        return state

    def enter_loop(self, state: State, count: int, depth: int, iteration: Any) -> State:
        """Return the state of an iteration as one of the loop."""
        return state

    def update(self, old: State, new: State, count: int, depth: int) -> State:
        """Return the state after an iteration: ``old`` before it, ``new`` of it alone."""
        return [add(old[0], new[0])]


class Probe(Protocol):
    """What is measured of a value, and how loops reduce it."""

    def needs_operands(self, results: Sequence[Any]) -> bool: ...
    def measure(self, x: Any) -> State: ...
    def mark(self, state: State, results: Sequence[Any]) -> State: ...
    def initial(self, count: int, depth: int) -> State: ...
    def pad(self, state: State, count: int, depth: int, new_depth: int) -> State: ...
    def enter_loop(self, state: State, count: int, depth: int, iteration: Any) -> State: ...
    def update(self, old: State, new: State, count: int, depth: int) -> State: ...


@functools.lru_cache(maxsize=16)
def _sum_program(count: int) -> ClosedJaxpr:
    """Return the program that adds two tuples of numbers, float64."""

    def combine(*values: Any) -> list[Any]:
        return [add(x, y) for x, y in zip(values[:count], values[count:], strict=True)]

    return intern_program(stage(combine, [make_aval((), np.dtype(np.float64))] * (2 * count)))


def reduce_all(operands: Sequence[Any], starts: Sequence[Any], program_of: Callable[[int], ClosedJaxpr]) -> list[Any]:
    """Return arrays of one shape reduced together to numbers; ``program_of(count)`` combines two tuples of them."""
    axes = tuple(range(aval_of(operands[0]).ndim))
    return list(bind(Reduce(program_of(len(operands)), axes), *operands, *starts))


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


def _largest_bits(x: Any) -> Any:
    """Return the bits of max |x| in float32, of NaN if an element is NaN; of a float64 beyond its range, its largest.

    NaN is looked for by itself, in the same reduction: XLA's vectorized maximum of floats on CPUs loses it.
    """
    dtype = aval_of(x).dtype
    if dtype_kind(dtype) == "c":
        return maximum(_largest_bits(real(x)), _largest_bits(imag(x)))
    wide = x if dtype in (np.float32, np.float64) else convert_element_type(x, np.float32)
    dtype, size = aval_of(wide).dtype, aval_of(wide).size
    flat = reshape(wide, (size,))
    is_nan = ne(flat, flat)
    zero = dtype.type(0)
    magnitude = select(is_nan, full((size,), zero), abs_(flat))
    any_nan, largest = bind(Reduce(_or_and_maximum(dtype), (0,)), is_nan, magnitude, np.bool_(False), zero)
    bits = bitcast_convert_type(convert_element_type(largest, np.float32), np.uint32)
    if dtype == np.float64:
        overflows = bitwise_and(eq(bits, INFINITY_BITS), is_finite(largest))
        bits = select(overflows, np.uint32(INFINITY_BITS - 1), bits)
    return select(any_nan, MAGNITUDE_MASK, bits)


@functools.lru_cache(maxsize=16)
def _or_and_maximum(dtype: Any) -> ClosedJaxpr:
    """Return the program that combines two pairs of a boolean and a number."""
    avals = [make_aval((), np.dtype(bool)), make_aval((), dtype)] * 2
    return intern_program(stage(lambda p, x, q, y: [bitwise_or(p, q), maximum(x, y)], avals))


def _measure_real(x: Any) -> State:
    """Return sums, minimum and maximum of one array of real numbers, in two reductions and one scatter.

    XLA's CPU back end vectorizes reductions of integers, whose order does not matter, and not those of floats: so
    counts, minimum and maximum are one reduction of integers, which orders floats by their bits. It takes a tenth of
    the time that it takes in float64. A scatter into the histogram's bins is a thousand times faster than a comparison
    for each bin; of many elements some are enough.
    """
    aval = aval_of(x)
    if not aval.size:
        return [np.zeros((1, _SUM_COLUMNS)), np.full(1, np.inf), np.full(1, -np.inf)]
    flat = reshape(x, (aval.size,))
    signed_bits = _bits_of(flat)
    bits = _magnitude_bits(signed_bits)
    none, infinity = aval_of(bits).dtype.type(0), _infinity_bits(aval.dtype)
    finite = lt(bits, infinity)
    marks = (
        eq(bits, none),
        bitwise_and(gt(bits, none), lt(bits, _smallest_normal_bits(aval.dtype))),
        gt(bits, infinity),
        eq(bits, infinity),
        bitwise_and(ne(signed_bits, bits), bitwise_and(gt(bits, none), le(bits, infinity))),
    )
    counts, low, high = _count_and_bound(flat, finite, marks)
    wide = select(finite, convert_element_type(flat, np.float64), full((aval.size,), np.float64(0.0)))
    sums = reduce_all([wide, mul(wide, wide)], [np.float64(0.0)] * 2, _sum_program)
    stride = HISTOGRAM_STRIDE if aval.size > MAX_HISTOGRAM_ELEMENTS else 1
    histogram = _exponent_histogram(_every(bits, stride), _every(finite, stride), aval.dtype)
    row = [np.full(1, aval.size, np.float64), *(reshape(value, (1,)) for value in (*counts, *sums)), histogram]
    return [reshape(concatenate(row, 0), (1, _SUM_COLUMNS)), reshape(low, (1,)), reshape(high, (1,))]


def _count_and_bound(flat: Any, finite: Any, marks: Sequence[Any]) -> tuple[list[Any], Any, Any]:
    """Return the numbers of marked elements, and minimum and maximum of the finite ones, all float64.

    Without a finite element these are inf and -inf. Integers have the width of the floats, of which there are fewer.
    """
    wide = flat if aval_of(flat).dtype in (np.float32, np.float64) else convert_element_type(flat, np.float32)
    size, dtype = aval_of(wide).size, aval_of(wide).dtype
    integer = np.dtype(f"int{8 * dtype.itemsize}")
    count_type = np.dtype(np.int64) if size > np.iinfo(np.int32).max else integer
    keys = convert_element_type(_swap_order(bitcast_convert_type(wide, integer)), count_type)
    limits = np.iinfo(count_type)
    highest, lowest = count_type.type(limits.max), count_type.type(limits.min)
    bounds = [select(finite, keys, full((size,), highest)), select(finite, keys, full((size,), lowest))]
    operands = [*(convert_element_type(mark, count_type) for mark in marks), *bounds]
    starts = [*[count_type.type(0)] * len(marks), highest, lowest]
    program = _count_program(len(marks), count_type)
    *counts, low, high = bind(Reduce(program, (0,)), *operands, *starts)
    is_empty = gt(low, high)
    numbers = []
    for key, otherwise in ((low, np.inf), (high, -np.inf)):
        number = bitcast_convert_type(_swap_order(convert_element_type(key, integer)), dtype)
        numbers.append(select(is_empty, np.float64(otherwise), convert_element_type(number, np.float64)))
    return [convert_element_type(count, np.float64) for count in counts], *numbers


def _swap_order(bits: Any) -> Any:
    """Return integers that are ordered as the floats with these bits are; the same function is its own inverse."""
    aval = aval_of(bits)
    width = 8 * aval.dtype.itemsize
    sign = shift_right_arithmetic(bits, _fill_like(aval, width - 1))
    return bitwise_xor(bits, bitwise_and(sign, _fill_like(aval, (1 << (width - 1)) - 1)))


def _fill_like(aval: Any, number: int) -> Any:
    return full(aval.shape, aval.dtype.type(number))


def _every(x: Any, stride: int) -> Any:
    return x if stride == 1 else slice_in_dim(x, 0, aval_of(x).size, 0, stride)


@functools.lru_cache(maxsize=16)
def _count_program(sums: int, dtype: Any) -> ClosedJaxpr:
    """Return the program that combines two tuples of sums, a minimum and a maximum, all integers."""
    count = sums + 2

    def combine(*values: Any) -> list[Any]:
        first, second = values[:count], values[count:]
        added = [add(x, y) for x, y in zip(first[:sums], second[:sums], strict=True)]
        return [*added, minimum(first[sums], second[sums]), maximum(first[sums + 1], second[sums + 1])]

    return intern_program(stage(combine, [make_aval((), dtype)] * (2 * count)))


def _bits_dtype(dtype: Any) -> tuple[Any, Any]:
    """Return the float dtype in which elements are classified by their bits, and the integer of its width."""
    if dtype.itemsize == 1:
        return np.dtype(np.float32), np.dtype(np.uint32)
    return dtype, np.dtype(f"uint{8 * dtype.itemsize}")


def _bits_of(x: Any) -> Any:
    """Return the bits of x. By values a subnormal is 0, because XLA flushes them on CPUs."""
    kind, integer = _bits_dtype(aval_of(x).dtype)
    return bitcast_convert_type(x if aval_of(x).dtype == kind else convert_element_type(x, kind), integer)


def _magnitude_bits(bits: Any) -> Any:
    """Return the bits of |x| from those of x."""
    integer = aval_of(bits).dtype
    return bitwise_and(bits, integer.type((1 << (8 * integer.itemsize - 1)) - 1))


def _limits(dtype: Any) -> Any:
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def _infinity_bits(dtype: Any) -> Any:
    """Return the bits of infinity, in the float dtype in which elements are classified."""
    kind, integer = _bits_dtype(dtype)
    return np.asarray(np.inf).astype(kind).view(integer)[()]


def _smallest_normal_bits(dtype: Any) -> Any:
    kind, integer = _bits_dtype(dtype)
    return np.asarray(_limits(dtype).smallest_normal).astype(kind).view(integer)[()]


def _exponent_histogram(bits: Any, finite: Any, dtype: Any) -> Any:
    """Return how many finite elements other than 0 have each exponent, float64[bins]; ``bits`` are of magnitudes.

    Subnormals have the exponent below that of the smallest normal number.
    """
    limits, size, integer = _limits(_bits_dtype(dtype)[0]), aval_of(bits).size, aval_of(bits).dtype
    fields = convert_element_type(shift_right_logical(bits, integer.type(limits.nmant)), np.int32)
    bins = add(fields, np.int32(int(limits.minexp) - 1 - MIN_EXPONENT))
    bins = clamp(np.int32(0), bins, np.int32(BINS - 1))
    bins = select(bitwise_and(finite, gt(bits, integer.type(0))), bins, full((size,), np.int32(BINS)))
    counts = bind1(
        ScatterAdd(ScatterDimensionNumbers((), (0,), (0,)), "drop"),
        full((BINS,), np.int32(0)),
        reshape(bins, (size, 1)),
        full((size,), np.int32(1)),
    )
    return convert_element_type(counts, np.float64)


def _merge(first: State, second: State) -> State:
    """Return the statistics of two sets of elements together."""
    return [add(first[0], second[0]), minimum(first[1], second[1]), maximum(first[2], second[2])]
