"""Conversion between keys and their words: the only operations that look into a key."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.avals import ShapedArray, make_aval, physical_aval
from ..ir.markers import ZERO
from ..ir.operation import Operation
from ..key_types import KEY_TYPES, KeyType, is_key
from ..runtime import boot
from ..trace.bind import bind1
from ..trace.values import aval_of, exact_operand
from .bits import bitwise_not
from .comparisons import KEY_COMPARISONS, eq
from .indexing import default_fill
from .operand_checks import broadcast_shape
from .operand_values import typed_scalar
from .reductions import reduce_and
from .shapes import expand_dims, moveaxis


class _KeyWordsOperation(Operation):
    """Base of operations between keys and their words, which are stored as the same array."""

    accepts_keys = True
    has_uniform_lowering = True

    def sharding_rule(self, parts: Any, operands: Any, results: Any) -> Any:
        return [(*parts[0], ())[: results[0].ndim]]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return list(operands)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *primals)], [ZERO]


class RandomWrap(_KeyWordsOperation, name="random_wrap"):
    """Typed keys whose words lie along the last axis of the operand."""

    impl: KeyType

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (words,) = operands
        count = self.impl.words
        if words.dtype != np.uint32 or words.shape[-1:] != (count,):
            raise TypeError(f"{self.impl} is made of {count} words, uint32[..., {count}], got {words.str_short()}")
        return [make_aval(words.shape[:-1], self.impl)]  # type: ignore[arg-type]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        (words,), (axis,) = operands, axes
        return [bind1(self, moveaxis(words, axis, 0))], [0]


class RandomUnwrap(_KeyWordsOperation, name="random_unwrap"):
    """Words of typed keys, along a new last axis."""

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        (keys,) = operands
        if not is_key(keys.dtype):
            raise TypeError(f"random_unwrap takes keys, got {keys.str_short()}")
        return [physical_aval(keys)]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *operands)], list(axes)


class ConsumeKey(_KeyWordsOperation, name="consume_key"):
    """Identity on keys that marks them as consumed by the function ``user``; ``debug_key_reuse`` looks for it."""

    user: str

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return list(operands)

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return [bind1(self, *operands)], list(axes)


def consume_keys(keys: Any, user: str) -> Any:
    """Mark keys as consumed by the function named ``user``, and return them.

    Without the setting ``debug_key_reuse`` nothing is recorded.
    """
    return bind1(ConsumeKey(user), keys) if boot.debug_key_reuse.value else keys


def random_wrap(words: Any, impl: str) -> Any:
    """Return the typed keys whose words lie along the last axis of ``words``.

    ``impl`` is the name of a generator, a key of ``KEY_TYPES``.
    """
    return bind1(RandomWrap(KEY_TYPES[impl]), words)


def random_unwrap(keys: Any) -> Any:
    """Return the words of typed keys, uint32 along a new last axis."""
    return bind1(RandomUnwrap(), keys)


def fill_value_of(dtype: Any) -> Any:
    """Return the fill value of a dtype as an operand (see ``indexing.default_fill``).

    For keys it is the key whose words have all bits set.
    """
    if not is_key(dtype):
        return exact_operand(default_fill(dtype), make_aval((), dtype))
    return random_wrap(np.full(dtype.words, 0xFFFFFFFF, np.uint32), dtype.implementation)


def are_keys(*operands: Any) -> bool:
    """Return whether any operand is an array of typed keys."""
    return any(is_key(aval_of(x).dtype) for x in operands)


def same_keys(x: Any, y: Any) -> Any:
    """Return whether typed keys of one shape and type are the same, elementwise; a single key broadcasts."""
    words = [random_unwrap(x), random_unwrap(y)]
    rank = max(len(aval_of(array).shape) for array in words)
    equal_words = eq(*(expand_dims(array, tuple(range(rank - len(aval_of(array).shape)))) for array in words))
    return reduce_and(equal_words, (rank - 1,))


def zero_of(dtype: Any) -> Any:
    """Return zero in a dtype as an operand; for keys it is the key whose words are zeros."""
    if not is_key(dtype):
        return typed_scalar(0, dtype)
    return random_wrap(np.zeros(dtype.words, np.uint32), dtype.implementation)


def _compare(name: str, x: Any, y: Any) -> Any:
    """Compare keys of one type, ``name`` being "eq" or "ne"; raise TypeError for shapes that an operation refuses."""
    broadcast_shape(name, aval_of(x).shape, aval_of(y).shape)
    same = same_keys(x, y)
    return same if name == "eq" else bitwise_not(same)


KEY_COMPARISONS.update((name, functools.partial(_compare, name)) for name in ("eq", "ne"))
