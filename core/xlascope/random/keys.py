"""Keys, where random numbers come from: words for a generator. Whoever has one can make its numbers again."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import canonical, is_integer
from ..ir.avals import ShapedArray
from ..ir.jaxpr import Var
from ..ir.sources import warn_at_user_line
from ..key_types import KEY_TYPES, KeyType, is_key
from ..operations.random_keys import consumed, random_unwrap, random_wrap
from ..runtime import beside
from ..runtime.boot import default_prng_impl, enable_custom_prng, legacy_prng_key
from ..trace.advice import integer_advice, user_text
from ..trace.gate import unchanged
from ..trace.source import compose_message, user_line, where_text
from ..trace.tracer import Tracer, leaked_error
from ..trace.values import aval_of, is_value
from ..xla.arrays.transfers import put
from .drawing import THREEFRY, folded, new_keys, words_of_seed

_WORD = np.dtype("uint32")
#: Characters of a value that a message shows.
_MAX_SHOWN = 60
#: What may be done with a key again and again.
_ONLY_LOOK = ("clone", "fold_in")


def PRNGKey(seed: Any, *, impl: str | KeyType | None = None) -> Any:
    """The words of the key for an integer seed, as an array: keys as they were before :func:`key`.

    ``impl`` as for :func:`key`. With the setting ``enable_custom_prng`` it is what :func:`key` gives.

    >>> import xlascope as xs
    >>> print(xs.random.PRNGKey(42))
    [ 0 42]
    """
    kind = _kind(impl)
    words = _seeded(seed, kind, "PRNGKey")
    return random_wrap(words, kind.implementation) if enable_custom_prng.value else words


def key(seed: Any, *, impl: str | KeyType | None = None) -> Any:
    """The key for an integer seed, of a type of its own: what is no key is not taken for one, nor counted with.

    ``impl`` is the generator that the key is for: "threefry2x32", whose numbers are the same everywhere and for each
    key by itself; "rbg", XLA's generator, which mapped over keys (``vmap``) draws from the first one; "unsafe_rbg",
    for which that holds of new keys too. A key's dtype stands for its generator, None for the setting
    ``default_prng_impl``.

    Bits of the seed above 32 count only with ``enable_x64``; a Python integer may have up to 64. Raises TypeError for a
    seed that is no integer, ValueError for an ``impl`` that is none.

    >>> import xlascope as xs
    >>> xs.random.key(42)
    Array((), dtype=key<fry>) overlaying:
    [ 0 42]
    >>> xs.random.key(42, impl="rbg")
    Array((), dtype=key<rbg>) overlaying:
    [ 0 42  0 42]
    """
    kind = _kind(impl)
    return random_wrap(_seeded(seed, kind, "key"), kind.implementation)


def key_dtype(impl_spec: str | KeyType | None = None) -> KeyType:
    """The type of a generator's keys; None: of the keys that :func:`key` makes.

    >>> import xlascope as xs
    >>> xs.random.key_dtype("rbg")
    key<rbg>
    """
    return _kind(impl_spec)


def key_data(keys: Any) -> Any:
    """The words of keys, uint32 along a new last axis; of the words themselves, these.

    >>> import xlascope as xs
    >>> xs.random.key_data(xs.random.key(42))
    Array([ 0, 42], dtype=uint32)
    """
    aval = aval_of(keys)
    if is_key(aval.dtype):
        return random_unwrap(keys)
    _check_legacy("key_data")
    _check_words("key_data", aval, _kind(None))
    return unchanged(keys)


def wrap_key_data(key_bits_array: Any, *, impl: str | KeyType | None = None) -> Any:
    """The keys made of those words, uint32 along the last axis.

    Raises TypeError for words of another type or number, ValueError for an ``impl`` that is none.

    >>> import xlascope as xs
    >>> xs.random.wrap_key_data(xs.random.PRNGKey(42)) == xs.random.key(42)
    Array(True, dtype=bool)
    """
    kind = _kind(impl)
    _check_words("wrap_key_data", aval_of(key_bits_array), kind)
    return random_wrap(key_bits_array, kind.implementation)


def key_impl(keys: Any) -> str:
    """The name of the generator that keys are for.

    >>> import xlascope as xs
    >>> xs.random.key_impl(xs.random.key(0))
    'threefry2x32'
    """
    aval: Any = aval_of(keys)
    if is_key(aval.dtype):
        return aval.dtype.implementation  # type: ignore[no-any-return]
    _check_legacy("key_impl")
    kind = _kind(None)
    _check_words("key_impl", aval, kind)
    return kind.implementation


def clone(key: Any) -> Any:
    """The same key, to be used once more on purpose.

    >>> import xlascope as xs
    >>> key = xs.random.key(0)
    >>> xs.random.clone(key) == key
    Array(True, dtype=bool)
    """
    same = checked(key, "clone")
    kind: Any = aval_of(key).dtype
    if not is_key(kind):
        return unchanged(key)
    words = random_unwrap(same) if is_key(aval_of(same).dtype) else same
    return random_wrap(words, kind.implementation)


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """New keys from a key, ``num`` of them (or an array of that shape), along the first axes.

    The new keys' numbers are independent of each other and of the old key's, which should not be used again.

    >>> import xlascope as xs
    >>> key, noise_key = xs.random.split(xs.random.key(0))
    """
    given = checked(key, "split")
    return _like(key, new_keys(given, shape_of(num if isinstance(num, (tuple, list)) else (num,), "split")))


def fold_in(key: Any, data: Any) -> Any:
    """A new key from a key and an integer, such as the number of a step or of a device.

    >>> import xlascope as xs
    >>> keys = [xs.random.fold_in(xs.random.key(0), step) for step in range(3)]
    """
    given = checked(key, "fold_in")
    if isinstance(data, int):
        if not 0 <= data < 2**32:
            raise OverflowError(f"fold_in takes a Python integer from 0 to 2**32 - 1 as its data, got {data}")
        return _like(key, folded(given, np.uint32(data)))
    aval = aval_of(data)
    if aval.shape or not is_integer(aval.dtype):
        raise TypeError(f"fold_in takes one integer as its data, got {aval.str_short()}")
    return _like(key, folded(given, data))


def _like(key: Any, made: Any) -> Any:
    """Keys made of one, as it is: typed keys of a typed one, words of words (typed ones by ``enable_custom_prng``)."""
    kind: Any = aval_of(key).dtype
    typed = is_key(aval_of(made).dtype)
    if is_key(kind):
        return made if typed else random_wrap(made, kind.implementation)
    if enable_custom_prng.value:
        return made if typed else random_wrap(made, THREEFRY.implementation)
    return random_unwrap(made) if typed else made


def checked(key: Any, user: str) -> Any:
    """What samplers draw from: of a threefry key its words, a typed key of another generator.

    Words are a key of the default generator. Raises TypeError for what is no key, with the way to one, ValueError for
    several keys.
    """
    if key.__class__ is Var:
        raise leaked_error(key)
    if not is_value(key) and not hasattr(key, "__jax_array__"):
        given = repr(key) if len(repr(key)) <= _MAX_SHOWN else "a value"
        raise TypeError(
            f"random.{user} takes a key as its first argument, such as random.key(0), got {given} of type "
            f"{type(key).__name__}{where_text(user_line())}. {beside.of_jax(key)}".rstrip(". ")
        )
    aval: Any = aval_of(key)
    if is_key(aval.dtype):
        if aval.shape:
            said = f"random.{user} takes one key as its first argument, got {aval.str_short()}."
            fix = f"For several keys at once, map over them: vmap(lambda key: {user}(key, ...))(keys)."
            raise ValueError(compose_message(said, fix))
        used = key if user in _ONLY_LOOK else consumed(key, user)
        return random_unwrap(used) if aval.dtype is THREEFRY else used
    kind = _kind(None)
    if aval.shape != (kind.words,) or aval.dtype != _WORD:
        raise TypeError(_no_key(aval, kind, user))
    if legacy_prng_key.value != "allow" and user != "clone":
        _check_legacy(user)
    return key if kind is THREEFRY else random_wrap(key, kind.implementation)


def _check_legacy(user: str) -> None:
    """Warn of a raw key, or raise ValueError, when the setting ``legacy_prng_key`` says so."""
    level = legacy_prng_key.value
    if level == "allow":
        return
    place = user_line()
    said = (
        f"random.{user} was given a raw key, an array of words{where_text(place)}, and the setting legacy_prng_key is "
        f"{level!r}. Make keys with random.key, or of words with random.wrap_key_data."
    )
    if level == "error":
        raise ValueError(said)
    warn_at_user_line(said)


def _no_key(aval: ShapedArray, kind: KeyType, user: str) -> str:
    if not aval.shape:
        fix = f"Make one from an integer seed: random.key({_seed_text()})."
    elif aval.dtype == _WORD and aval.shape[-1] == kind.words:
        fix = f"For several keys at once, map over them: vmap(lambda key: {user}(key, ...))(keys)."
    elif aval.dtype == _WORD and aval.shape in {(each.words,) for each in KEY_TYPES.values()}:
        fix = "Of another generator's words random.wrap_key_data(words, impl=...) makes a key."
    else:
        fix = "Keys come from random.key, split and fold_in."
    said = f"random.{user} takes a key as its first argument (uint32[{kind.words}]), got {aval.str_short()}."
    return compose_message(said, fix)


_FIRST_ARGUMENT = re.compile(r"[\w.]+\(\s*(\w+)\s*[,)]")


def _seed_text() -> str:
    """Return how the user's line writes the seed that it gives in place of a key, a number or a name; else 0."""
    found = _FIRST_ARGUMENT.match(user_text())
    return found[1] if found else "0"


