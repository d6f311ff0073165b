"""Cache keys that distinguish values by type and bits, not by ``==`` alone.

Python considers 2, 2.0 and np.int8(2) equal, and so 0.0 and -0.0, but programs made for them differ.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np

#: Types whose equal values are interchangeable.
_IDENTIFIED_BY_EQUALITY = frozenset({int, bool, str, bytes, type(None), type, type(Ellipsis)})
_IDENTITY_EQUALITY: Any = object.__eq__


def cache_key(value: Any) -> Hashable:
    """Return a key that equals the keys of values of the same type and the same bits, and no others.

    Elements of tuples, sets, mappings, ranges, slices and dataclasses are distinguished in the same way.
    Other classes are compared by their own equality. Raises TypeError for unhashable values.

    >>> cache_key((2, 0.0)) == cache_key((2, 0.0)), cache_key(2) == cache_key(2.0), cache_key(0.0) == cache_key(-0.0)
    (True, False, False)
    """
    kind = value.__class__
    if kind in _IDENTIFIED_BY_EQUALITY:
        return kind, value
    if isinstance(value, np.generic):
        return kind, value.dtype, value.tobytes()
    if isinstance(value, (float, complex)):
        return kind, scalar_bits(value)
    inside = compared_members(value)
    if inside is None:
        hash(value)
        return kind, value
    keys = map(cache_key, inside)
    return kind, frozenset(keys) if isinstance(value, (frozenset, Mapping)) else tuple(keys)


def scalar_bits(value: Any) -> Hashable:
    """Return what identifies a Python number among those of its type.

    This is the number itself, but its bytes for complex numbers, ``0.0``, ``-0.0`` and NaN, which ``==`` does
    not distinguish by their bits.
    """
    if isinstance(value, complex):
        return struct.pack("<dd", value.real, value.imag)
    return value if value and value == value else (value if isinstance(value, int) else struct.pack("<d", value))


def compared_members(value: Any) -> Iterator[Any] | None:
    """Return an iterator over what ``==`` of a container compares; None for a value that is no container.

    These are the elements of a tuple or set, start, stop and step of a range or slice, the items of a
    mapping, and the fields of a dataclass whose ``__eq__`` is generated.
    """
    if isinstance(value, (tuple, frozenset)):
        return iter(value)
    if isinstance(value, (range, slice)):
        return iter((value.start, value.stop, value.step))
    if isinstance(value, Mapping):
        return iter(value.items())
    if _has_generated_equality(value.__class__):
        return iter([getattr(value, field.name) for field in dataclasses.fields(value) if field.compare])
    return None


def _has_generated_equality(kind: type) -> bool:
    """Return whether the class ``kind`` is a dataclass whose ``__eq__`` is the generated one."""
    code = getattr(kind.__eq__, "__code__", None)
    return code is not None and dataclasses.is_dataclass(kind) and code.co_filename == "<string>"


def is_identified_by_equality(value: Any) -> bool:
    """Return whether equal type and ``==`` imply equal bits, which jaxlib assumes of static arguments.

    False for 0.0 and NaN, complex numbers, NumPy's inexact scalars, and containers, whose elements may be
    such numbers.

    >>> is_identified_by_equality(2), is_identified_by_equality(0.0), is_identified_by_equality((2,))
    (True, False, False)
    """
    kind = value.__class__
    if kind in _IDENTIFIED_BY_EQUALITY:
        return True
    if isinstance(value, (complex, np.inexact, np.void)):
        return False
    if isinstance(value, float):
        return bool(value and value == value)
    return kind.__eq__ is _IDENTITY_EQUALITY or compared_members(value) is None


class ExactValue:
    """Wrapper that compares a value by type and bits, for use in cache keys."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = cache_key(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExactValue) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return repr(self.value)
