"""Probes: what a twin program computes about each value that it materializes, and how loops reduce it.

A probe's *state* is a list of arrays whose first axis counts sites. It is plain: concatenated where programs follow
each other, updated by every iteration of a loop, and passed out of branches and of the devices of a ``shard_map``.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import ml_dtypes
import numpy as np

from ...control.flow.reduce_op import Reduce
from ...control.programs.interning import intern_program
from ...dtypes import dtype_kind
from ...ir.avals import make_aval
from ...ir.jaxpr import ClosedJaxpr
from ...operations.arithmetic import add, mul
from ...operations.barriers import optimization_barrier
from ...operations.bits import bitwise_and, bitwise_or, bitwise_xor, shift_right_arithmetic, shift_right_logical
from ...operations.comparisons import eq, ge, gt, le, lt, ne
from ...operations.complex_numbers import imag, real
from ...operations.conversion import bitcast_convert_type, convert_element_type
from ...operations.dimension_numbers import ScatterDimensionNumbers
from ...operations.extremes import clamp
from ...operations.extremes import max as maximum
from ...operations.extremes import min as minimum
from ...operations.indexing import ScatterAdd
from ...operations.selection import select
from ...operations.shapes import broadcast_in_dim, broadcasted_iota, full, reshape
from ...operations.slicing import concatenate, slice_in_dim
from ...trace.bind import bind, bind1
from ...trace.jaxpr_trace import stage
from ...trace.values import aval_of
from ..value_measurements import (
    BINS,
    EVENT_KINDS,
    HISTOGRAM_STRIDE,
    INFINITY_BITS,
    MAGNITUDE_MASK,
    MAX_HISTOGRAM_ELEMENTS,
    MAX_LOOP_HISTOGRAM_ELEMENTS,
    MIN_EXPONENT,
    NEVER,
    RAN,
    SUM_COLUMNS,
)

State = list[Any]

#: The number of elements that are added to one partial sum; the least numbers of elements of a table, and of one of its
#: rows, for which that pays.
_PARTIAL_SUM_ELEMENTS, _MIN_SPLIT_ELEMENTS, _MIN_SPLIT_ROW = 16, 1 << 11, 1 << 7


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

    @property
    def marks_final(self) -> bool:
        """Return whether the state of a value depends on the results of its equation."""
        return False

    def needs_operands(self, results: Sequence[Any]) -> bool:
        """Return whether the operands of an equation with these results are probed as well."""
        return False

    def measure(self, x: Any) -> State:
        """Return the state of the values of one dtype and size that are the rows of ``x``."""
        rows, size = aval_of(x).shape
        codes = full((rows,), RAN)
        return [bitwise_or(_largest_bits(x), codes) if size else codes]

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

    The state is (sums, float64[n, 8]; histograms, uint32[n, bins], the largest number for more; minima and maxima of
    finite elements, float64[n]; whether the value is final, bool[n]). In loops all iterations are taken together, or
    with ``until`` the latest counts, up to the first one in which a result of the equation is NaN (``"nan"``), or NaN
    or infinite (``"inf"``). ``is_in_loop`` has the histograms be of fewer elements.
    """

    until: str = ""
    is_in_loop: bool = False

    @property
    def marks_final(self) -> bool:
        """Return whether the state of a value depends on the results of its equation."""
        return bool(self.until)

    def needs_operands(self, results: Sequence[Any]) -> bool:
        """Return whether the operands of an equation with these results are probed as well.

        They are where something was born, and where half precision may have lost something.
        """
        return bool(self.until) or any(is_probed(aval_of(x)) and aval_of(x).dtype.itemsize < 4 for x in results)

    def measure(self, x: Any) -> State:
        """Return the state of the values of one dtype and size that are the rows of ``x``."""
        aval = aval_of(x)
        if not aval.size:
            return self.initial(aval.shape[0], 0)
        parts = [real(x), imag(x)] if dtype_kind(aval.dtype) == "c" else [x]
        most = MAX_LOOP_HISTOGRAM_ELEMENTS if self.is_in_loop else MAX_HISTOGRAM_ELEMENTS
        states = [_measure_real(part, most) for part in parts]
        state = states[0] if len(states) == 1 else _merge(*states)
        return [*state, full(aval.shape[:1], np.bool_(False))]

    def mark(self, state: State, results: Sequence[Any]) -> State:
        """Return the state of values of an equation with these results: final if one of them is NaN or infinite."""
        probed = [x for x in results if is_probed(aval_of(x)) and aval_of(x).size]
        if not self.until or not probed:
            return state
        worst = functools.reduce(maximum, [_largest_bits(as_row(x)) for x in probed])
        infinity = full((1,), INFINITY_BITS)
        final = gt(worst, infinity) if self.until == "nan" else ge(worst, infinity)
        return [*state[:-1], broadcast_in_dim(final, aval_of(state[-1]).shape, (0,))]

    def initial(self, count: int, depth: int) -> State:
        """Return the state of ``count`` values that were not computed."""
        infinities = full((count,), np.float64(np.inf))
        return [
            full((count, SUM_COLUMNS), np.float64(0.0)),
            full((count, BINS), np.uint32(0)),
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
            return [*_merge(old[:-1], new[:-1]), bitwise_or(old[-1], new[-1])]
        computed = gt(_first_column(new[0], count), np.float64(0.0))
        takes_new = bitwise_and(eq(old[-1], np.bool_(False)), computed)
        rows = (broadcast_in_dim(takes_new, aval_of(array).shape, (0,)) for array in new)
        return [select(row, n, o) for row, n, o in zip(rows, new, old, strict=True)]


@dataclass(frozen=True)
class Sums:
    """Probe of a watched step: the number of elements, zeros, sum and sum of squares of each value.

    The state is float64[n, 4]; loops sum over all iterations. A sum of squares of numbers in float32 is finite where
    they are.
    """

    @property
    def marks_final(self) -> bool:
        """Return whether the state of a value depends on the results of its equation."""
        return False

    def needs_operands(self, results: Sequence[Any]) -> bool:
        """Return whether the operands of an equation with these results are probed as well."""
        return False

    def measure(self, x: Any) -> State:
        """Return the state of the values of one dtype and size that are the rows of ``x``."""
        aval = aval_of(x)
        if not aval.size:
            return self.initial(aval.shape[0], 0)
        parts = [real(x), imag(x)] if dtype_kind(aval.dtype) == "c" else [x]
        wides = [convert_element_type(part, np.float64) for part in parts]
        square = functools.reduce(add, [mul(wide, wide) for wide in wides])
        zeros = convert_element_type(eq(square, full(aval.shape, np.float64(0.0))), np.float64)
        return [_as_columns([full(aval.shape[:1], np.float64(aval.shape[1])), *_sum_all([zeros, wides[0], square])])]

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

    @property
    def marks_final(self) -> bool: ...
    def needs_operands(self, results: Sequence[Any]) -> bool: ...
    def measure(self, x: Any) -> State: ...
    def mark(self, state: State, results: Sequence[Any]) -> State: ...
    def initial(self, count: int, depth: int) -> State: ...
    def pad(self, state: State, count: int, depth: int, new_depth: int) -> State: ...
    def enter_loop(self, state: State, count: int, depth: int, iteration: Any) -> State: ...
    def update(self, old: State, new: State, count: int, depth: int) -> State: ...


def probe_in_loop(probe: Probe) -> Probe:
    """Return the probe of the values in the body of a loop."""
    return replace(probe, is_in_loop=True) if isinstance(probe, Statistics) else probe


@functools.lru_cache(maxsize=16)
def _sum_program(count: int) -> ClosedJaxpr:
    """Return the program that adds two tuples of numbers, float64."""

    def combine(*values: Any) -> list[Any]:
        return [add(x, y) for x, y in zip(values[:count], values[count:], strict=True)]

    return intern_program(stage(combine, [make_aval((), np.dtype(np.float64))] * (2 * count)))


def as_row(x: Any) -> Any:
    """Return the elements of an array as a table of one row."""
    return reshape(x, (1, aval_of(x).size))


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
    """Return the bits of max |x| in float32 of each row, of NaN if an element is NaN, uint32[rows].

    As integers the bits of magnitudes are ordered, infinity is above all numbers and NaN above infinity. Of a float64
    beyond float32's range they are those of its largest number.
    """
    dtype = aval_of(x).dtype
    if dtype_kind(dtype) == "c":
        return maximum(_largest_bits(real(x)), _largest_bits(imag(x)))
    wide = x if dtype in (np.float32, np.float64) else convert_element_type(x, np.float32)
    dtype = aval_of(wide).dtype
    largest = _largest_magnitude(wide, np.dtype(f"int{8 * dtype.itemsize}"))
    if dtype == np.float32:
        return bitcast_convert_type(largest, np.uint32)
    bits = bitcast_convert_type(convert_element_type(bitcast_convert_type(largest, dtype), np.float32), np.uint32)
    rows, infinity = aval_of(bits).shape, np.float64(np.inf).view(np.int64)
    overflows = bitwise_and(eq(bits, full(rows, INFINITY_BITS)), lt(largest, full(rows, infinity)))
    bits = select(overflows, full(rows, np.uint32(INFINITY_BITS - 1)), bits)
    return select(gt(largest, full(rows, infinity)), full(rows, MAGNITUDE_MASK), bits)


def _largest_magnitude(x: Any, integer: np.dtype[Any]) -> Any:
    """Return the bits of the largest magnitude of each row of floats as integers of their width.

    It is a reduction of two operands, of which the minimum is not used: XLA's CPU back end vectorizes that, and takes
    several times as long for a reduction of one (jaxlib 0.10.2).
    """
    limit = integer.type(np.iinfo(integer).max)
    magnitudes = bitwise_and(bitcast_convert_type(x, integer), full(aval_of(x).shape, limit))
    both = bind(Reduce(_maximum_and_minimum(integer), (1,)), magnitudes, magnitudes, integer.type(0), limit)
    return optimization_barrier(both)[0]


@functools.lru_cache(maxsize=2)
def _maximum_and_minimum(dtype: Any) -> ClosedJaxpr:
    """Return the program that combines two pairs of a maximum and a minimum."""
    avals = [make_aval((), dtype)] * 4
    return intern_program(stage(lambda p, x, q, y: [maximum(p, q), minimum(x, y)], avals))


def _measure_real(x: Any, max_histogram_elements: int) -> State:
    """Return sums, histogram, minimum and maximum of each row of real numbers, in two reductions and one scatter.

    XLA's CPU back end vectorizes reductions of integers, whose order does not matter, and not those of floats: so
    counts, minimum and maximum are one reduction of integers, which orders floats by their bits. It takes a tenth of
    the time that it takes in float64. A scatter into the histogram's bins is a thousand times faster than a comparison
    for each bin; of many elements some are enough.
    """
    aval = aval_of(x)
    rows, size = aval.shape
    signed_bits = _bits_of(x)
    bits = _magnitude_bits(signed_bits)
    zero = _fill_like(bits, 0)
    infinity, smallest = (_fill_like(bits, number(aval.dtype)) for number in (_infinity_bits, _smallest_normal_bits))
    finite = lt(bits, infinity)
    marks = (
        eq(bits, zero),
        bitwise_and(gt(bits, zero), lt(bits, smallest)),
        gt(bits, infinity),
        eq(bits, infinity),
        bitwise_and(ne(signed_bits, bits), bitwise_and(gt(bits, zero), le(bits, infinity))),
    )
    counts, low, high = _count_and_bound(x, finite, marks)
    wide = select(finite, convert_element_type(x, np.float64), full(aval.shape, np.float64(0.0)))
    sums = _as_columns([full((rows,), np.float64(size)), *counts, *_sum_all([wide, mul(wide, wide)])])
    stride = HISTOGRAM_STRIDE if size > max_histogram_elements else 1
    histogram = _exponent_histogram(_every(bits, stride), _every(finite, stride), aval.dtype)
    return [sums, histogram, low, high]


def _as_columns(columns: Sequence[Any]) -> Any:
    rows = aval_of(columns[0]).size
    return concatenate([reshape(column, (rows, 1)) for column in columns], 1)


def _sum_all(operands: Sequence[Any]) -> list[Any]:
    """Return the sums of the rows of arrays of one shape, float64[rows] each.

    Additions of floats that follow each other wait for each other. Of many, sums of 16 come first: LLVM unrolls a loop
    of that length and vectorizes over the sums, which takes a quarter of the time.
    """
    (rows, size), starts = aval_of(operands[0]).shape, [np.float64(0.0)] * len(operands)
    program = _sum_program(len(operands))
    if size < _MIN_SPLIT_ROW or rows * size < _MIN_SPLIT_ELEMENTS:
        return list(bind(Reduce(program, (1,)), *operands, *starts))
    count = size // _PARTIAL_SUM_ELEMENTS
    split = count * _PARTIAL_SUM_ELEMENTS
    tables = [reshape(slice_in_dim(x, 0, split, 1, 1), (rows, _PARTIAL_SUM_ELEMENTS, count)) for x in operands]
    partial = bind(Reduce(program, (1,)), *tables, *starts)
    sums = _sum_all(optimization_barrier(list(partial)))
    if split == size:
        return sums
    rest = bind(Reduce(program, (1,)), *(slice_in_dim(x, split, size, 1, 1) for x in operands), *starts)
    return [add(x, y) for x, y in zip(sums, rest, strict=True)]


def _count_and_bound(x: Any, finite: Any, marks: Sequence[Any]) -> tuple[list[Any], Any, Any]:
    """Return the numbers of marked elements of each row, and minimum and maximum of the finite ones, all float64[rows].

    Without a finite element these are inf and -inf. Integers have the width of the floats, of which there are fewer.
    """
    wide = x if aval_of(x).dtype in (np.float32, np.float64) else convert_element_type(x, np.float32)
    (rows, size), dtype = aval_of(wide).shape, aval_of(wide).dtype
    integer = np.dtype(f"int{8 * dtype.itemsize}")
    count_type = np.dtype(np.int64) if size > np.iinfo(np.int32).max else integer
    keys = convert_element_type(_swap_order(bitcast_convert_type(wide, integer)), count_type)
    limits = np.iinfo(count_type)
    highest, lowest = count_type.type(limits.max), count_type.type(limits.min)
    bounds = [select(finite, keys, _fill_like(keys, int(highest))), select(finite, keys, _fill_like(keys, int(lowest)))]
    operands = [*(convert_element_type(mark, count_type) for mark in marks), *bounds]
    starts = [*[count_type.type(0)] * len(marks), highest, lowest]
    program = _count_program(len(marks), count_type)
    *counts, low, high = bind(Reduce(program, (1,)), *operands, *starts)
    is_empty = gt(low, high)
    numbers = []
    for key, otherwise in ((low, np.inf), (high, -np.inf)):
        number = bitcast_convert_type(_swap_order(convert_element_type(key, integer)), dtype)
        number = convert_element_type(number, np.float64)
        numbers.append(select(is_empty, full((rows,), np.float64(otherwise)), number))
    return [convert_element_type(count, np.float64) for count in counts], *numbers


def _swap_order(bits: Any) -> Any:
    """Return integers that are ordered as the floats with these bits are; the same function is its own inverse."""
    width = 8 * aval_of(bits).dtype.itemsize
    sign = shift_right_arithmetic(bits, _fill_like(bits, width - 1))
    return bitwise_xor(bits, bitwise_and(sign, _fill_like(bits, (1 << (width - 1)) - 1)))


def _fill_like(x: Any, number: int) -> Any:
    aval = aval_of(x)
    return full(aval.shape, aval.dtype.type(number))


def _every(x: Any, stride: int) -> Any:
    return x if stride == 1 else slice_in_dim(x, 0, aval_of(x).shape[1], 1, stride)


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
    """Return how many finite elements other than 0 of each row have each exponent, uint32[rows, bins].

    ``bits`` are of magnitudes. Subnormals have the exponent below that of the smallest normal number.
    """
    limits, shape = _limits(_bits_dtype(dtype)[0]), aval_of(bits).shape
    fields = convert_element_type(shift_right_logical(bits, _fill_like(bits, int(limits.nmant))), np.int32)
    bins = add(fields, full(shape, np.int32(int(limits.minexp) - 1 - MIN_EXPONENT)))
    bins = clamp(np.int32(0), bins, np.int32(BINS - 1))
    if shape[0] > 1:
        bins = add(bins, mul(broadcasted_iota(np.int32, shape, 0), full(shape, np.int32(BINS))))
    is_counted = bitwise_and(finite, gt(bits, _fill_like(bits, 0)))
    size = shape[0] * shape[1]
    bins = select(is_counted, bins, full(shape, np.int32(shape[0] * BINS)))
    counts = bind1(
        ScatterAdd(ScatterDimensionNumbers((), (0,), (0,)), "drop"),
        full((shape[0] * BINS,), np.uint32(0)),
        reshape(bins, (size, 1)),
        full((size,), np.uint32(1)),
    )
    return reshape(counts, (shape[0], BINS))


def _merge(first: State, second: State) -> State:
    """Return the statistics of two sets of elements together."""
    histograms = add(first[1], second[1])
    overflows = lt(histograms, first[1])
    histograms = select(overflows, _fill_like(histograms, int(np.iinfo(np.uint32).max)), histograms)
    return [add(first[0], second[0]), histograms, minimum(first[2], second[2]), maximum(first[3], second[3])]
