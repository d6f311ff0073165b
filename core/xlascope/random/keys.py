"""Keys, where random numbers come from: arrays of two 32-bit words. Whoever has one can make its numbers again."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api import jit
from ..dtypes import canonical, is_integer
from ..ir.avals import ShapedArray
from ..key_types import KEY_TYPES, is_key
from ..operations.conversion import convert_element_type
from ..operations.random_keys import consumed, random_unwrap, random_wrap
from ..operations.shapes import expand_dims, reshape, squeeze
from ..operations.slicing import concatenate, slice_in_dim
from ..runtime.boot import threefry_partitionable
from ..settings import default_prng_impl
from ..trace.gate import unchanged
from ..trace.values import aval_of
from ..xla.dispatch import put
from . import generator

_WORD = np.dtype("uint32")
#: What may be done with a key again and again.
_ONLY_LOOK = ("clone", "fold_in")
_IMPLEMENTATIONS = ("threefry2x32",)


def PRNGKey(seed: Any, *, impl: str | None = None) -> Any:
    """The words of the key for an integer seed, as an array: keys as they were before :func:`key`.

    Bits of the seed above 32 count only with ``enable_x64``; a Python integer may have up to 64. Raises TypeError for a
    seed that is no integer, ValueError for an ``impl`` that is none.

    >>> import xlascope as xs
    >>> print(xs.random.PRNGKey(42))
    [ 0 42]
    """
    return _seeded(seed, _implementation(impl), "PRNGKey")


def key(seed: Any, *, impl: str | None = None) -> Any:
    """The key for an integer seed, of a type of its own: what is no key is not taken for one, nor counted with.

    Bits of the seed above 32 count only with ``enable_x64``; a Python integer may have up to 64. Raises TypeError for a
    seed that is no integer, ValueError for an ``impl`` that is none.

    >>> import xlascope as xs
    >>> xs.random.key(42)
    Array((), dtype=key<fry>) overlaying:
    [ 0 42]
    """
    implementation = _implementation(impl)
    return random_wrap(_seeded(seed, implementation, "key"), implementation)


def key_data(keys: Any) -> Any:
    """The words of keys, uint32 along a new last axis; of the words themselves, these.

    >>> import xlascope as xs
    >>> xs.random.key_data(xs.random.key(42))
    Array([ 0, 42], dtype=uint32)
    """
    aval = aval_of(keys)
    if is_key(aval.dtype):
        return random_unwrap(keys)
    _check_words("key_data", aval, _implementation(None))
    return unchanged(keys)


def wrap_key_data(key_bits_array: Any, *, impl: str | None = None) -> Any:
    """The keys made of those words, uint32 along the last axis.

    Raises TypeError for words of another type or number, ValueError for an ``impl`` that is none.

    >>> import xlascope as xs
    >>> xs.random.wrap_key_data(xs.random.PRNGKey(42)) == xs.random.key(42)
    Array(True, dtype=bool)
    """
    implementation = _implementation(impl)
    _check_words("wrap_key_data", aval_of(key_bits_array), implementation)
    return random_wrap(key_bits_array, implementation)


def key_impl(keys: Any) -> str:
    """The name of the generator that keys are for.

    >>> import xlascope as xs
    >>> xs.random.key_impl(xs.random.key(0))
    'threefry2x32'
    """
    aval: Any = aval_of(keys)
    if is_key(aval.dtype):
        return aval.dtype.implementation  # type: ignore[no-any-return]
    implementation = _implementation(None)
    _check_words("key_impl", aval, implementation)
    return implementation


def clone(key: Any) -> Any:
    """The same key, to be used once more on purpose.

    >>> import xlascope as xs
    >>> key = xs.random.key(0)
    >>> xs.random.clone(key) == key
    Array(True, dtype=bool)
    """
    words, again = opened_key(key, "clone")
    return again(words)


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """New keys from a key, ``num`` of them (or an array of that shape), along the first axes.

    The new keys' numbers are independent of each other and of the old key's, which should not be used again.

    >>> import xlascope as xs
    >>> key, noise_key = xs.random.split(xs.random.key(0))
    """
    words, again = opened_key(key, "split")
    return again(_threefry_split(words, shape_of(num if isinstance(num, (tuple, list)) else (num,), "split")))


def fold_in(key: Any, data: Any) -> Any:
    """A new key from a key and an integer, such as the number of a step or of a device.

    >>> import xlascope as xs
    >>> keys = [xs.random.fold_in(xs.random.key(0), step) for step in range(3)]
    """
    words, again = opened_key(key, "fold_in")
    if isinstance(data, int):
        if not 0 <= data < 2**32:
            raise OverflowError(f"fold_in takes a Python integer from 0 to 2**32 - 1 as its data, got {data}")
        return again(_threefry_fold_in(words, np.uint32(data)))
    aval = aval_of(data)
    if aval.shape or not is_integer(aval.dtype):
        raise TypeError(f"fold_in takes one integer as its data, got {aval.str_short()}")
    return again(_threefry_fold_in(words, data))


def opened_key(key: Any, user: str) -> tuple[Any, Callable[[Any], Any]]:
    """The words of a key, and what makes keys of its sort out of words; raises TypeError as :func:`checked` does."""
    aval: Any = aval_of(key)
    words = checked(key, user)
    if not is_key(aval.dtype):
        return words, unchanged
    return words, lambda made: random_wrap(made, aval.dtype.implementation)


def checked(key: Any, user: str) -> Any:
    """The words of a key; raises TypeError when it is none, with the way to one, ValueError for several keys."""
    aval: Any = aval_of(key)
    if is_key(aval.dtype):
        if aval.shape:
            raise ValueError(
                f"random.{user} takes one key as its first argument, got {aval.str_short()}. For several keys at once, "
                f"map over them: vmap(lambda key: {user}(key, ...))(keys)."
            )
        return random_unwrap(key if user in _ONLY_LOOK else consumed(key, user))
    if aval.shape == (2,) and aval.dtype == _WORD:
        return key
    if not aval.shape:
        fix = "Make one from an integer seed: random.key(0)."
    elif aval.dtype == _WORD and aval.shape[-1] == 2:
        fix = f"For several keys at once, map over them: vmap(lambda key: {user}(key, ...))(keys)."
    else:
        fix = "Keys come from random.key, split and fold_in."
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


def _implementation(impl: str | None) -> str:
    found = str(default_prng_impl.value) if impl is None else impl
    if found not in _IMPLEMENTATIONS:
        raise ValueError(f"the kinds of keys are {', '.join(map(repr, _IMPLEMENTATIONS))}; got impl={impl!r}")
    return found


def _check_words(user: str, aval: ShapedArray, implementation: str) -> None:
    count = KEY_TYPES[implementation].words
    if aval.dtype != _WORD or aval.shape[-1:] != (count,):
        raise TypeError(
            f"{user} takes uint32 words along a last axis of size {count}, which keys of {implementation} have; got "
            f"{aval.str_short()}"
        )


def _seeded(seed: Any, implementation: str, user: str) -> Any:
    """The words of the key for a seed."""
    if isinstance(seed, int):
        return _key_of_integer(seed)
    aval = aval_of(seed)
    if aval.shape or not is_integer(aval.dtype):
        raise TypeError(
            f"{user} takes one integer as its seed, got {aval.str_short()}. For a key per element of an array of "
            f"seeds use vmap({user})(seeds)."
        )
    return _threefry_seed(seed)


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
