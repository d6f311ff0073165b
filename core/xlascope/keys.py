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
_PLAIN = frozenset({int, bool, str, bytes, type(None), type, type(Ellipsis)})
_IDENTITY: Any = object.__eq__


def key_of(value: Any) -> Hashable:
    """Return a key that equals the keys of values of the same type and the same bits, and no others.

    This includes members of tuples, sets, mappings, ranges, slices and dataclasses. Other classes are compared by
    their own equality. Raises TypeError for unhashable values.

    >>> cache_key((2, 0.0)) == cache_key((2, 0.0)), cache_key(2) == cache_key(2.0), cache_key(0.0) == cache_key(-0.0)
    (True, False, False)
    """
    kind = value.__class__
    if kind in _PLAIN:
        return kind, value
    if isinstance(value, np.generic):
        return kind, value.dtype, value.tobytes()
    if isinstance(value, (float, complex)):
        return kind, scalar_bits(value)
    inside = parts(value)
    if inside is None:
        hash(value)
        return kind, value
    keys = map(key_of, inside)
    return kind, frozenset(keys) if isinstance(value, (frozenset, Mapping)) else tuple(keys)


def scalar_bits(value: Any) -> Hashable:
    """Return what identifies a Python number within its type: itself, or its bytes where ``==`` is too coarse."""
    if isinstance(value, complex):
        return struct.pack("<dd", value.real, value.imag)
    return value if value and value == value else (value if isinstance(value, int) else struct.pack("<d", value))


def parts(value: Any) -> Iterator[Any] | None:
    """Return the members that the ``==`` of a container compares; None for other values."""
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
    """Return whether ``dataclass`` generated the ``__eq__`` of a class."""
    code = getattr(kind.__eq__, "__code__", None)
    return code is not None and dataclasses.is_dataclass(kind) and code.co_filename == "<string>"


def told_apart_by_equality(value: Any) -> bool:
    """Return whether type and ``==`` identify a value, as jaxlib assumes of static arguments.

    >>> is_identified_by_equality(2), is_identified_by_equality(0.0), is_identified_by_equality((2,))
    (True, False, False)
    """
    kind = value.__class__
    if kind in _PLAIN:
        return True
    if isinstance(value, (complex, np.inexact, np.void)):
        return False
    if isinstance(value, float):
        return bool(value and value == value)
    return kind.__eq__ is _IDENTITY or parts(value) is None


class Exact:
    """Wrapper that compares a value by type and bits, for use in cache keys."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = key_of(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Exact) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return repr(self.value)
