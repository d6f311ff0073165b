"""Sorting of whole numbers in place of other keys, which XLA for CPUs sorts five to seven times as fast.

XLA calls a comparison of floats with its rules for zeros and NaN for each pair of elements; of one array of integers it
knows the order. So floats become integers of the same order. Keys with other operands become 64 bits, the key and the
position: sorted, they give the order, by which each operand is gathered, and equal keys stay in their order.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import dtype_kind, iinfo, is_floating
from ..ir.avals import ShapedArray, make_aval
from ..ir.jaxpr import ClosedJaxpr
from ..runtime.boot import enable_x64
from ..trace.bind import bind, bind1
from ..trace.jaxpr_trace import stage
from .arithmetic import sub
from .barriers import OptimizationBarrier
from .bits import bitwise_and, bitwise_or, bitwise_xor, shift_left, shift_right_arithmetic
from .comparisons import eq, ne
from .conversion import convert_element_type, to_bits
from .indexing import take_along
from .operand_values import typed_scalar
from .selection import select
from .shapes import broadcasted_iota

#: Smaller arrays are sorted as they are: there are more kernels here, each of which takes a microsecond.
MIN_SIZE = 1024
#: Integers of the same size as floats, by bytes.
_INTEGERS: dict[int, np.dtype[Any]] = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
_INT64 = np.dtype(np.int64)
#: Bits of the position in a key.
_POSITION_BITS = 32


def emit_sort(builder: Any, op: Any, operands: Sequence[Any]) -> list[Any] | None:
    """Emit a sort of integers in place of ``op`` and return its results; None where that one is as fast.

    ``op`` is the ``Sort``, ``operands`` are the MLIR operands of the current equation.
    """
    types = tuple(make_aval(of.shape, of.dtype) for of in builder.in_avals)
    key = types[0]
    if key.size < MIN_SIZE or op.num_keys != 1 or key.shape[op.dimension] >= 2**31:
        return None
    if len(types) == 1 and is_floating(key.dtype) and key.dtype.itemsize in _INTEGERS:
        return builder.call_formula(_stage_floats(op, key), operands)  # type: ignore[no-any-return]
    if len(types) == 1 and dtype_kind(key.dtype) == "b":
        return builder.call_formula(_stage_bools(op, key), operands)  # type: ignore[no-any-return]
    if len(types) > 1 and dtype_kind(key.dtype) in "biuf" and key.dtype.itemsize in (1, 2, 4):
        return builder.call_formula(_stage_order(op, types), operands)  # type: ignore[no-any-return]
    return None


def _stage_wide(function: Any, types: Sequence[ShapedArray]) -> ClosedJaxpr:
    """Return the jaxpr of a function that computes with 64 bits, whatever the setting is."""
    was_wide = enable_x64.swap_local(True)
    try:
        return stage(function, types, "sort")
    finally:
        enable_x64.swap_local(was_wide)


@functools.lru_cache(maxsize=256)
def _stage_floats(op: Any, x: ShapedArray) -> ClosedJaxpr:
    """Return the jaxpr that sorts floats as integers; negative zeros come before others, and NaN is one NaN."""
    dtype = _INTEGERS[x.dtype.itemsize]

    def sort_floats(floats: Any) -> list[Any]:
        (numbers,) = bind(op, bind1(OptimizationBarrier(), _ordered_bits(floats, dtype)))
        return [to_bits(_flip_negative(numbers, dtype), x.dtype)]

    return _stage_wide(sort_floats, [x])


@functools.lru_cache(maxsize=256)
def _stage_bools(op: Any, x: ShapedArray) -> ClosedJaxpr:
    """Return the jaxpr that sorts booleans as integers."""

    def sort_bools(bools: Any) -> list[Any]:
        numbers = convert_element_type(bools, np.dtype(np.uint8))
        (ordered,) = bind(op, bind1(OptimizationBarrier(), numbers))
        return [ne(ordered, typed_scalar(0, ordered.dtype))]

    return stage(sort_bools, [x], "sort")


def _ordered_bits(floats: Any, dtype: np.dtype[Any]) -> Any:
    """Return integers that are ordered as floats of the same size are, NaN last."""
    numbers = _flip_negative(to_bits(floats, dtype), dtype)
    return select(ne(floats, floats), typed_scalar(iinfo(dtype).max, dtype), numbers)


def _flip_negative(numbers: Any, dtype: np.dtype[Any]) -> Any:
    """Return integers with all bits but the sign's flipped in negative ones; twice, this changes nothing."""
    sign = shift_right_arithmetic(numbers, typed_scalar(8 * dtype.itemsize - 1, dtype))
    return bitwise_xor(numbers, bitwise_and(sign, typed_scalar(iinfo(dtype).max, dtype)))


@functools.lru_cache(maxsize=256)
def _stage_order(op: Any, types: tuple[ShapedArray, ...]) -> ClosedJaxpr:
    """Return the jaxpr that sorts arrays together by the first: by 64 bits of its elements and their positions."""
    key = types[0]

    def sort_together(*arrays: Any) -> list[Any]:
        numbers = shift_left(_key_bits(arrays[0], key.dtype), typed_scalar(_POSITION_BITS, _INT64))
        positions = broadcasted_iota(_INT64, key.shape, op.dimension)
        (ordered,) = bind(op, bind1(OptimizationBarrier(), bitwise_or(numbers, positions)))
        lower = bitwise_and(ordered, typed_scalar(2**_POSITION_BITS - 1, _INT64))
        order = convert_element_type(lower, np.dtype(np.int32))
        return [take_along(array, order, op.dimension) for array in arrays]

    return _stage_wide(sort_together, types)


def _key_bits(x: Any, dtype: np.dtype[Any]) -> Any:
    """Return int64 numbers of 32 bits that are ordered as the keys, equal where these are."""
    if dtype_kind(dtype) == "b":
        return convert_element_type(x, _INT64)
    if not is_floating(dtype):
        signed = 0 if iinfo(dtype).min < 0 else 2 ** (_POSITION_BITS - 1)  # unsigned numbers need all 32 bits
        return sub(convert_element_type(x, _INT64), typed_scalar(signed, _INT64))
    wide = convert_element_type(x, np.dtype(np.float32)) if dtype.itemsize < 4 else x
    zero = typed_scalar(0, np.dtype(np.float32))
    return convert_element_type(_ordered_bits(select(eq(wide, zero), zero, wide), np.dtype(np.int32)), _INT64)
