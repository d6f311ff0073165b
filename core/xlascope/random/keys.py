"""Keys, where random numbers come from: arrays of two 32-bit words. Whoever has one can make its numbers again."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..api import jit
from ..dtypes import canonical, is_integer
from ..operations.conversion import convert_element_type
from ..operations.shapes import expand_dims, reshape, squeeze
from ..operations.slicing import concatenate, slice_in_dim
from ..runtime.boot import threefry_partitionable
from ..trace.gate import unchanged
from ..trace.values import aval_of
from ..xla.dispatch import put
from . import generator

_WORD = np.dtype("uint32")


def PRNGKey(seed: Any, *, impl: str | None = None) -> Any:
    """The key for an integer seed.

    Bits of the seed above 32 count only with ``enable_x64``; a Python integer may have up to 64. Raises TypeError for a
    seed that is no integer, ValueError for an ``impl`` other than "threefry2x32".

    >>> import xlascope as xs
    >>> print(xs.random.PRNGKey(42))
    [ 0 42]
    """
    _check_implementation(impl)
    if isinstance(seed, int):
        return _key_of_integer(seed)
    aval = aval_of(seed)
    if aval.shape or not is_integer(aval.dtype):
        raise TypeError(
            f"PRNGKey takes one integer as its seed, got {aval.str_short()}. For a key per element of an array of "
            "seeds use vmap(PRNGKey)(seeds)."
        )
    return _threefry_seed(seed)


def key(seed: Any, *, impl: str | None = None) -> Any:
    """The key for an integer seed. For now the same array of two words that :func:`PRNGKey` gives.

    >>> import xlascope as xs
    >>> print(xs.random.key(0))
    [0 0]
    """
    return PRNGKey(seed, impl=impl)


def key_data(keys: Any) -> Any:
    """The words of a key, or of an array of keys; for keys as they are now, the array itself."""
    aval = aval_of(keys)
    if aval.dtype != _WORD or aval.shape[-1:] != (2,):
        raise TypeError(f"key_data takes keys: uint32 words along a last axis of size 2, got {aval.str_short()}")
    return unchanged(keys)


def wrap_key_data(key_bits_array: Any, *, impl: str | None = None) -> Any:
    """The key made of those words (the last axis has size 2); for keys as they are now, the array itself."""
    _check_implementation(impl)
    aval = aval_of(key_bits_array)
    if aval.dtype != _WORD or aval.shape[-1:] != (2,):
        raise TypeError(f"wrap_key_data takes uint32 words along a last axis of size 2, got {aval.str_short()}")
    return unchanged(key_bits_array)


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """New keys from a key, ``num`` of them (or an array of that shape), along the first axes.

    The new keys' numbers are independent of each other and of the old key's, which should not be used again.

    >>> import xlascope as xs
    >>> key, noise_key = xs.random.split(xs.random.PRNGKey(0))
    """
    shape = shape_of(num if isinstance(num, (tuple, list)) else (num,), "split")
    return _threefry_split(checked(key, "split"), shape)


def fold_in(key: Any, data: Any) -> Any:
    """A new key from a key and an integer, such as the number of a step or of a device.

    >>> import xlascope as xs
    >>> keys = [xs.random.fold_in(xs.random.PRNGKey(0), step) for step in range(3)]
    """
    checked(key, "fold_in")
    if isinstance(data, int):
        if not 0 <= data < 2**32:
            raise OverflowError(f"fold_in takes a Python integer from 0 to 2**32 - 1 as its data, got {data}")
        return _threefry_fold_in(key, np.uint32(data))
    aval = aval_of(data)
    if aval.shape or not is_integer(aval.dtype):
        raise TypeError(f"fold_in takes one integer as its data, got {aval.str_short()}")
    return _threefry_fold_in(key, data)


def checked(key: Any, user: str) -> Any:
    """The key; raises TypeError when it is none, with the way to one."""
    aval = aval_of(key)
    if aval.shape == (2,) and aval.dtype == _WORD:
        return key
    if not aval.shape:
        fix = "Make one from an integer seed: PRNGKey(0)."
    elif aval.dtype == _WORD and aval.shape[-1] == 2:
        fix = f"For several keys at once, map over them: vmap(lambda key: {user}(key, ...))(keys)."
    else:
        fix = "Keys come from PRNGKey, split and fold_in."
    raise TypeError(f"random.{user} takes a key as its first argument (uint32[2]), got {aval.str_short()}. {fix}")


def shape_of(shape: Any, user: str) -> tuple[int, ...]:
    """A shape, one size or several, as a tuple; raises TypeError for no integers, ValueError for negative ones."""
    try:
        sizes = tuple(operator.index(size) for size in ((shape,) if isinstance(shape, int) else shape))
    except TypeError:
        raise TypeError(
            f"random.{user} takes a shape as a tuple of integers, such as (3,), known while tracing; got {shape!r}"
        ) from None
    if any(size < 0 for size in sizes):
        raise ValueError(f"random.{user} got a shape with a negative size, {sizes}")
    if math.prod(sizes) >= 2**32:
        raise ValueError(f"random.{user} makes less than 2**32 elements at once, shape {sizes} has {math.prod(sizes)}")
    return sizes


def _check_implementation(impl: str | None) -> None:
    if impl not in (None, "threefry2x32"):
        raise ValueError(f"the only kind of key here is 'threefry2x32', got impl={impl!r}")


def _key_of_integer(seed: int) -> Any:
    if not -(2**63) <= seed < 2**63:
        raise OverflowError(f"a seed has to fit 64 bits, {seed} does not")
    high = (seed >> 32) & 0xFFFFFFFF if canonical(int).itemsize == 8 else 0
    words = np.array([high, seed & 0xFFFFFFFF], _WORD)
    return put(words, aval_of(words))


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


def halves(key: Any) -> tuple[Any, Any]:
    """The two words of a key."""
    first, second = (squeeze(slice_in_dim(key, i, i + 1), (0,)) for i in (0, 1))
    return first, second