def shape_of(shape: Any, user: str) -> tuple[int, ...]:
    """A shape, one size or several, as a tuple; raises TypeError for no integers, ValueError for negative ones."""
    try:
        sizes = tuple(operator.index(size) for size in ((shape,) if isinstance(shape, int) else shape))
    except TypeError:
        said = f"random.{user} takes a shape as a tuple of integers, such as (3,), known while tracing; got {shape!r}."
        given = shape if isinstance(shape, (tuple, list)) else (shape,)
        traced = next((size for size in given if isinstance(size, Tracer) and size.concrete() is None), None)
        fix = "" if traced is None else integer_advice(traced)
        raise TypeError(compose_message(said, fix)) from None
    if any(size < 0 for size in sizes):
        raise ValueError(f"random.{user} got a shape with a negative size, {sizes}")
    if math.prod(sizes) >= 2**32:
        raise ValueError(f"random.{user} makes less than 2**32 elements at once, shape {sizes} has {math.prod(sizes)}")
    return sizes


def _kind(impl: str | KeyType | None) -> KeyType:
    """The type of a generator's keys, of the default one for None."""
    if impl.__class__ is KeyType:
        return impl
    try:
        return KEY_TYPES[default_prng_impl.value if impl is None else impl]  # type: ignore[index]
    except (KeyError, TypeError):
        raise ValueError(f"the kinds of keys are {', '.join(map(repr, KEY_TYPES))}; got impl={impl!r}") from None


def _check_words(user: str, aval: ShapedArray, kind: KeyType) -> None:
    if aval.dtype != _WORD or aval.shape[-1:] != (kind.words,):
        raise TypeError(
            f"{user} takes uint32 words along a last axis of size {kind.words}, which keys of {kind.implementation} "
            f"have; got {aval.str_short()}"
        )


def _seeded(seed: Any, kind: KeyType, user: str) -> Any:
    """The words of the key for a seed."""
    if isinstance(seed, int):
        return _key_of_integer(seed, kind)
    aval = aval_of(seed)
    if aval.shape or not is_integer(aval.dtype):
        raise TypeError(
            f"{user} takes one integer as its seed, got {aval.str_short()}. For a key per element of an array of "
            f"seeds use vmap({user})(seeds)."
        )
    return words_of_seed(seed, kind)


def _key_of_integer(seed: int, kind: KeyType) -> Any:
    if not -(2**63) <= seed < 2**63:
        raise OverflowError(f"a seed has to fit 64 bits, {seed} does not")
    high = (seed >> 32) & 0xFFFFFFFF if canonical(int).itemsize == 8 else 0
    words = np.array([high, seed & 0xFFFFFFFF] * (kind.words // 2), _WORD)
    return put(words, aval_of(words))
