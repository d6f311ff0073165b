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
from ..key_types import KEY_TYPES, KeyType, is_key
from ..operations.bits import bitwise_xor
from ..operations.conversion import convert_element_type
from ..operations.random_generators import rng_bit_generator
from ..operations.random_keys import random_unwrap, random_wrap
from ..operations.shapes import expand_dims, reshape, squeeze
from ..operations.slicing import concatenate, slice, slice_in_dim
from ..runtime.boot import threefry_partitionable
from ..trace.values import aval_of
from . import generator
from .generator import UNSIGNED

THREEFRY, RBG, UNSAFE_RBG = KEY_TYPES["threefry2x32"], KEY_TYPES["rbg"], KEY_TYPES["unsafe_rbg"]
_WORD = UNSIGNED[32]
#: Rows of four words that are drawn for each key of ``unsafe_rbg``.
_ROWS = 10


def random_bits(key: Any, width: int, shape: tuple[int, ...]) -> Any:
    """Draw unsigned integers of ``width`` (8, 16, 32, 64) random bits."""
    if is_key(aval_of(key).dtype):
        return rng_bit_generator(random_unwrap(key), shape, UNSIGNED[width])[1]
    return generator.random_bits(halves(key), width, shape)


def new_keys(key: Any, shape: tuple[int, ...]) -> Any:
    """Return an array of keys of that shape derived from one key: words from words, typed keys from a typed one."""
    kind: Any = aval_of(key).dtype
    if not is_key(kind):
        return _threefry_split(key, shape)
    return _rbg_split(key, shape) if kind is RBG else _unsafe_rbg_split(key, shape)


def folded(key: Any, data: Any) -> Any:
    """Derive a key from a key and a number."""
    kind: Any = aval_of(key).dtype
    if not is_key(kind):
        return _threefry_fold_in(key, data)
    return _rbg_fold_in(key, data) if kind is RBG else _unsafe_rbg_fold_in(key, data)


def words_of_seed(seed: Any, kind: KeyType) -> Any:
    """Return the words of the key for a seed that is an array."""
    return _threefry_seed(seed) if kind is THREEFRY else _rbg_seed(seed)


def halves(key: Any) -> tuple[Any, Any]:
    """Return the two words of a key."""
    first, second = (squeeze(slice_in_dim(key, i, i + 1), (0,)) for i in (0, 1))
    return first, second


# Threefry -----------------------------------------------------------------------------------------------------------


@jit
def _threefry_seed(seed: Any) -> Any:
    return concatenate([expand_dims(word, (0,)) for word in generator.words(seed)], 0)


@jit(static_argnums=1)
def _threefry_split(key: Any, shape: tuple[int, ...]) -> Any:
    if threefry_partitionable.value:
        words = generator.blocks(halves(key), shape)
        return concatenate([expand_dims(word, (len(shape),)) for word in words], len(shape))
    return reshape(generator.stream(halves(key), 2 * math.prod(shape)), (*shape, 2))


@jit
def _threefry_fold_in(key: Any, data: Any) -> Any:
    high, low = generator.words(convert_element_type(data, _WORD))
    first, second = generator.threefry2x32(*halves(key), high, low)
    return concatenate([expand_dims(first, (0,)), expand_dims(second, (0,))], 0)


# XLA's generator ----------------------------------------------------------------------------------------------------


@jit
def _rbg_seed(seed: Any) -> Any:
    return concatenate([_threefry_seed(seed)] * 2, 0)


@jit(static_argnums=1)
def _rbg_split(key: Any, shape: tuple[int, ...]) -> Any:
    pairs = [_threefry_split(half, shape) for half in _pairs(key)]
    return random_wrap(concatenate(pairs, len(shape)), RBG.implementation)


@jit
def _rbg_fold_in(key: Any, data: Any) -> Any:
    return random_wrap(concatenate([_threefry_fold_in(half, data) for half in _pairs(key)], 0), RBG.implementation)


def _pairs(key: Any) -> list[Any]:
    """Return the two threefry keys that make up a key."""
    words = random_unwrap(key)
    return [slice_in_dim(words, 0, 2), slice_in_dim(words, 2, 4)]


@jit(static_argnums=1)
def _unsafe_rbg_split(key: Any, shape: tuple[int, ...]) -> Any:
    rows = _ROWS * math.prod(shape)
    drawn = rng_bit_generator(random_unwrap(key), (rows, 4), np.uint32)[1]
    return random_wrap(reshape(slice(drawn, (0, 0), (rows, 4), (_ROWS, 1)), (*shape, 4)), UNSAFE_RBG.implementation)


@jit
def _unsafe_rbg_fold_in(key: Any, data: Any) -> Any:
    drawn = rng_bit_generator(_rbg_seed(convert_element_type(data, _WORD)), (_ROWS, 4), np.uint32)[1]
    last = squeeze(slice_in_dim(drawn, _ROWS - 1, _ROWS), (0,))
    return random_wrap(bitwise_xor(random_unwrap(key), last), UNSAFE_RBG.implementation)
