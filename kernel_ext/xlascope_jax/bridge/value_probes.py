"""Probes of values in jax: what a twin program computes about each value, and how loops reduce it.

A probe's *state* is a list of arrays whose first axis counts sites; :mod:`xlascope.inspect.value_measurements` says
what its numbers mean. All functions here are traced while 64 bits are enabled.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from xlascope.inspect.value_measurements import (
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

#: The number of elements that are added to one partial sum, and the least number of elements for which that pays.
_PARTIAL_SUM_ELEMENTS, _MIN_SPLIT_ELEMENTS = 16, 1 << 11


def is_probed(x: Any) -> bool:
    """Return whether an array or its type is probed: floating-point and complex numbers."""
    dtype = getattr(x, "dtype", None)
    return isinstance(dtype, np.dtype) and bool(
        jnp.issubdtype(dtype, jnp.floating) or jnp.issubdtype(dtype, jnp.complexfloating)
    )


def as_row(x: Any) -> Any:
    """Return the elements of an array as a table of one row."""
    return jnp.reshape(x, (1, x.size))


class Probe(Protocol):
    """What is measured of a value, and how loops reduce it; the methods are those of :class:`Magnitudes`."""

    @property
    def marks_final(self) -> bool: ...
    def needs_operands(self, results: Sequence[Any]) -> bool: ...
    def measure(self, x: Any) -> State: ...
    def mark(self, state: State, results: Sequence[Any]) -> State: ...
    def initial(self, count: int, depth: int) -> State: ...
    def pad(self, state: State, count: int, depth: int, new_depth: int) -> State: ...
    def enter_loop(self, state: State, count: int, depth: int, iteration: Any) -> State: ...
    def update(self, old: State, new: State, count: int, depth: int) -> State: ...


@dataclass(frozen=True)
class Magnitudes:
    """Probe of the first pass: the bits of the largest magnitude of each value, NaN before infinity.

    The state is (codes, uint32[n]; in loops the iterations of the first NaN, and of the first NaN or infinity, int32[n,
    2, depth], outermost loop first).
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
        codes = jnp.full((x.shape[0],), RAN)
        return [_largest_bits(x) | codes if x.shape[1] else codes]

    def mark(self, state: State, results: Sequence[Any]) -> State:
        """Return the state of the operands and results of an equation with these results."""
        return state

    def initial(self, count: int, depth: int) -> State:
        """Return the state of ``count`` values that were not computed, in ``depth`` loops."""
        codes = jnp.zeros((count,), np.uint32)
        return [codes, jnp.full((count, len(EVENT_KINDS), depth), NEVER)] if depth else [codes]

    def pad(self, state: State, count: int, depth: int, new_depth: int) -> State:
        """Return a state with columns for ``new_depth`` loops instead of ``depth``."""
        if depth == new_depth:
            return state
        missing = jnp.zeros((count, len(EVENT_KINDS), new_depth - depth), np.int32)
        return [state[0], jnp.concatenate([state[1], missing], 2) if depth else missing]

    def enter_loop(self, state: State, count: int, depth: int, iteration: Any) -> State:
        """Return the state of an iteration as one of the loop: with the iteration in a new first column."""
        magnitudes = state[0] & MAGNITUDE_MASK
        happened = jnp.stack([magnitudes > INFINITY_BITS, magnitudes >= INFINITY_BITS], 1)
        column = jnp.where(happened, iteration, NEVER)[:, :, None]
        return [state[0], jnp.concatenate([column, state[1]], 2) if depth else column]

    def update(self, old: State, new: State, count: int, depth: int) -> State:
        """Return the state after an iteration: ``old`` before it, ``new`` of it alone, both of ``depth`` loops."""
        is_open = old[1][:, :, :1] == NEVER
        return [jnp.maximum(old[0], new[0]), jnp.where(is_open, new[1], old[1])]


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
        """Return whether the operands of an equation are probed: where something was born, and in half precision."""
        return bool(self.until) or any(is_probed(x) and x.dtype.itemsize < 4 for x in results)

    def measure(self, x: Any) -> State:
        """Return the state of the values of one dtype and size that are the rows of ``x``."""
        if not x.size:
            return self.initial(x.shape[0], 0)
        parts = [x.real, x.imag] if jnp.iscomplexobj(x) else [x]
        most = MAX_LOOP_HISTOGRAM_ELEMENTS if self.is_in_loop else MAX_HISTOGRAM_ELEMENTS
        state = functools.reduce(_merge, [_measure_real(part, most) for part in parts])
        return [*state, jnp.zeros(x.shape[:1], bool)]

    def mark(self, state: State, results: Sequence[Any]) -> State:
        """Return the state of values of an equation with these results: final if one of them is NaN or infinite."""
        probed = [x for x in results if is_probed(x) and x.size]
        if not self.until or not probed:
            return state
        worst = functools.reduce(jnp.maximum, [_largest_bits(as_row(x)) for x in probed])
        final = worst > INFINITY_BITS if self.until == "nan" else worst >= INFINITY_BITS
        return [*state[:-1], jnp.broadcast_to(final, state[-1].shape)]

    def initial(self, count: int, depth: int) -> State:
        """Return the state of ``count`` values that were not computed."""
        return [
            jnp.zeros((count, SUM_COLUMNS), np.float64),
            jnp.zeros((count, BINS), np.uint32),
            jnp.full((count,), np.float64(np.inf)),
            jnp.full((count,), np.float64(-np.inf)),
            jnp.zeros((count,), bool),
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
            return [*_merge(old[:-1], new[:-1]), old[-1] | new[-1]]
        takes_new = ~old[-1] & (new[0][:, 0] > 0)
        return [jnp.where(takes_new.reshape(-1, *[1] * (n.ndim - 1)), n, o) for n, o in zip(new, old, strict=True)]


def probe_in_loop(probe: Probe) -> Probe:
    """Return the probe of the values in the body of a loop."""
    return replace(probe, is_in_loop=True) if isinstance(probe, Statistics) else probe


def concatenate_states(states: Sequence[State]) -> State:
    """Return one state for the sites of several, in order."""
    return [jnp.concatenate(arrays, 0) if len(arrays) > 1 else arrays[0] for arrays in zip(*states, strict=True)]


# Bits -----------------------------------------------------------------------------------------------------------------


def _wide_dtype(dtype: Any) -> Any:
    return dtype if dtype in (np.float32, np.float64) else np.dtype(np.float32)


def _largest_bits(x: Any) -> Any:
    """Return the bits of max |x| in float32 of each row, of NaN if an element is NaN, uint32[rows].

    As unsigned integers the bits of magnitudes are ordered, infinity is above all numbers and NaN above infinity. Of a
    float64 beyond float32's range they are those of its largest number.
    """
    if jnp.iscomplexobj(x):
        return jnp.maximum(_largest_bits(x.real), _largest_bits(x.imag))
    dtype = _wide_dtype(x.dtype)
    largest = _row_maximum(_magnitude_bits(_bits_of(lax.convert_element_type(x, dtype))))
    if dtype == np.float32:
        return largest
    bits = lax.bitcast_convert_type(lax.bitcast_convert_type(largest, np.float64).astype(np.float32), np.uint32)
    infinity = _infinity_bits(np.dtype(np.float64))
    bits = jnp.where((bits == INFINITY_BITS) & (largest < infinity), np.uint32(INFINITY_BITS - 1), bits)
    return jnp.where(largest > infinity, MAGNITUDE_MASK, bits)


def _row_maximum(bits: Any) -> Any:
    """Return the maximum of each row of unsigned integers without their highest bit, which are signed ones as well.

    It is a reduction of two operands, of which the minimum is not used: XLA's CPU back end vectorizes that, and takes
    15 times as long for a reduction of one (jaxlib 0.10.2).
    """
    integer = np.dtype(f"int{8 * bits.dtype.itemsize}")
    signed, limits = lax.bitcast_convert_type(bits, integer), np.iinfo(integer)

    def combine(x: Any, y: Any) -> Any:
        return jnp.maximum(x[0], y[0]), jnp.minimum(x[1], y[1])

    starts = integer.type(0), integer.type(limits.max)
    largest, _ = lax.optimization_barrier(lax.reduce((signed, signed), starts, combine, (1,)))
    return lax.bitcast_convert_type(largest, bits.dtype)


def _classified_dtype(dtype: Any) -> Any:
    """Return the float dtype in which elements are classified by their bits."""
    return np.dtype(np.float32) if dtype.itemsize == 1 else dtype


def _bits_of(x: Any) -> Any:
    """Return the bits of x. By values a subnormal is 0, because XLA flushes them on CPUs."""
    kind = _classified_dtype(x.dtype)
    return lax.bitcast_convert_type(lax.convert_element_type(x, kind), np.dtype(f"uint{8 * kind.itemsize}"))


def _magnitude_bits(bits: Any) -> Any:
    """Return the bits of |x| from those of x."""
    return bits & bits.dtype.type((1 << (8 * bits.dtype.itemsize - 1)) - 1)


def _limits(dtype: Any) -> Any:
    return ml_dtypes.finfo(_classified_dtype(dtype))  # type: ignore[no-untyped-call]


def _constant_bits(number: Any, dtype: Any) -> Any:
    """Return the bits of a number in the float dtype in which elements are classified."""
    kind = _classified_dtype(dtype)
    return np.asarray(number).astype(kind).view(f"uint{8 * kind.itemsize}")[()]


def _infinity_bits(dtype: Any) -> Any:
    return _constant_bits(np.inf, dtype)


# Statistics -----------------------------------------------------------------------------------------------------------


def _measure_real(x: Any, max_histogram_elements: int) -> State:
    """Return sums, histogram, minimum and maximum of each row of real numbers."""
    rows, size = x.shape
    signed_bits = _bits_of(x)
    bits = _magnitude_bits(signed_bits)
    infinity = _infinity_bits(x.dtype)
    finite, is_zero = bits < infinity, bits == 0
    marks = (
        is_zero,
        ~is_zero & (bits < _constant_bits(_limits(x.dtype).smallest_normal, x.dtype)),
        bits > infinity,
        bits == infinity,
        (signed_bits != bits) & ~is_zero & (bits <= infinity),
    )
    counts, low, high = _count_and_bound(x, finite, marks)
    wide = jnp.where(finite, lax.convert_element_type(x, np.float64), np.float64(0.0))
    sums = jnp.stack([jnp.full((rows,), np.float64(size)), *counts, *_sum_all([wide, wide * wide])], 1)
    stride = HISTOGRAM_STRIDE if size > max_histogram_elements else 1
    histogram = _exponent_histogram(bits[:, ::stride], finite[:, ::stride], x.dtype)
    return [sums, histogram, low, high]


def _sum_all(operands: Sequence[Any]) -> list[Any]:
    """Return the sums of the rows of arrays of one shape, float64[rows] each; of many, sums of 16 come first.

    LLVM unrolls a loop of that length and vectorizes over the sums; one addition after another waits for the other.
    """
    (rows, size), starts = operands[0].shape, (np.float64(0.0),) * len(operands)

    def add(x: Any, y: Any) -> Any:
        return tuple(a + b for a, b in zip(x, y, strict=True))

    if size < _MIN_SPLIT_ELEMENTS:
        return list(lax.reduce(tuple(operands), starts, add, (1,)))
    count = size // _PARTIAL_SUM_ELEMENTS
    split = count * _PARTIAL_SUM_ELEMENTS
    tables = tuple(x[:, :split].reshape(rows, _PARTIAL_SUM_ELEMENTS, count) for x in operands)
    sums = _sum_all(lax.optimization_barrier(list(lax.reduce(tables, starts, add, (1,)))))
    if split == size:
        return sums
    rest = lax.reduce(tuple(x[:, split:] for x in operands), starts, add, (1,))
    return [x + y for x, y in zip(sums, rest, strict=True)]


def _count_and_bound(x: Any, finite: Any, marks: Sequence[Any]) -> tuple[list[Any], Any, Any]:
    """Return the numbers of marked elements of each row, and minimum and maximum of the finite ones, all float64[rows].

    Without a finite element these are inf and -inf. It is one reduction of integers, which order floats by their bits:
    XLA's CPU back end vectorizes these, and not reductions of floats.
    """
    dtype, size = _wide_dtype(x.dtype), x.shape[1]
    integer = np.dtype(f"int{8 * dtype.itemsize}")
    count_type = np.dtype(np.int64) if size > np.iinfo(np.int32).max else integer
    keys = _swap_order(lax.bitcast_convert_type(lax.convert_element_type(x, dtype), integer)).astype(count_type)
    limits = np.iinfo(count_type)
    highest, lowest = count_type.type(limits.max), count_type.type(limits.min)
    operands = (*(mark.astype(count_type) for mark in marks), jnp.where(finite, keys, highest))
    operands = (*operands, jnp.where(finite, keys, lowest))
    starts = (*[count_type.type(0)] * len(marks), highest, lowest)

    def combine(x: Any, y: Any) -> Any:
        added = (a + b for a, b in zip(x[:-2], y[:-2], strict=True))
        return (*added, jnp.minimum(x[-2], y[-2]), jnp.maximum(x[-1], y[-1]))

    *counts, low, high = lax.reduce(operands, starts, combine, (1,))
    is_empty = low > high
    numbers = []
    for key, otherwise in ((low, np.inf), (high, -np.inf)):
        number = lax.bitcast_convert_type(_swap_order(key.astype(integer)), dtype).astype(np.float64)
        numbers.append(jnp.where(is_empty, np.float64(otherwise), number))
    return [count.astype(np.float64) for count in counts], *numbers


def _swap_order(bits: Any) -> Any:
    """Return integers that are ordered as the floats with these bits are; the same function is its own inverse."""
    width = 8 * bits.dtype.itemsize
    sign = lax.shift_right_arithmetic(bits, jnp.full(bits.shape, bits.dtype.type(width - 1)))
    return bits ^ (sign & bits.dtype.type((1 << (width - 1)) - 1))


def _exponent_histogram(bits: Any, finite: Any, dtype: Any) -> Any:
    """Return how many finite elements other than 0 of each row have each exponent, uint32[rows, bins].

    ``bits`` are of magnitudes. Subnormals have the exponent below that of the smallest normal number.
    """
    limits, rows = _limits(dtype), bits.shape[0]
    fields = (bits >> bits.dtype.type(int(limits.nmant))).astype(np.int32)
    bins = jnp.clip(fields + np.int32(int(limits.minexp) - 1 - MIN_EXPONENT), np.int32(0), np.int32(BINS - 1))
    bins = bins + np.int32(BINS) * lax.broadcasted_iota(np.int32, bits.shape, 0)
    bins = jnp.where(finite & (bits > 0), bins, np.int32(rows * BINS))
    counts = jnp.zeros((rows * BINS,), np.uint32).at[bins.reshape(-1)].add(np.uint32(1), mode="drop")
    return counts.reshape(rows, BINS)


def _merge(first: State, second: State) -> State:
    """Return the statistics of two sets of elements together."""
    histograms = first[1] + second[1]
    histograms = jnp.where(histograms < first[1], np.uint32(np.iinfo(np.uint32).max), histograms)
    return [first[0] + second[0], histograms, jnp.minimum(first[2], second[2]), jnp.maximum(first[3], second[3])]
