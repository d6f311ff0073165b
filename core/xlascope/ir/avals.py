"""Abstract values: what is known of an array before the program runs. Interned, so `is` means equal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import short_name

_interned: dict[tuple[tuple[int, ...], np.dtype[Any], bool], ShapedArray] = {}


class ShapedArray:
    """Shape, dtype, and whether the dtype is weak (came from a Python scalar, and gives way to others).

    Make one with :func:`shaped`. jaxlib's C++ reads the attributes ``shape``, ``dtype`` and ``weak_type``.
    """

    __slots__ = ("dtype", "shape", "weak_type")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak_type: bool

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], weak_type: bool = False) -> None:
        self.shape = shape
        self.dtype = dtype
        self.weak_type = weak_type

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

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, ShapedArray)
            and self.shape == other.shape
            and self.dtype == other.dtype
            and self.weak_type == other.weak_type
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))

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
        aval = _interned.setdefault(key, ShapedArray(shape, dtype, weak_type))
    return aval


def strengthened(aval: ShapedArray) -> ShapedArray:
    """The same abstract value with a dtype that does not give way."""
    return shaped(aval.shape, aval.dtype) if aval.weak_type else aval
