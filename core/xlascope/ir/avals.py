"""Abstract values: what is known of an array before the program runs. Interned, so `is` means equal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import short_name

_interned: dict[tuple[tuple[int, ...], np.dtype[Any], bool], ShapedArray] = {}


class ShapedArray:
    """Shape, dtype, and whether the dtype is weak (came from a Python scalar, and gives way to others).

    There is one object for each of these combinations, so abstract values are compared by identity.
    jaxlib's C++ reads the attributes ``shape``, ``dtype`` and ``weak_type``.
    """

    __slots__ = ("dtype", "shape", "weak_type")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak_type: bool

    def __new__(cls, shape: tuple[int, ...], dtype: Any, weak_type: bool = False) -> ShapedArray:
        return shaped(tuple(shape), np.dtype(dtype), weak_type)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def str_short(self) -> str:
        """The type in jaxpr notation.

        >>> shaped((2, 3), np.dtype("float32")).str_short()
        'f32[2,3]'
        """
        return f"{short_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.dtype.name}[{','.join(map(str, self.shape))}]{weak})"


def shaped(shape: tuple[int, ...], dtype: np.dtype[Any], weak_type: bool = False) -> ShapedArray:
    """The one abstract value with this shape, dtype and weakness.

    >>> shaped((3,), np.dtype("float32")) is shaped((3,), np.dtype("float32"))
    True
    """
    key = (shape, dtype, weak_type)
    aval = _interned.get(key)
    if aval is None:
        aval = object.__new__(ShapedArray)
        aval.shape, aval.dtype, aval.weak_type = key
        aval = _interned.setdefault(key, aval)
    return aval


def strengthened(aval: ShapedArray) -> ShapedArray:
    """The same abstract value with a dtype that does not give way."""
    return shaped(aval.shape, aval.dtype) if aval.weak_type else aval


class ShapeDtypeStruct:
    """A shape and a dtype without values, to trace with."""

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape: Sequence[int], dtype: Any, weak_type: bool = False) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self.weak_type = weak_type

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))
