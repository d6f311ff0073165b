"""Random words from a key's words and counters; the layout of the counters determines the numbers.

The default layout gives element i of a result the counter i, whatever the result's size, so that it can be made in
pieces. The older layout (setting ``threefry_partitionable`` off) runs all counters in two halves through the
generator.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..operations.bits import bitwise_and, bitwise_or, bitwise_xor, shift_left, shift_right_logical
from ..operations.conversion import convert_element_type
from ..operations.random_bits import threefry2x32
from ..operations.shapes import broadcast_in_dim, broadcasted_iota, expand_dims, reshape, transpose
from ..operations.slicing import concatenate, slice_in_dim
from ..runtime.boot import threefry_partitionable
from ..trace.values import aval_of

__all__ = ["blocks", "random_bits", "stream", "threefry2x32", "words"]

Words = tuple[Any, Any]
UNSIGNED = {width: np.dtype(f"uint{width}") for width in (8, 16, 32, 64)}
_WORD = UNSIGNED[32]


def words(number: Any) -> Words:
    """Return the upper and the lower 32 bits of integers as uint32; the upper are 0 for narrower dtypes."""
    low = convert_element_type(number, _WORD)
    if aval_of(number).dtype.itemsize < 8:
        return np.uint32(0), low
    return convert_element_type(shift_right_logical(number, 32), _WORD), low


def blocks(key: Words, shape: tuple[int, ...]) -> Words:
    """Return two random words for each element of a shape; element i (in row-major order) has the counter i."""
    counters = reshape(broadcasted_iota(_WORD, (math.prod(shape),), 0), shape)
    first, second = threefry2x32(*key, np.uint32(0), counters)
    return first, second


def stream(key: Words, count: int) -> Any:
    """Return ``count`` random words in the older layout.

    The counters 0, 1, … run in two halves through the generator; an odd number of them is padded with 0.
    """
    half = (count + 1) // 2
    counters = broadcasted_iota(_WORD, (count,), 0)
    if count % 2:
        counters = concatenate([counters, broadcast_in_dim(np.uint32(0), (1,), ())], 0)
    first, second = threefry2x32(*key, slice_in_dim(counters, 0, half), slice_in_dim(counters, half, 2 * half))
    return slice_in_dim(concatenate([first, second], 0), 0, count)


def random_bits(key: Words, width: int, shape: tuple[int, ...]) -> Any:
    """Return an array of unsigned integers of ``width`` (8, 16, 32, 64) random bits, for the words of a key."""
    return (
        _partitionable_bits(key, width, shape)
        if threefry_partitionable.value
        else _older_layout_bits(key, width, shape)
    )


def _partitionable_bits(key: Words, width: int, shape: tuple[int, ...]) -> Any:
    first, second = blocks(key, shape)
    if width == 64:
        return _join_words(first, second)
    return convert_element_type(bitwise_xor(first, second), UNSIGNED[width])


def _older_layout_bits(key: Words, width: int, shape: tuple[int, ...]) -> Any:
    size = math.prod(shape)
    words = stream(key, -(-width * size // 32))
    if width == 64:
        words = _join_words(slice_in_dim(words, 0, size), slice_in_dim(words, size, 2 * size))
    elif width < 32:
        words = slice_in_dim(_split_words(words, width), 0, size)
    return reshape(words, shape)


def _join_words(high: Any, low: Any) -> Any:
    wide = UNSIGNED[64]
    return bitwise_or(shift_left(convert_element_type(high, wide), 32), convert_element_type(low, wide))


def _split_words(drawn_words: Any, width: int) -> Any:
    """Split each word into pieces of ``width`` bits, the lowest first."""
    count, pieces = aval_of(drawn_words).shape[0], 32 // width
    shifts = (np.arange(pieces, dtype=np.uint32) * np.uint32(width))[:, None]
    parts = bitwise_and(shift_right_logical(expand_dims(drawn_words, (0,)), shifts), 2**width - 1)
    return convert_element_type(reshape(transpose(parts, (1, 0)), (count * pieces,)), UNSIGNED[width])
