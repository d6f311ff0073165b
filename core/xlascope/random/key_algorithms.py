"""Algorithms of each generator on keys: seeding, splitting, folding in, and drawing bits.

Inside of samplers a key is the result of ``keys.check_key``: the two words of a threefry key, or a typed key of
another generator. These functions do not depend on the settings of keys, so samplers use only them.

``rbg`` and ``unsafe_rbg`` draw from XLA's generator (:func:`lax.rng_bit_generator`), which is fast, and mapped over
keys draws from the first one. Keys of ``rbg`` are two threefry keys where they are split and folded in; those of
``unsafe_rbg`` are made of drawn bits, of which only every tenth row is used.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..api import jit
from ..control.jit.jit_function import jit_normalized
from ..key_types import KEY_TYPES, KeyType, is_key
from ..operations.bits import bitwise_xor
from ..operations.conversion import convert_element_type
from ..operations.random_generators import rng_bit_generator
from ..operations.random_keys import random_unwrap, random_wrap
from ..operations.shapes import expand_dims, reshape, squeeze
from ..operations.slicing import concatenate, slice, slice_in_dim
from ..runtime.boot import threefry_partitionable
from ..trace.values import aval_of
from . import threefry_bits
from .threefry_bits import UNSIGNED

THREEFRY, RBG, UNSAFE_RBG = KEY_TYPES["threefry2x32"], KEY_TYPES["rbg"], KEY_TYPES["unsafe_rbg"]
_WORD = UNSIGNED[32]
#: Rows of four words that are drawn for each key of ``unsafe_rbg``.
_ROWS_PER_KEY = 10


def random_bits(key: Any, width: int, shape: tuple[int, ...]) -> Any:
    """Draw an array of unsigned integers of ``width`` (8, 16, 32, 64) random bits."""
    if is_key(aval_of(key).dtype):
        return rng_bit_generator(random_unwrap(key), shape, UNSIGNED[width])[1]
    return threefry_bits.random_bits(key_words(key), width, shape)


def new_keys(key: Any, shape: tuple[int, ...]) -> Any:
    """Derive an array of keys of the given shape from one key.

    For the words of a threefry key these are words along a new last axis, for a typed key typed keys.
    """
    kind: Any = aval_of(key).dtype
    if not is_key(kind):
        return _threefry_split(key, shape)
    return _rbg_split(key, shape) if kind is RBG else _unsafe_rbg_split(key, shape)


def fold_key(key: Any, data: Any) -> Any:
    """Derive a key from a key and an integer, ``data``."""
    kind: Any = aval_of(key).dtype
    if not is_key(kind):
        return _threefry_fold_in(key, data)
    return _rbg_fold_in(key, data) if kind is RBG else _unsafe_rbg_fold_in(key, data)


def seed_words(seed: Any, kind: KeyType) -> Any:
    """Return the words of the key for a seed, an integer array without axes; ``kind`` is the key's dtype."""
    return _threefry_seed(seed) if kind is THREEFRY else _rbg_seed(seed)


def key_words(key: Any) -> tuple[Any, Any]:
    """Return the two words of a threefry key, each as a scalar."""
    first, second = (squeeze(slice_in_dim(key, i, i + 1), (0,)) for i in (0, 1))
    return first, second


# Threefry -----------------------------------------------------------------------------------------------------------


@jit
def _threefry_seed(seed: Any) -> Any:
    return concatenate([expand_dims(word, (0,)) for word in threefry_bits.words(seed)], 0)


@jit_normalized(1)
def _threefry_split(key: Any, shape: tuple[int, ...]) -> Any:
    if threefry_partitionable.value:
        words = threefry_bits.blocks(key_words(key), shape)
        return concatenate([expand_dims(word, (len(shape),)) for word in words], len(shape))
    return reshape(threefry_bits.stream(key_words(key), 2 * math.prod(shape)), (*shape, 2))


@jit
def _threefry_fold_in(key: Any, data: Any) -> Any:
    high, low = threefry_bits.words(convert_element_type(data, _WORD))
    first, second = threefry_bits.threefry2x32(*key_words(key), high, low)
    return concatenate([expand_dims(first, (0,)), expand_dims(second, (0,))], 0)


# XLA's generator ----------------------------------------------------------------------------------------------------


@jit
def _rbg_seed(seed: Any) -> Any:
    return concatenate([_threefry_seed(seed)] * 2, 0)


@jit_normalized(1)
def _rbg_split(key: Any, shape: tuple[int, ...]) -> Any:
    pairs = [_threefry_split(half, shape) for half in _threefry_pair(key)]
    return random_wrap(concatenate(pairs, len(shape)), RBG.implementation)


@jit
def _rbg_fold_in(key: Any, data: Any) -> Any:
    return random_wrap(
        concatenate([_threefry_fold_in(half, data) for half in _threefry_pair(key)], 0), RBG.implementation
    )


def _threefry_pair(key: Any) -> list[Any]:
    """Return the words of the two threefry keys that make up a typed key of ``rbg``."""
    words = random_unwrap(key)
    return [slice_in_dim(words, 0, 2), slice_in_dim(words, 2, 4)]


@jit_normalized(1)
def _unsafe_rbg_split(key: Any, shape: tuple[int, ...]) -> Any:
    rows = _ROWS_PER_KEY * math.prod(shape)
    bits = rng_bit_generator(random_unwrap(key), (rows, 4), np.uint32)[1]
    return random_wrap(
        reshape(slice(bits, (0, 0), (rows, 4), (_ROWS_PER_KEY, 1)), (*shape, 4)), UNSAFE_RBG.implementation
    )


@jit
def _unsafe_rbg_fold_in(key: Any, data: Any) -> Any:
    bits = rng_bit_generator(_rbg_seed(convert_element_type(data, _WORD)), (_ROWS_PER_KEY, 4), np.uint32)[1]
    last = squeeze(slice_in_dim(bits, _ROWS_PER_KEY - 1, _ROWS_PER_KEY), (0,))
    return random_wrap(bitwise_xor(random_unwrap(key), last), UNSAFE_RBG.implementation)
