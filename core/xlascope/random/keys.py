"""Keys of random number generators: typed keys, and raw keys that are arrays of words."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import is_integer, to_canonical_dtype
from ..ir.avals import ShapedArray
from ..ir.jaxpr import Var
from ..ir.user_frames import warn_at_user_line
from ..key_types import KEY_TYPES, KeyType, is_key
from ..operations.random_keys import consume_keys, random_unwrap, random_wrap
from ..runtime import jax_coexistence
from ..runtime.boot import default_prng_impl, enable_custom_prng, legacy_prng_key
from ..trace.advice import integer_advice, user_expression_text
from ..trace.operand_coercion import pass_through
from ..trace.source import compose_message, user_line, where_text
from ..trace.state import STATE
from ..trace.tracer import TracerBase, leaked_error
from ..trace.values import aval_of, is_value
from ..xla.arrays.key_array import KeyArray
from ..xla.arrays.transfers import put_on_device
from .key_algorithms import THREEFRY, fold_key, new_keys, seed_words

_WORD = np.dtype("uint32")
#: The longest representation of a value shown in an error message.
_MAX_REPR_CHARACTERS = 60
#: Functions that do not consume a key.
_NON_CONSUMING_USERS = ("clone", "fold_in")


def PRNGKey(seed: Any, *, impl: str | KeyType | None = None) -> Any:
    """Return a raw key, an array of words, for an integer seed: the older form of :func:`key`.

    ``impl`` is as for :func:`key`. With the setting ``enable_custom_prng`` it returns what :func:`key` returns.

    >>> import xlascope as xs
    >>> print(xs.random.PRNGKey(42))
    [ 0 42]
    """
    kind = _resolve_key_type(impl)
    words = _seed_key(seed, kind, "PRNGKey")
    return random_wrap(words, kind.implementation) if enable_custom_prng.value else words


def key(seed: Any, *, impl: str | KeyType | None = None) -> Any:
    """Return the typed key for an integer seed; its dtype keeps it from being mistaken for numbers.

    ``impl`` is the generator that the key is for: "threefry2x32", whose numbers are the same everywhere and for
    each key by itself; "rbg", XLA's generator, which mapped over keys (``vmap``) draws from the first one;
    "unsafe_rbg", for which deriving new keys does so as well. A key's dtype stands for its generator, None for
    the setting ``default_prng_impl``.

    Bits of the seed above 32 count only with ``enable_x64``; a Python integer may have up to 64. Raises TypeError
    for a seed that is not an integer, ValueError for an unknown ``impl``.

    >>> import xlascope as xs
    >>> xs.random.key(42)
    Array((), dtype=key<fry>) overlaying:
    [ 0 42]
    >>> xs.random.key(42, impl="rbg")
    Array((), dtype=key<rbg>) overlaying:
    [ 0 42  0 42]
    """
    kind = _resolve_key_type(impl)
    return random_wrap(_seed_key(seed, kind, "key"), kind.implementation)


def key_dtype(impl_spec: str | KeyType | None = None) -> KeyType:
    """Return the dtype of a generator's keys; for None that of the keys that :func:`key` makes.

    >>> import xlascope as xs
    >>> xs.random.key_dtype("rbg")
    key<rbg>
    """
    return _resolve_key_type(impl_spec)


def key_data(keys: Any) -> Any:
    """Return the words of keys, uint32 along a new last axis; raw keys are returned unchanged.

    >>> import xlascope as xs
    >>> xs.random.key_data(xs.random.key(42))
    Array([ 0, 42], dtype=uint32)
    """
    aval = aval_of(keys)
    if is_key(aval.dtype):
        return random_unwrap(keys)
    _check_legacy("key_data")
    _check_words("key_data", aval, _resolve_key_type(None))
    return pass_through(keys)


def wrap_key_data(key_bits_array: Any, *, impl: str | KeyType | None = None) -> Any:
    """Return the typed keys made of words, uint32 along the last axis.

    Raises TypeError for words of another dtype or number, ValueError for an unknown ``impl``.

    >>> import xlascope as xs
    >>> xs.random.wrap_key_data(xs.random.PRNGKey(42)) == xs.random.key(42)
    Array(True, dtype=bool)
    """
    kind = _resolve_key_type(impl)
    _check_words("wrap_key_data", aval_of(key_bits_array), kind)
    return random_wrap(key_bits_array, kind.implementation)


def key_impl(keys: Any) -> str:
    """Return the name of the generator that keys are for.

    >>> import xlascope as xs
    >>> xs.random.key_impl(xs.random.key(0))
    'threefry2x32'
    """
    aval: Any = aval_of(keys)
    if is_key(aval.dtype):
        return aval.dtype.implementation  # type: ignore[no-any-return]
    _check_legacy("key_impl")
    kind = _resolve_key_type(None)
    _check_words("key_impl", aval, kind)
    return kind.implementation


def clone(key: Any) -> Any:
    """Return the same key, or array of typed keys, to be used once more on purpose.

    >>> import xlascope as xs
    >>> key = xs.random.key(0)
    >>> xs.random.clone(key) == key
    Array(True, dtype=bool)
    """
    kind: Any = getattr(getattr(key, "aval", None), "dtype", None)
    if is_key(kind):
        return random_wrap(random_unwrap(key), kind.implementation)
    check_key(key, "clone")
    return pass_through(key)


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """Derive new keys from a key, ``num`` of them (or an array of that shape), along the first axes.

    The new keys' numbers are independent of each other and of the old key's, which should not be used again.

    >>> import xlascope as xs
    >>> key, noise_key = xs.random.split(xs.random.key(0))
    """
    source = check_key(key, "split")
    return _in_form_of(key, new_keys(source, shape_of(num if isinstance(num, (tuple, list)) else (num,), "split")))


def fold_in(key: Any, data: Any) -> Any:
    """Derive a new key from a key and an integer, such as the number of a step or of a device.

    >>> import xlascope as xs
    >>> keys = [xs.random.fold_in(xs.random.key(0), step) for step in range(3)]
    """
    source = check_key(key, "fold_in")
    if isinstance(data, int):
        if not 0 <= data < 2**32:
            raise OverflowError(f"fold_in takes a Python integer from 0 to 2**32 - 1 as its data, got {data}")
        return _in_form_of(key, fold_key(source, np.uint32(data)))
    aval = aval_of(data)
    if aval.shape or not is_integer(aval.dtype):
        raise TypeError(f"fold_in takes one integer as its data, got {aval.str_short()}")
    return _in_form_of(key, fold_key(source, data))


def _in_form_of(key: Any, derived: Any) -> Any:
    """Return ``derived`` keys in the form of ``key``: typed for a typed key, words for words.

    With ``enable_custom_prng`` they are typed also for words.
    """
    kind: Any = aval_of(key).dtype
    typed = is_key(aval_of(derived).dtype)
    if is_key(kind):
        return derived if typed else random_wrap(derived, kind.implementation)
    if enable_custom_prng.value:
        return derived if typed else random_wrap(derived, THREEFRY.implementation)
    return random_unwrap(derived) if typed else derived


def check_key(key: Any, user: str) -> Any:
    """Return what samplers draw from: the words of a threefry key, or a typed key of another generator.

    ``user`` is the sampler's name, for messages. Words are taken as a key of the default generator. Raises
    TypeError for anything but a key, with advice how to make one, and ValueError for several keys.
    """
    if key.__class__ is Var:
        raise leaked_error(key)
    if not is_value(key) and not hasattr(key, "__jax_array__"):
        value_text = repr(key) if len(repr(key)) <= _MAX_REPR_CHARACTERS else "a value"
        raise TypeError(
            f"random.{user} takes a key as its first argument, such as random.key(0), got {value_text} of type "
            f"{type(key).__name__}{where_text(user_line())}. {jax_coexistence.describe_jax_object(key)}".rstrip(". ")
        )
    aval: Any = aval_of(key)
    if is_key(aval.dtype):
        if aval.shape:
            problem = f"random.{user} takes one key as its first argument, got {aval.str_short()}."
            fix = f"For several keys at once, map over them: vmap(lambda key: {user}(key, ...))(keys)."
            raise ValueError(compose_message(problem, fix))
        used = key if user in _NON_CONSUMING_USERS else consume_keys(key, user)
        if aval.dtype is not THREEFRY:
            return used
        return used.words if used.__class__ is KeyArray and STATE.trace is None else random_unwrap(used)
    kind = _resolve_key_type(None)
    if aval.shape != (kind.words,) or aval.dtype != _WORD:
        raise TypeError(_invalid_key_message(aval, kind, user))
    if legacy_prng_key.value != "allow" and user != "clone":
        _check_legacy(user)
    return key if kind is THREEFRY else random_wrap(key, kind.implementation)


def _check_legacy(user: str) -> None:
    """Check the use of a raw key by the sampler ``user`` against the setting ``legacy_prng_key``.

    The setting says whether it is allowed, gives a warning, or raises ValueError.
    """
    level = legacy_prng_key.value
    if level == "allow":
        return
    line = user_line()
    message = (
        f"random.{user} was given a raw key, an array of words{where_text(line)}, and the setting legacy_prng_key is "
        f"{level!r}. Make keys with random.key, or of words with random.wrap_key_data."
    )
    if level == "error":
        raise ValueError(message)
    warn_at_user_line(message)


def _invalid_key_message(aval: ShapedArray, kind: KeyType, user: str) -> str:
    if not aval.shape:
        fix = f"Make one from an integer seed: random.key({_seed_text()})."
    elif aval.dtype == _WORD and aval.shape[-1] == kind.words:
        fix = f"For several keys at once, map over them: vmap(lambda key: {user}(key, ...))(keys)."
    elif aval.dtype == _WORD and aval.shape in {(key_type.words,) for key_type in KEY_TYPES.values()}:
        fix = "Of another generator's words random.wrap_key_data(words, impl=...) makes a key."
    else:
        fix = "Keys come from random.key, split and fold_in."
    words = f", or uint32[{kind.words}]" if aval.dtype == _WORD else ""
    problem = f"random.{user} takes a key (from random.key{words}) as its first argument, got {aval.str_short()}."
    return compose_message(problem, fix)


_FIRST_ARGUMENT = re.compile(r"[\w.]+\(\s*(\w+)\s*[,)]")


def _seed_text() -> str:
    """Return the first argument in the user's source line, a number or a name, as text; "0" if there is none.

    It is used in advice to write a key in place of a seed.
    """
    match = _FIRST_ARGUMENT.match(user_expression_text())
    return match[1] if match else "0"


_INT = frozenset({int})


def shape_of(shape: Any, user: str) -> tuple[int, ...]:
    """Return the requested shape, one size or several, as a tuple.

    ``user`` is the sampler's name, for messages. Raises TypeError for anything but integers, ValueError for
    negative sizes and for 2**32 elements or more.
    """
    if shape.__class__ is tuple and _INT.issuperset(map(type, shape)) and min(shape, default=0) >= 0:
        sizes: tuple[int, ...] = shape
        if math.prod(sizes) < 2**32:
            return sizes
    try:
        sizes = tuple(operator.index(size) for size in ((shape,) if isinstance(shape, int) else shape))
    except TypeError:
        text = f"random.{user} takes a shape as a tuple of integers, such as (3,), known while tracing; got {shape!r}."
        requested = shape if isinstance(shape, (tuple, list)) else (shape,)
        traced = next((size for size in requested if isinstance(size, TracerBase) and size.concrete() is None), None)
        fix = "" if traced is None else integer_advice(traced)
        raise TypeError(compose_message(text, fix)) from None
    if any(size < 0 for size in sizes):
        raise ValueError(f"random.{user} got a shape with a negative size, {sizes}")
    if math.prod(sizes) >= 2**32:
        raise ValueError(f"random.{user} makes less than 2**32 elements at once, shape {sizes} has {math.prod(sizes)}")
    return sizes


def _resolve_key_type(impl: str | KeyType | None) -> KeyType:
    """Return the dtype of a generator's keys from its name; None stands for the default generator.

    A dtype of keys is returned unchanged. Raises ValueError for other values.
    """
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


def _seed_key(seed: Any, kind: KeyType, user: str) -> Any:
    """Return the words of the key for a seed, a Python integer or an integer array without axes.

    ``kind`` is the key's dtype, ``user`` the calling function. Raises TypeError for other seeds, OverflowError
    for a Python integer of more than 64 bits.
    """
    if isinstance(seed, int):
        return _key_of_integer(seed, kind)
    aval = aval_of(seed)
    if aval.shape or not is_integer(aval.dtype):
        raise TypeError(
            f"{user} takes one integer as its seed, got {aval.str_short()}. For a key per element of an array of "
            f"seeds use vmap({user})(seeds)."
        )
    return seed_words(seed, kind)


def _key_of_integer(seed: int, kind: KeyType) -> Any:
    if not -(2**63) <= seed < 2**63:
        raise OverflowError(f"a seed has to fit 64 bits, {seed} does not")
    high = (seed >> 32) & 0xFFFFFFFF if to_canonical_dtype(int).itemsize == 8 else 0
    words = np.array([high, seed & 0xFFFFFFFF] * (kind.words // 2), _WORD)
    return put_on_device(words, aval_of(words))
